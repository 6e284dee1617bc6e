// One line that shows how far something is: pure, so that every terminal can be tried. Where there
// is not room for all, what matters least is left out.

import type { WaitingReason } from '../../base/waiting-reason.js'

// How many columns a text takes on a terminal: East Asian characters and emoji take two, marks
// none. Near enough for a label; terminals themselves differ about the rest.

const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Yi']
const WIDE = new RegExp(
  String.raw`^(?:${SCRIPTS.map((name) => String.raw`\p{Script=${name}}`).join('|')}|` +
    String.raw`\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\u3000-\u303e\uff01-\uff60\uffe0-\uffe6])`,
  'u',
)
/** Half the width of their script: katakana and Hangul of old character sets. */
const NARROW = /^[\uff61-\uffdc\uffe8-\uffee]/u
const NOTHING = /^(?:\p{Mn}|\p{Me}|\p{Cf}|\p{Cc})+$/u
/** Text of one column each, which most is. */
const PLAIN = /^[\u0020-\u007e]*$/

/** The columns that `text` takes. It must have no control characters. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of charactersOf(text)) width += characterWidth(character)
  return width
}

/** `text`, or its beginning and `mark`, so that it takes at most `columns`. */
export function fitText(text: string, columns: number, mark: string): string {
  if (textWidth(text) <= columns) return text
  let fitting = ''
  let width = textWidth(mark)
  if (width > columns) return ''
  for (const character of charactersOf(text)) {
    width += characterWidth(character)
    if (width > columns) break
    fitting += character
  }
  return fitting + mark
}

/** What people take for characters: an emoji may be a dozen code points. */
function charactersOf(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}

function characterWidth(character: string): number {
  if (NOTHING.test(character)) return 0
  return WIDE.test(character) && !NARROW.test(character) ? 2 : 1
}

/** How far something is. */
export interface ProgressState {
  /** What it is: the name of a function. */
  readonly label: string
  /** What has ended, well or not. */
  readonly done: number
  /** What has ended in failure. */
  readonly failed: number
  /** Undefined if nobody knows. */
  readonly total: number | undefined
  readonly elapsedMs: number
  readonly ratePerSecond: number | undefined
  readonly remainingMs: number | undefined
  /** Why it does not go on for now; undefined if it does. */
  readonly waiting: WaitingReason | undefined
  /** Undefined while it goes on. */
  readonly end: 'done' | 'failed' | 'cancelled' | undefined
}

/** What a terminal can show. */
export interface LineStyle {
  /** The line takes fewer: in the last column some terminals begin the next line. */
  readonly columns: number
  readonly hasColors: boolean
  readonly isUnicode: boolean
}

const MAX_LABEL = 24
const MAX_BAR = 40
const MIN_BAR = 8
const RED = '\u001b[31m'
const COLOR_END = '\u001b[0m'
/** Control characters would move the cursor. */
const CONTROL = /\p{Cc}/gu

/** The line, without its end. */
export function progressLine(state: ProgressState, style: LineStyle): string {
  const room = Math.max(1, style.columns - 1)
  const mark = style.isUnicode ? '…' : '~'
  const label = fitText(state.label.replaceAll(CONTROL, '?'), MAX_LABEL, mark)
  const count = countText(state)
  const rate = state.ratePerSecond === undefined ? '' : rateText(state.ratePerSecond)
  const time = timeText(state)
  const failures = state.failed === 0 ? '' : `${grouped(state.failed)} failed`
  const hasBar = state.total !== undefined
  const why = state.waiting === undefined ? '' : `waits: ${state.waiting}`
  const layouts = [
    { before: [label, percentText(state)], hasBar, after: [count, rate, time, why, failures] },
    { before: [label, percentText(state)], hasBar, after: [count, time, why, failures] },
    { before: [label], hasBar: false, after: [count, rate, time, why, failures] },
    { before: [label], hasBar: false, after: [count, time, why, failures] },
    { before: [], hasBar: false, after: [count, time, why, failures] },
    { before: [], hasBar: false, after: [count, why, failures] },
    { before: [], hasBar: false, after: [count, failures] },
  ]
  for (const layout of layouts) {
    const before = join(layout.before)
    const after = join(layout.after)
    const taken = textWidth(join([before, after])) + (layout.hasBar ? 2 : 0)
    const left = room - taken
    if (left < (layout.hasBar ? MIN_BAR : 0)) continue
    const bar = layout.hasBar ? barText(state, Math.min(left, MAX_BAR), style.isUnicode) : ''
    return colored(join([before, bar, after]), failures, style.hasColors)
  }
  return fitText(count, room, '')
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('  ')
}

/** What has failed is at the end of the line. */
function colored(line: string, failures: string, hasColors: boolean): string {
  if (!hasColors || failures === '' || !line.endsWith(failures)) return line
  return `${line.slice(0, -failures.length)}${RED}${failures}${COLOR_END}`
}

function fraction({ done, total }: ProgressState): number {
  return total === undefined || total === 0 ? 1 : Math.min(1, done / total)
}

/** Rounded down: 100% is all. */
function percentText(state: ProgressState): string {
  if (state.total === undefined) return ''
  return `${Math.floor(fraction(state) * 100)}%`.padStart(4)
}

function barText(state: ProgressState, columns: number, isUnicode: boolean): string {
  const full = Math.floor(fraction(state) * columns)
  if (isUnicode) return '━'.repeat(full) + '┄'.repeat(columns - full)
  return '#'.repeat(full) + '-'.repeat(columns - full)
}

function countText({ done, total }: ProgressState): string {
  return total === undefined ? `${grouped(done)} done` : `${grouped(done)}/${grouped(total)}`
}

/** Below one in a second, how long each takes says more. */
function rateText(perSecond: number): string {
  if (perSecond >= 100) return `${grouped(Math.round(perSecond))}/s`
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`
  const seconds = 1 / perSecond
  return seconds < 100 ? `${seconds.toFixed(1)} s each` : `${durationText(seconds * 1_000)} each`
}

function timeText({ elapsedMs, remainingMs, end }: ProgressState): string {
  const elapsed = durationText(elapsedMs)
  if (end === 'done') return `in ${elapsed}`
  if (end !== undefined) return `${end} after ${elapsed}`
  return remainingMs === undefined ? elapsed : `${durationText(remainingMs)} left`
}

/** `0.4 s`, `12 s`, `3:05`, `1:02:03`, `2 d 3 h`. */
function durationText(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)]
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  if (hours === 0) return `${minutes}:${two(seconds % 60)}`
  return `${hours}:${two(minutes % 60)}:${two(seconds % 60)}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** `1,234,567`: the same everywhere, whatever the language of the machine. */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

// How fast something goes on, from a few samples: over the second half of the time that it has
// taken. So it follows what has changed, is steady for slow tasks, and forgets a slow start.

/** More samples than this are thinned out. */
const MAX_SAMPLES = 64

interface Sample {
  readonly atMs: number
  readonly done: number
}

/** Measures one rate. */
export class ProgressRate {
  readonly #startMs: number
  #samples: Sample[]

  /** Begins at `atMs` with nothing done. */
  constructor(atMs: number) {
    this.#startMs = atMs
    this.#samples = [{ atMs, done: 0 }]
  }

  /** So much is done by now; neither ever goes back. */
  add(done: number, atMs: number): void {
    this.#samples.push({ atMs, done })
    if (this.#samples.length <= MAX_SAMPLES) return
    const last = this.#samples.length - 1
    this.#samples = this.#samples.filter((_, index) => index % 2 === 0 || index === last)
  }

  /** Since the beginning. Undefined while nothing is done or no time has passed. */
  get overallPerSecond(): number | undefined {
    return between({ atMs: this.#startMs, done: 0 }, this.#samples.at(-1))
  }

  /** Lately. Undefined while nothing is done or no time has passed. */
  get perSecond(): number | undefined {
    const last = this.#samples.at(-1) as Sample
    const middleMs = (this.#startMs + last.atMs) / 2
    const middle = this.#samples.findLast(({ atMs }) => atMs <= middleMs)
    return between(middle, last) ?? this.overallPerSecond
  }
}

function between(first: Sample | undefined, last: Sample | undefined): number | undefined {
  if (first === undefined || last === undefined) return undefined
  const isMeasured = last.done > first.done && last.atMs > first.atMs
  return isMeasured ? ((last.done - first.done) * 1_000) / (last.atMs - first.atMs) : undefined
}

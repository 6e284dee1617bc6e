// One line that shows progress: pure, so that every kind of terminal can be tested. If there is not
// enough room, the least important parts are left out.

import type { WaitingReason } from '../../base/waiting-reason.js'

// How many columns a text takes on a terminal: East Asian characters and emoji take two, marks
// none. Close enough for a label; terminals themselves differ in the details.

const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Yi']
const WIDE = new RegExp(
  String.raw`^(?:${SCRIPTS.map((name) => String.raw`\p{Script=${name}}`).join('|')}|` +
    String.raw`\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[\u3000-\u303e\uff01-\uff60\uffe0-\uffe6])`,
  'u',
)
/** Half-width forms: katakana and Hangul of old character sets. */
const NARROW = /^[\uff61-\uffdc\uffe8-\uffee]/u
const NOTHING = /^(?:\p{Mn}|\p{Me}|\p{Cf}|\p{Cc})+$/u
/** Text of one column per character, which most text is. */
const PLAIN = /^[\u0020-\u007e]*$/

/** The columns that `text` takes. It must not contain control characters. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of charactersOf(text)) width += characterWidth(character)
  return width
}

/** Returns `text`, or its beginning with `mark`, so that it takes at most `columns`. */
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

/** User-perceived characters: an emoji may have a dozen code points. */
function charactersOf(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}

function characterWidth(character: string): number {
  if (NOTHING.test(character)) return 0
  return WIDE.test(character) && !NARROW.test(character) ? 2 : 1
}

/** The progress of an operation. */
export interface ProgressState {
  /** Its label: the name of a function. */
  readonly label: string
  /** Finished items, successful or not. */
  readonly done: number
  /** Failed items. */
  readonly failed: number
  /** Undefined if unknown. */
  readonly total: number | undefined
  readonly elapsedMs: number
  readonly ratePerSecond: number | undefined
  readonly remainingMs: number | undefined
  /** Why it is blocked at the moment; undefined if it is not. */
  readonly waiting: WaitingReason | undefined
  /** Undefined while it is running. */
  readonly end: 'done' | 'failed' | 'cancelled' | undefined
}

/** The abilities of a terminal. */
export interface LineStyle {
  /** The line takes fewer: some terminals wrap after the last column. */
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

/** The line, without a line end. */
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

/** The failures are at the end of the line. */
function colored(line: string, failures: string, hasColors: boolean): string {
  if (!hasColors || failures === '' || !line.endsWith(failures)) return line
  return `${line.slice(0, -failures.length)}${RED}${failures}${COLOR_END}`
}

function fraction({ done, total }: ProgressState): number {
  return total === undefined || total === 0 ? 1 : Math.min(1, done / total)
}

/** Rounded down: 100% means everything. */
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

/** Below one per second, the time for each is more informative. */
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

/** `1,234,567`: the same everywhere, whatever the locale of the machine. */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

// The rate of progress from a few samples: over the second half of the elapsed time. So it follows
// changes, is steady for slow tasks, and forgets a slow start.

/** With more samples than this, some are dropped. */
const MAX_SAMPLES = 64

interface Sample {
  readonly atMs: number
  readonly done: number
}

/** Measures one rate. */
export class ProgressRate {
  readonly #startMs: number
  #samples: Sample[]

  /** Starts at `atMs` with nothing done. */
  constructor(atMs: number) {
    this.#startMs = atMs
    this.#samples = [{ atMs, done: 0 }]
  }

  /** The total done so far; neither value ever decreases. */
  add(done: number, atMs: number): void {
    this.#samples.push({ atMs, done })
    if (this.#samples.length <= MAX_SAMPLES) return
    const last = this.#samples.length - 1
    this.#samples = this.#samples.filter((_, index) => index % 2 === 0 || index === last)
  }

  /** Since the start. Undefined while nothing is done or no time has passed. */
  get overallPerSecond(): number | undefined {
    return between({ atMs: this.#startMs, done: 0 }, this.#samples.at(-1))
  }

  /** Recently. Undefined while nothing is done or no time has passed. */
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

// Lines at the bottom of a terminal that change in place while other text scrolls by above them.
// There is only one cursor: before anything else is written to the terminal, the lines must be
// erased. After each change the cursor is on a line of its own, so that the process may exit or be
// killed at any time, and any later output begins at the left.

import { stripVTControlCharacters } from 'node:util'
import { type LineStyle, textWidth } from './line.js'

/** The part of `process.stderr` that is needed. */
export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  hasColors?(): boolean
  write(text: string): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
  off?(event: 'error', listener: (error: Error) => void): unknown
}

/** Something that is shown as one line. */
export interface ScreenLine {
  /** Its current state, without a line end. */
  render(style: LineStyle): string
}

/** The streams of a screen. */
interface ScreenSetup {
  /** Where the lines are shown. */
  readonly terminal: Terminal
  /** Other streams to the same terminal: `process.stdout`, if it is one. */
  readonly others: readonly Terminal[]
  readonly isUnicode: boolean
}

/** The minimum time between two redraws. */
const INTERVAL_MS = 100
const DEFAULT_COLUMNS = 80
const DEFAULT_ROWS = 24
const CLEAR_BELOW = '\u001b[J'

/** The lines of one terminal. Nothing runs while there are none. */
export class ProgressScreen {
  readonly #setup: ScreenSetup
  readonly #lines = new Set<ScreenLine>()
  /** The lines on the terminal now. */
  #shown: readonly string[] = []
  #timer: NodeJS.Timeout | undefined
  #restorers: readonly (() => void)[] = []
  /** Other output has ended inside a line: nothing may be drawn after it. */
  #isLineOpen = false
  #isDrawing = false
  #isDrawDue = false
  readonly #ignore = (): void => {}

  constructor(setup: ScreenSetup) {
    this.#setup = setup
  }

  /** Shows a line from the next tick on. */
  add(line: ScreenLine): void {
    this.#lines.add(line)
    if (this.#timer !== undefined) return
    // A program that shows lines has something else that keeps the process alive.
    this.#timer = setInterval(() => this.#draw(this.#rendered()), INTERVAL_MS).unref()
    const { terminal, others } = this.#setup
    terminal.on?.('error', this.#ignore)
    this.#restorers = [terminal, ...others].map((stream) => this.#watch(stream))
  }

  /** Leaves a line on the terminal in its current state, above those that still change. */
  finish(line: ScreenLine): void {
    if (!this.#lines.delete(line)) return
    const last = line.render(this.#style)
    const opening = this.#isLineOpen ? '\n' : ''
    this.#isLineOpen = false
    this.#write(`${this.#erasure}${opening}${last}\n`)
    this.#shown = []
    if (this.#lines.size > 0) return this.#draw(this.#rendered())
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const restore of this.#restorers) restore()
    this.#setup.terminal.off?.('error', this.#ignore)
  }

  get #style(): LineStyle {
    const { terminal, isUnicode } = this.#setup
    // A terminal that does not know its size says 0.
    const columns = terminal.columns || DEFAULT_COLUMNS
    return { columns, hasColors: terminal.hasColors?.() === true, isUnicode }
  }

  /** The current lines: as many as fit. */
  #rendered(): string[] {
    const style = this.#style
    const room = Math.max(1, (this.#setup.terminal.rows || DEFAULT_ROWS) - 2)
    const all = Array.from(this.#lines)
    const fitting = all.length <= room ? all : all.slice(0, room - 1)
    const lines = fitting.map((line) => line.render(style))
    const hidden = all.length - fitting.length
    return hidden === 0 ? lines : [...lines, `and ${hidden} more`]
  }

  #draw(lines: readonly string[]): void {
    if (this.#isLineOpen || lines.join('\n') === this.#shown.join('\n')) return
    this.#write(`${this.#erasure}${lines.map((line) => `${line}\n`).join('')}`)
    this.#shown = lines
  }

  /** The text that erases the lines. A terminal that has become narrower has wrapped them. */
  get #erasure(): string {
    if (this.#shown.length === 0) return ''
    const { columns } = this.#style
    const widths = this.#shown.map((line) => textWidth(stripVTControlCharacters(line)))
    const rows = widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
    return `\u001b[${rows}A\r${CLEAR_BELOW}`
  }

  #write(text: string): void {
    this.#isDrawing = true
    try {
      this.#setup.terminal.write(text)
    } finally {
      this.#isDrawing = false
    }
  }

  /** Erases the lines whenever something is written to a stream of this terminal. */
  #watch(stream: Terminal): () => void {
    const write = Reflect.get(stream, 'write') as (...args: unknown[]) => unknown
    const isOwn = Object.hasOwn(stream, 'write')
    const watched = (...args: unknown[]): unknown => {
      if (this.#isDrawing || this.#lines.size === 0) return Reflect.apply(write, stream, args)
      this.#makeRoom()
      const result: unknown = Reflect.apply(write, stream, args)
      this.#afterText(args[0])
      return result
    }
    const target = stream as { write?: unknown }
    target.write = watched
    return () => {
      // The method has been wrapped again since: our wrapper becomes a no-op.
      if (target.write !== watched) return
      if (isOwn) target.write = write
      else delete target.write
    }
  }

  #makeRoom(): void {
    if (this.#shown.length === 0) return
    this.#write(this.#erasure)
    this.#shown = []
  }

  #afterText(text: unknown): void {
    const last = typeof text === 'string' ? text.at(-1) : (text as Uint8Array | undefined)?.at?.(-1)
    if (last === undefined) return
    this.#isLineOpen = last !== '\n' && last !== 0x0a
    if (this.#isDrawDue) return
    this.#isDrawDue = true
    // Once for all writes of one turn.
    setImmediate(() => {
      this.#isDrawDue = false
      if (this.#shown.length === 0) this.#draw(this.#rendered())
    }).unref()
  }
}

// The terminal of this process, if progress can be shown on it: stderr, because stdout may be the
// actual output of the program.

/** Checked only when something is to be shown; one screen, because there is one cursor. */
export class ProcessScreen {
  #screen: ProgressScreen | undefined

  /** Undefined where progress is not shown: not a terminal, a dumb one, or CI. */
  get screen(): ProgressScreen | undefined {
    const { stdout, stderr, env } = process
    if (!stderr.isTTY || !isShown(env)) return undefined
    const others = stdout.isTTY ? [stdout] : []
    this.#screen ??= new ProgressScreen({ terminal: stderr, others, isUnicode: isUnicode(env) })
    return this.#screen
  }
}

/** The screen of this process. */
export const processScreen: ProcessScreen = new ProcessScreen()

/** Whether the environment suggests an interactive terminal with cursor control. */
export function isShown(env: NodeJS.ProcessEnv): boolean {
  const ci = env['CI']
  return env['TERM'] !== 'dumb' && (ci === undefined || ci === '' || ci === 'false' || ci === '0')
}

/** Whether the terminal shows more than ASCII. */
export function isUnicode(env: NodeJS.ProcessEnv): boolean {
  // Terminals on Windows do not set a locale.
  if (process.platform === 'win32') return env['WT_SESSION'] !== undefined
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return /utf-?8/i.test(locale)
}

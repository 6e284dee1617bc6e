// The terminal of `scaler_top`: keys come in, lines go out, and whatever ends the process but
// SIGKILL leaves the terminal as it was. Node's own `readline` reads keys; a library would add a
// dependency for a few escape sequences.

import { writeSync } from 'node:fs'
import { emitKeypressEvents, type Interface } from 'node:readline'
import type { TopKey } from './top.js'

/** What the shell hears of. */
export interface TerminalHandler {
  onKey(key: TopKey): void
  /** Its size has changed, or it shows nothing: everything has to be drawn again. */
  onRedraw(): void
  /** It is gone. */
  onEnd(): void
}

/** Alternate screen, no cursor, no wrapping at the right edge. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
/** Cleared first: tmux keeps a part of an alternate screen that was enlarged. */
const LEAVE = '\u001b[H\u001b[2J\u001b[?7h\u001b[?25h\u001b[?1049l'
/** Terminals that know these show a frame only once it is complete. */
const FRAME_START = '\u001b[?2026h'
const FRAME_END = '\u001b[?2026l'
const CLEAR_LINE_END = '\u001b[K'
const DEFAULT = { rows: 24, columns: 80 } as const
/** Signals that end a process, besides those that all commands handle and those that Node uses. */
const FATAL = [
  'SIGQUIT',
  'SIGABRT',
  'SIGALRM',
  'SIGVTALRM',
  'SIGUSR2',
  'SIGXCPU',
  'SIGXFSZ',
] as const
/** How long a lone Escape waits for the rest of a key, instead of half a second. */
const ESCAPE_MS = 50

/** The terminal of this process. */
export class TopTerminal {
  readonly #input = process.stdin
  readonly #output = process.stdout
  readonly #handler: TerminalHandler
  /** What each line shows. */
  #shown: readonly string[] = []
  #isOpen = false

  /** Takes the terminal. */
  constructor(handler: TerminalHandler) {
    this.#handler = handler
    // Node completes the object; only this field is read.
    const timing = { escapeCodeTimeout: ESCAPE_MS } as unknown as Interface
    emitKeypressEvents(this.#input, timing)
    this.#input.on('keypress', (_, key: TopKey) => handler.onKey(key))
    for (const event of ['end', 'error'] as const) {
      this.#input.on(event, () => this.#input.isTTY && handler.onEnd())
    }
    this.#output.on('error', () => handler.onEnd())
    this.#output.on('resize', () => this.redraw())
    process.on('exit', () => this.#leave())
    // Before the error is printed, which the alternate screen would take along.
    process.on('uncaughtExceptionMonitor', () => this.#leave())
    for (const signal of FATAL) {
      process.once(signal, () => {
        this.#leave()
        process.kill(process.pid, signal)
      })
    }
    process.on('SIGTSTP', () => this.#suspend())
    process.on('SIGCONT', () => this.#enter())
    this.#enter()
  }

  /** In characters. A terminal that does not know its size says 0. */
  get size(): { readonly rows: number; readonly columns: number } {
    const { rows, columns } = this.#output
    return { rows: rows || DEFAULT.rows, columns: columns || DEFAULT.columns }
  }

  /** Shows these lines, one for each row, in one write. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    const changed = lines.flatMap((line, at) => {
      return line === this.#shown[at] ? [] : [`\u001b[${at + 1};1H${CLEAR_LINE_END}${line}`]
    })
    this.#shown = lines
    if (changed.length > 0) this.#output.write(`${FRAME_START}${changed.join('')}${FRAME_END}`)
  }

  /** Draws everything again, also what has not changed. */
  redraw(): void {
    this.#shown = []
    this.#handler.onRedraw()
  }

  /** Stops the whole job, as Ctrl-Z does. */
  suspend(): void {
    if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
  }

  /** Gives the terminal back. */
  close(): void {
    this.#leave()
    this.#input.pause()
  }

  #enter(): void {
    this.#isOpen = true
    if (this.#input.isTTY) this.#input.setRawMode(true)
    this.#input.resume()
    this.#output.write(ENTER)
    this.redraw()
  }

  #suspend(): void {
    this.#leave()
    process.kill(process.pid, 'SIGSTOP')
  }

  /** Synchronously: the process may be about to exit. */
  #leave(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    try {
      if (this.#input.isTTY) this.#input.setRawMode(false)
      writeSync(this.#output.fd, LEAVE)
    } catch {
      // The terminal is gone: there is nothing to restore.
    }
  }
}

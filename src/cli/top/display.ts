// The two ways in which `scaler_top` shows its reports: a screen, or a stream of JSON.

import { writeSync } from 'node:fs'
import { emitKeypressEvents, type Interface } from 'node:readline'
import { ConnectError } from '../../base/errors.js'
import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
import type { MonitorSetup } from '../../client/monitor/links.js'
import { requestOf } from '../../client/monitor/look.js'
import { jsonText, messageOf } from '../../base/text.js'
import type { LastLines } from './pane.js'
import { type TopKey, TopState } from './top.js'

/** Shows reports until it is closed. */
export interface Display {
  onInfo(info: ClusterInfo): void
  /** Gives back what it uses. */
  close(): void
}

/** Of a screen. */
interface ScreenSetup {
  readonly setup: MonitorSetup
  readonly color: boolean
  /** Called once with the exit code when it is left. */
  readonly end: (exitCode: number) => void
}

/** Prints each report. `end` is called when the reader has left. */
export function openStream(end: (exitCode: number) => void): Display {
  const onEnd = (): void => end(0)
  process.stdout.once('error', onEnd)
  return {
    onInfo: (info) => process.stdout.write(`${jsonText(info)}\n`),
    close: () => process.stdout.off('error', onEnd),
  }
}

/** Takes the terminal of this process. */
export function openScreen(setup: ScreenSetup): Display {
  return new Screen(setup)
}

const FRAME_INTERVAL_MS = 100
/** Without reports and keys, the age of what is shown still changes. */
const REFRESH_MS = 1_000
const LOG_INTERVAL_MS = 2_000
const LOG_LINES = 500
const EXIT_INTERRUPT = 130

class Screen implements Display {
  readonly #setup: ScreenSetup
  readonly #state = new TopState()
  readonly #terminal: TopTerminal
  readonly #refresh: NodeJS.Timeout
  #frameTimer: NodeJS.Timeout | undefined
  #drawnMs = -Infinity
  #isEnding = false
  /** Which worker was asked for its last lines, and when. */
  #request: { readonly worker: string; readonly atMs: number } | undefined

  constructor(setup: ScreenSetup) {
    this.#setup = setup
    this.#terminal = new TopTerminal(this)
    this.#refresh = setInterval(() => this.drawSoon(), REFRESH_MS)
  }

  onInfo(info: ClusterInfo): void {
    this.#state.onInfo(info, performance.now())
    this.drawSoon()
  }

  close(): void {
    this.#isEnding = true
    clearInterval(this.#refresh)
    clearTimeout(this.#frameTimer)
    this.#terminal.close()
  }

  /** A key was pressed. */
  onKey(key: TopKey): void {
    const action = this.#state.onKey(key)
    if (action === 'quit') return this.end(0)
    if (action === 'interrupt') return this.end(EXIT_INTERRUPT)
    if (action === 'suspend') return this.#terminal.suspend()
    if (action === 'redraw') return this.#terminal.redraw()
    this.drawSoon()
  }

  /** The user, or the terminal, has left. */
  end(exitCode: number): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#setup.end(exitCode)
  }

  /** Draws what has changed, at once unless the last frame was only just drawn. */
  drawSoon(): void {
    if (this.#frameTimer !== undefined || this.#isEnding) return
    const waitMs = Math.max(0, this.#drawnMs + FRAME_INTERVAL_MS - performance.now())
    this.#frameTimer = setTimeout(() => this.#draw(), waitMs)
  }

  #draw(): void {
    this.#frameTimer = undefined
    this.#drawnMs = performance.now()
    const size = { ...this.#terminal.size, hasColors: this.#setup.color }
    const lines = this.#state.frame(size, this.#drawnMs)
    if (lines !== undefined) this.#terminal.draw(lines)
    this.#wantLog()
  }

  /** Requests the last lines of the worker that is shown, again and again. */
  #wantLog(): void {
    const worker = this.#state.wantedLog
    if (worker === undefined) return
    const last = this.#request
    if (last?.worker === worker && last.atMs + LOG_INTERVAL_MS > this.#drawnMs) return
    this.#request = { worker, atMs: this.#drawnMs }
    void this.#lastLines(worker).then((log) => {
      this.#state.onLog(worker, log)
      this.drawSoon()
    })
  }

  async #lastLines(worker: string): Promise<LastLines> {
    const { setup } = this.#setup
    const { address } = setup
    if (address === undefined) return { problem: 'this scheduler does not tell' }
    const question = { action: 'logs', worker, lines: LOG_LINES } as const
    try {
      const reply = await requestOf({ ...setup, address }, question, LOG_INTERVAL_MS)
      const { outcome, note, lines } = reply
      return outcome === 'done' ? { lines } : { problem: `${outcome} ${note}`.trim() }
    } catch (error) {
      // It takes no requests: another one would not either.
      if (error instanceof ConnectError) this.#request = { worker, atMs: Infinity }
      return { problem: messageOf(error) }
    }
  }
}

// The terminal of `scaler_top`: keys come in, lines go out, and whatever ends the process but
// SIGKILL leaves the terminal as it was. Node's own `readline` reads keys; a library would add a
// dependency for a few escape sequences.

/** Alternate screen, no cursor, no wrapping at the right edge. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
/** Cleared first: tmux keeps a part of an alternate screen that was enlarged. */
const LEAVE = '\u001b[H\u001b[2J\u001b[?7h\u001b[?25h\u001b[?1049l'
/** Terminals that know these show a frame only once it is complete. */
const FRAME_START = '\u001b[?2026h'
const FRAME_END = '\u001b[?2026l'
const CLEAR_LINE_END = '\u001b[K'
const DEFAULT = { rows: 24, columns: 80 } as const
/** How long a lone Escape waits for the rest of a key, instead of half a second. */
const ESCAPE_MS = 50

/** The terminal of this process. */
class TopTerminal {
  readonly #input = process.stdin
  readonly #output = process.stdout
  readonly #screen: Screen
  /** What each line shows. */
  #shown: readonly string[] = []
  #isOpen = false

  /** Takes the terminal. */
  constructor(screen: Screen) {
    this.#screen = screen
    // Node completes the object; only this field is read.
    const timing = { escapeCodeTimeout: ESCAPE_MS } as unknown as Interface
    emitKeypressEvents(this.#input, timing)
    this.#input.on('keypress', (_, key: TopKey) => screen.onKey(key))
    for (const event of ['end', 'error'] as const) {
      this.#input.on(event, () => this.#input.isTTY && screen.end(0))
    }
    this.#output.on('error', () => screen.end(0))
    this.#output.on('resize', () => this.redraw())
    process.on('exit', () => this.#leave())
    // Before the error is printed, which the alternate screen would take along.
    process.on('uncaughtExceptionMonitor', () => this.#leave())
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
    this.#screen.drawSoon()
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

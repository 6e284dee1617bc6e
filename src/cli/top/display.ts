// The two ways in which `scaler_top` shows its reports: a screen, or a stream of JSON.

import { ConnectError } from '../../base/errors.js'
import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
import type { MonitorSetup } from '../../client/monitor/links.js'
import { requestOf } from '../../client/monitor/look.js'
import { jsonText, messageOf } from '../../base/text.js'
import type { LastLines } from './pane.js'
import { TopTerminal } from './terminal.js'
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
    this.#terminal = new TopTerminal({
      onKey: (key) => this.#onKey(key),
      onRedraw: () => this.#drawSoon(),
      onEnd: () => this.#end(0),
    })
    this.#refresh = setInterval(() => this.#drawSoon(), REFRESH_MS)
  }

  onInfo(info: ClusterInfo): void {
    this.#state.onInfo(info, performance.now())
    this.#drawSoon()
  }

  close(): void {
    this.#isEnding = true
    clearInterval(this.#refresh)
    clearTimeout(this.#frameTimer)
    this.#terminal.close()
  }

  #onKey(key: TopKey): void {
    const action = this.#state.onKey(key)
    if (action === 'quit') return this.#end(0)
    if (action === 'interrupt') return this.#end(EXIT_INTERRUPT)
    if (action === 'suspend') return this.#terminal.suspend()
    if (action === 'redraw') return this.#terminal.redraw()
    this.#drawSoon()
  }

  #end(exitCode: number): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#setup.end(exitCode)
  }

  /** At once, unless the last frame was only just drawn. */
  #drawSoon(): void {
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
      this.#drawSoon()
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

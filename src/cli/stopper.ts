// Stops a command on a signal, or when its stdin closes if that was requested. The first signal
// shuts it down gracefully, the second ends it immediately.

import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import type { CommandEnd, RunningCommand } from './command.js'

/** What a stopper needs from the command. */
interface StopperHooks {
  /** Reopens the log files; if absent, SIGHUP stops the command. */
  readonly reopenLog?: (() => void) | undefined
  /** Called when the command has been stopped, with what stopped it. */
  readonly onStopped: (by: string) => void
  /** Exits the process once all output has been written. */
  readonly exit: (code: number) => Promise<never>
  /** Reports an error during the shutdown. */
  readonly report: (error: unknown) => void
}

const EXIT_FAILURE = 1
const EXIT_SIGNAL = 128
/**
 * `timeout` sends a signal to the process and to its group: within this many ms, it counts once.
 */
const SAME_SIGNAL_MS = 100
/** How long a command gets to log that a second signal ends it. */
const FINAL_LOG_MS = 500
/** How long a command gets to shut down after its parent has exited. */
const ORPHAN_GRACE_MS = 5_000

/** Listens for signals from its construction on. */
export class Stopper {
  readonly #hooks: StopperHooks
  readonly #hadTerminal = process.stdin.isTTY === true
  #running: RunningCommand | undefined
  #isStopping = false
  /** A signal that has just arrived: a repetition right after it is ignored. */
  #echo: NodeJS.Signals | undefined

  /** From now on a signal stops the process, immediately while nothing is running yet. */
  constructor(hooks: StopperHooks) {
    this.#hooks = hooks
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => this.#onSignal(signal))
    }
    const { reopenLog } = hooks
    // The system's default would leave the script of `scaler run` behind. nohup does not work in
    // any case: Node resets ignored signals when it starts.
    process.on('SIGHUP', () => {
      if (reopenLog === undefined || this.#isHangUp()) this.#onSignal('SIGHUP')
      else reopenLog()
    })
  }

  /** Whether the process is ending, and exits with the stopper's code. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Sets the command to stop. */
  watch(running: RunningCommand): void {
    this.#running = running
    if (process.env['SCALER_LIFELINE'] !== 'stdin') return
    // The program that started this one holds the other end; it may exit in any way, even by kill
    // -9.
    process.stdin.on('error', () => {})
    process.stdin.once('close', () => {
      const graceMs = running.orphanGraceMs ?? ORPHAN_GRACE_MS
      setTimeout(() => process.exit(EXIT_FAILURE), graceMs).unref()
      // The program that would use the results of running tasks is gone.
      void this.#stop(running, true, undefined)
    })
    process.stdin.resume()
  }

  #onSignal(signal: NodeJS.Signals): void {
    const running = this.#running
    if (running === undefined) process.exit(codeOf(signal))
    if (this.#isStopping) return this.#exitNow(signal)
    this.#echo = signal
    // After signals that are already pending, even if the shutdown blocks the thread.
    setTimeout(() => setImmediate(() => (this.#echo = undefined)), SAME_SIGNAL_MS).unref()
    void this.#stop(running, false, signal)
  }

  #exitNow(signal: NodeJS.Signals): void {
    if (signal === this.#echo) return
    setTimeout(() => process.exit(codeOf(signal)), FINAL_LOG_MS)
    this.#hooks.onStopped(`${signal}, the second signal`)
    void this.#hooks.exit(codeOf(signal))
  }

  async #stop(
    running: RunningCommand,
    isUrgent: boolean,
    signal: NodeJS.Signals | undefined,
  ): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    try {
      await running.stop(isUrgent, signal)
      this.#hooks.onStopped(signal ?? 'end of stdin')
      const end = await endedAlready(running)
      await this.#hooks.exit(end?.exitCode ?? (signal === undefined ? 0 : codeOf(signal)))
    } catch (error) {
      this.#hooks.report(error)
      await this.#hooks.exit(EXIT_FAILURE)
    }
  }

  /**
   * SIGHUP has two meanings: reopen the log files, for a service, and that the terminal was closed,
   * for a command started in one. In that case the terminal cannot be opened any more.
   */
  #isHangUp(): boolean {
    if (process.platform === 'win32') return true
    if (!this.#hadTerminal) return false
    try {
      closeSync(openSync('/dev/tty', 'r'))
      return false
    } catch {
      return true
    }
  }
}

/** 128 plus the number of the signal, as in shells. */
function codeOf(signal: NodeJS.Signals): number {
  return EXIT_SIGNAL + constants.signals[signal]
}

/** How a command ended, or undefined if it is still running. */
function endedAlready(running: RunningCommand): Promise<CommandEnd | undefined> {
  const notYet = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
  return Promise.race([running.ended, notYet])
}

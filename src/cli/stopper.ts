// Ends a command when it is told to: by a signal, or by the end of its stdin if it was asked to.
// The first signal ends it in good order, the second at once.

import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import type { CommandEnd, RunningCommand } from './command.js'

/** What a stopper needs of the command. */
export interface StopperHooks {
  /** Opens the log files again; absent where there are none: then SIGHUP ends the command. */
  readonly reopenLog?: (() => void) | undefined
  /** Hears that the command has ended in good order because it was told to, and by what. */
  readonly onStopped: (by: string) => void
  /** Ends the process, once all that was written has left. */
  readonly exit: (code: number) => Promise<never>
  /** Tells what went wrong while it ended. */
  readonly tell: (error: unknown) => void
}

const EXIT_FAILURE = 1
const EXIT_SIGNAL = 128
/** `timeout` and the like send a signal to the process and to its group: that is one, in ms. */
const SAME_SIGNAL_MS = 100
/** How long a command may take to say that a second signal ends it. */
const LAST_WORDS_MS = 500
/** How long a command that has lost its parent may take to end in good order. */
const ORPHAN_GRACE_MS = 5_000

/** Listens to signals from its making on. */
export class Stopper {
  readonly #hooks: StopperHooks
  readonly #hadTerminal = process.stdin.isTTY === true
  #running: RunningCommand | undefined
  #isStopping = false
  /** The signal that has just come, for some moments: again it is the same. */
  #echo: NodeJS.Signals | undefined

  /** From now on a signal ends the process: at once while nothing is running yet. */
  constructor(hooks: StopperHooks) {
    this.#hooks = hooks
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => this.#onSignal(signal))
    }
    const { reopenLog } = hooks
    // The system's way would leave the script of `scaler run` behind. It is no loss to nohup: Node
    // forgets at its start which signals were to be ignored.
    process.on('SIGHUP', () => {
      if (reopenLog === undefined || this.#isHangUp()) this.#onSignal('SIGHUP')
      else reopenLog()
    })
  }

  /** Whether the process is ending, and exits with the stopper's code. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** This is what has to end in good order. */
  watch(running: RunningCommand): void {
    this.#running = running
    if (process.env['SCALER_LIFELINE'] !== 'stdin') return
    // The program that started this one holds the other end: it may be gone, even by kill -9.
    process.stdin.on('error', () => {})
    process.stdin.once('close', () => {
      setTimeout(() => process.exit(EXIT_FAILURE), ORPHAN_GRACE_MS).unref()
      // Nobody is left to wait for what runs.
      void this.#stop(running, true, undefined)
    })
    process.stdin.resume()
  }

  #onSignal(signal: NodeJS.Signals): void {
    const running = this.#running
    if (running === undefined) process.exit(codeOf(signal))
    if (this.#isStopping) return this.#stopAtOnce(signal)
    this.#echo = signal
    // Behind what has come meanwhile, if what follows keeps the thread for longer.
    setTimeout(() => setImmediate(() => (this.#echo = undefined)), SAME_SIGNAL_MS).unref()
    void this.#stop(running, false, signal)
  }

  #stopAtOnce(signal: NodeJS.Signals): void {
    if (signal === this.#echo) return
    setTimeout(() => process.exit(codeOf(signal)), LAST_WORDS_MS)
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
      this.#hooks.tell(error)
      await this.#hooks.exit(EXIT_FAILURE)
    }
  }

  /**
   * SIGHUP means two things: new log files for a service, and the end of the terminal for what was
   * started in one. Then the terminal cannot be opened any more.
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

/** 128 and the number of the signal, as shells have it. */
function codeOf(signal: NodeJS.Signals): number {
  return EXIT_SIGNAL + constants.signals[signal]
}

/** How a command has ended, if it has. */
function endedAlready(running: RunningCommand): Promise<CommandEnd | undefined> {
  const notYet = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
  return Promise.race([running.ended, notYet])
}

// Runs a machine: hands it events with the time, has its actions performed, and arms one timer for
// its deadline. The only place where a machine meets a clock.

import type { InstantMs, Machine } from '../base/machine.js'

// Time for the shells. Machines never see it: they are told the time with each event.

/** A source of instants and timers; tests pass one that they move by hand. */
export interface Clock {
  /** Milliseconds since some point; never goes back, whatever happens to the date. */
  now(): InstantMs
  /** Calls `callback` once, not before `delayMs` from now. Returns how to take that back. */
  after(delayMs: number, callback: () => void): () => void
}

/** The longest delay that Node's timers take; a longer one is waited for in steps by the driver. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** The machine's monotonic clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** What a driver needs beside the machine. */
interface DriverOptions<Event, Action> {
  readonly machine: Machine<Event, Action>
  /** The event that a machine gets when its deadline has come. */
  readonly tick: Event
  /** Carries one action out. Must not call `handle`: what it causes comes back as a later event. */
  readonly perform: (action: Action) => void
  /**
   * Called when the machine threw, which is a bug of ours. The machine must not be used after it.
   */
  readonly onFault: (error: unknown) => void
  /** Called when the deadline has come; must lead to `handle(tick)`. Default: that itself. */
  readonly onDue?: () => void
  readonly clock?: Clock
}

/** Drives one machine until `stop`. */
export class Driver<Event, Action> {
  readonly #machine: Machine<Event, Action>
  readonly #tick: Event
  readonly #perform: (action: Action) => void
  readonly #onFault: (error: unknown) => void
  readonly #onDue: () => void
  readonly #clock: Clock
  #armedFor: InstantMs | undefined
  #disarm: (() => void) | undefined
  #isStopped = false

  constructor(options: DriverOptions<Event, Action>) {
    this.#machine = options.machine
    this.#tick = options.tick
    this.#perform = options.perform
    this.#onFault = options.onFault
    this.#onDue = options.onDue ?? (() => this.handle(this.#tick))
    this.#clock = options.clock ?? systemClock
  }

  /** Applies one event now and performs what the machine answers. Ignored after `stop`. */
  handle(event: Event): void {
    if (this.#isStopped) return
    try {
      this.#machine.handle(event, this.#clock.now(), this.#perform)
    } catch (error) {
      this.stop()
      this.#onFault(error)
      return
    }
    this.#arm()
  }

  /** Ends: no more events, actions or timers. Safe to call twice. */
  stop(): void {
    this.#isStopped = true
    this.#disarm?.()
    this.#disarm = undefined
    this.#armedFor = undefined
  }

  /**
   * A timer that is armed too early is left alone: firing early costs less than re-arming always.
   */
  #arm(): void {
    const deadline = this.#machine.deadline
    if (this.#isStopped || deadline === undefined) return
    if (this.#armedFor !== undefined && this.#armedFor <= deadline) return
    this.#disarm?.()
    this.#armedFor = deadline
    // Node's timers count whole milliseconds and may fire a fraction early: round up.
    const delayMs = Math.ceil(deadline - this.#clock.now())
    this.#disarm = this.#clock.after(delayMs, () => this.#onTimer())
  }

  #onTimer(): void {
    this.#armedFor = undefined
    this.#disarm = undefined
    const deadline = this.#machine.deadline
    if (deadline === undefined) return
    if (deadline <= this.#clock.now()) this.#onDue()
    else this.#arm()
  }
}

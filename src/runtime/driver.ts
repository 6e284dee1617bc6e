// Runs a machine: passes it events with the time, performs its actions, and arms one timer for its
// deadline. The only place where a machine meets a clock.

import type { InstantMs, Machine } from '../base/machine.js'

// Time for the shells. Machines have no clock: they receive the time with each event.

/** A source of instants and timers; tests pass one that they move manually. */
export interface Clock {
  /** Milliseconds since some point; monotonic, unaffected by clock adjustments. */
  now(): InstantMs
  /**
   * Calls `callback` once, no sooner than `delayMs` from now. Returns a function that cancels it.
   */
  after(delayMs: number, callback: () => void): () => void
}

/** The longest delay that Node's timers support; the driver waits for longer ones in steps. */
export const MAX_DELAY_MS: number = 2 ** 31 - 1

/** The machine's monotonic clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** What a driver needs in addition to the machine. */
interface DriverOptions<Event, Action> {
  readonly machine: Machine<Event, Action>
  /** The event passed to the machine when its deadline is reached. */
  readonly tick: Event
  /** Performs one action. Must not call `handle`: consequences return as later events. */
  readonly perform: (action: Action) => void
  /**
   * Called when the machine threw, which is a bug of ours. The machine must not be used afterwards.
   */
  readonly onFault: (error: unknown) => void
  /** Called when the deadline is reached; must lead to `handle(tick)`. Default: just that. */
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

  /** Applies one event now and performs the resulting actions. Ignored after `stop`. */
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

  /** Stops: no more events, actions or timers. Safe to call twice. */
  stop(): void {
    this.#isStopped = true
    this.#disarm?.()
    this.#disarm = undefined
    this.#armedFor = undefined
  }

  /**
   * A timer that is armed too early is left alone: firing early costs less than re-arming each
   * time.
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

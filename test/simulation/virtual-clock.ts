// The time of a simulated world, and its scheduled events: in order of their time, those of the
// same time in the order in which they were scheduled.

import type { InstantMs } from '#src/base/machine.js'

/** A scheduled event. */
export interface Plan {
  readonly at: InstantMs
  readonly order: number
  /** Undefined: it was cancelled, or has happened. */
  happen: (() => void) | undefined
}

/** A heap of events, and the time. */
export class VirtualClock {
  readonly #heap: Plan[] = []
  #now: InstantMs = 0
  #count = 0
  #happened = 0

  get now(): InstantMs {
    return this.#now
  }

  /** The number of past events. */
  get happened(): number {
    return this.#happened
  }

  /** Schedules an event; one in the past happens next. */
  at(time: InstantMs, happen: () => void): Plan {
    const plan: Plan = { at: Math.max(time, this.#now), order: this.#count, happen }
    this.#count += 1
    this.#heap.push(plan)
    this.#rise(this.#heap.length - 1)
    return plan
  }

  /** Schedules an event this many milliseconds from now. */
  after(delayMs: number, happen: () => void): Plan {
    return this.at(this.#now + delayMs, happen)
  }

  /** Runs the next event, unless it is later than `until`. False if there was none. */
  step(until: InstantMs): boolean {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const { happen } = first
      if (happen === undefined) {
        this.#takeFirst()
        continue
      }
      if (first.at > until) return false
      this.#takeFirst()
      this.#now = first.at
      this.#happened += 1
      first.happen = undefined
      happen()
      return true
    }
    return false
  }

  /** Nothing happens until then. */
  skipTo(time: InstantMs): void {
    this.#now = Math.max(this.#now, time)
  }

  #takeFirst(): void {
    const last = this.#heap.pop()
    if (last === undefined || this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink()
  }

  #rise(from: number): void {
    const heap = this.#heap
    const plan = heap[from] as Plan
    let at = from
    while (at > 0) {
      const above = (at - 1) >> 1
      const other = heap[above] as Plan
      if (!isBefore(plan, other)) break
      heap[at] = other
      at = above
    }
    heap[at] = plan
  }

  #sink(): void {
    const heap = this.#heap
    const plan = heap[0] as Plan
    let at = 0
    for (;;) {
      let below = at * 2 + 1
      if (below >= heap.length) break
      const right = heap[below + 1]
      if (right !== undefined && isBefore(right, heap[below] as Plan)) below += 1
      const other = heap[below] as Plan
      if (!isBefore(other, plan)) break
      heap[at] = other
      at = below
    }
    heap[at] = plan
  }
}

/** Cancels an event. */
export function callOff(plan: Plan | undefined): void {
  if (plan !== undefined) plan.happen = undefined
}

function isBefore(a: Plan, b: Plan): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at
}

// A machine whose tables are checked while it works.

import type { InstantMs, Machine } from '#src/base/machine.js'

/** Passes everything on to a machine, and checks its tables each time after a number of events. */
export class CheckedMachine<Event, Action> implements Machine<Event, Action> {
  readonly #machine: Machine<Event, Action>
  readonly #every: number
  #count = 0

  constructor(machine: Machine<Event, Action>, every: number) {
    this.#machine = machine
    this.#every = every
  }

  get deadline(): InstantMs | undefined {
    return this.#machine.deadline
  }

  handle(event: Event, now: InstantMs, act: (action: Action) => void): void {
    this.#machine.handle(event, now, act)
    this.#count += 1
    if (this.#count % this.#every === 0) this.#machine.checkInvariants()
  }

  checkInvariants(): void {
    this.#machine.checkInvariants()
  }
}

/** A bug of ours need not stop a driver here: in a simulation it ends the simulation. */
export function rethrow(error: unknown): never {
  throw error
}

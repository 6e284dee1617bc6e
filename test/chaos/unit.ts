// Units of the allocator of a chaos: processes that are not children of it, and go on without the
// allocator that has started them.

import { markedProcesses, Sleep, trySignal } from './process-table.js'

/** The name of the allocator. */
export const ALLOCATOR = 'chaos'

/** The process with the workers of one unit. */
export class Unit {
  readonly name: string
  readonly pid: number
  readonly #sleep = new Sleep()

  constructor(pid: number) {
    this.name = `unit ${pid}`
    this.pid = pid
  }

  get isFrozen(): boolean {
    return this.#sleep.isFrozen
  }

  freeze(): void {
    this.#sleep.freeze(this.pid)
  }

  thaw(): void {
    this.#sleep.thaw()
  }

  signal(signal: NodeJS.Signals): void {
    trySignal(this.pid, signal)
  }
}

/** The units of a run that have not ended. */
export function unitsOf(folder: string): readonly Unit[] {
  return markedProcesses(folder)
    .filter(({ command }) => command.includes(`--allocation ${ALLOCATOR}/`))
    .map(({ pid }) => new Unit(pid))
}

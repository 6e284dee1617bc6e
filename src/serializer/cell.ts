// A captured variable that changes: functions that share it share one of these.

/** Code reads and writes `v`. */
export class Cell {
  v: unknown

  constructor() {
    this.v = undefined
  }
}

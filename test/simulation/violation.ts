// The error of a checker.

/** The checker. Shrinking keeps to one kind. */
export type ViolationKind =
  | 'bug' // a machine has thrown
  | 'outcome' // a future settled wrongly, or twice
  | 'liveness' // something waits forever
  | 'late' // something took longer than allowed
  | 'table' // a table is not empty when all have left
  | 'wire' // a peer sends a forbidden message
  | 'run' // a task ran twice without reason
  | 'idle' // a worker had nothing while another had too much

/** A violation: ends the simulation at once. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly kind: ViolationKind

  constructor(kind: ViolationKind, message: string, cause?: unknown) {
    super(`${kind}: ${message}`, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

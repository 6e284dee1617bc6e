// For what cannot be wrong unless this program is: tables that disagree, branches that cannot be
// reached. Never for what a peer, a user or the machine did.

/** A mistake in this program. A process that meets one ends with its own exit status. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** Throws `AssertionError` unless `condition` holds. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** The end of an exhaustive `switch`: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`)
}

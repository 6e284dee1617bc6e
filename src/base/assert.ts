// For conditions that fail only if this program has a bug: tables that disagree, branches that
// cannot be reached. Never for the actions of a peer, a user or the machine.

/** A bug in this program. A process that hits one exits with its own exit status. */
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

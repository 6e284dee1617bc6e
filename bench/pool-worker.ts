// The task of the thread pools, which load it from a file.

/** Returns its argument. */
export function noop<T>(input: T): T {
  return input
}

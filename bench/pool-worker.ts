// The task of the thread pools, which load it from a file.

/** Gives back what it gets. */
export function noop<T>(input: T): T {
  return input
}

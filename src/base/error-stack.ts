// Rewrites the stacks of an error and of the errors inside it. Users' errors can be anything:
// frozen, proxies, with accessors of their own. In doubt they stay unchanged.

/** The most nested errors that are rewritten. */
const MAX_ERRORS = 1_000

/** In newer engines every error has this own accessor; in older ones, a plain property. */
const nativeStack: PropertyDescriptor | undefined = stackProperty(new Error())

/**
 * Replaces the stacks of an error, and of everything in its `cause` and `errors`, with the result
 * of `rewrite`. Values that are not errors, or whose stack is not the engine's, stay unchanged.
 * Never throws unless `rewrite` does.
 */
export function rewriteStacks(thrown: unknown, rewrite: (stack: string) => string): void {
  const seen = new Set<unknown>()
  const waiting: unknown[] = [thrown]
  while (waiting.length > 0 && seen.size < MAX_ERRORS) {
    const error = waiting.pop()
    if (seen.has(error) || !isError(error)) continue
    seen.add(error)
    const stack = stackOf(error)
    if (stack !== undefined) setStack(error, stack, rewrite(stack))
    waiting.push(...innerErrors(error))
  }
}

/**
 * Creates errors without frames: frames inside the library are no help, and capturing them is most
 * of the cost. Node also prints no source line above such an error when it is uncaught.
 */
export function withoutFrames<R>(make: () => R): R {
  const { stackTraceLimit } = Error
  // Not an assignment: that would throw where the built-in classes are frozen.
  Reflect.set(Error, 'stackTraceLimit', 0)
  try {
    return make()
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  }
}

/** Removes the frames from an error, and with them the source line that Node would print. */
export function dropFrames(error: Error): void {
  withoutFrames(() => {
    try {
      Error.captureStackTrace(error)
    } catch {
      // It is frozen.
    }
  })
}

function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

function stackProperty(error: object): PropertyDescriptor | undefined {
  return Object.getOwnPropertyDescriptor(error, 'stack')
}

/**
 * The stack of an error, or of an object passed to `Error.captureStackTrace`. Undefined if an
 * accessor of the user provides it, or if the `Error.prepareStackTrace` of the user's program
 * throws or makes no text.
 */
export function stackOf(error: object): string | undefined {
  try {
    const property = stackProperty(error)
    if (property?.get !== nativeStack?.get && property?.get !== undefined) return undefined
    const stack: unknown = Reflect.get(error, 'stack')
    return typeof stack === 'string' ? stack : undefined
  } catch {
    return undefined
  }
}

function setStack(error: Error, before: string, after: string): void {
  if (after === before) return
  try {
    const isEnumerable = Object.prototype.propertyIsEnumerable.call(error, 'stack')
    Reflect.defineProperty(error, 'stack', {
      value: after,
      configurable: true,
      writable: true,
      enumerable: isEnumerable,
    })
  } catch {
    // Only a proxy's trap throws.
  }
}

/** Only stored values: a user's accessor is not called. */
function innerErrors(error: Error): unknown[] {
  try {
    const cause: unknown = Object.getOwnPropertyDescriptor(error, 'cause')?.value
    const errors: unknown = Object.getOwnPropertyDescriptor(error, 'errors')?.value
    if (!Array.isArray(errors)) return [cause]
    return [cause, ...(errors as readonly unknown[]).slice(0, MAX_ERRORS)]
  } catch {
    return []
  }
}

// Rewrites the stacks of an error and of the errors inside it. Errors of users can be anything:
// frozen, proxies, with accessors of their own. Where in doubt they stay as they are.

/** More errors inside one another are not looked at. */
const MAX_ERRORS = 1_000

/** In newer engines every error has this accessor of its own; before, a plain property. */
const nativeStack: PropertyDescriptor | undefined = stackProperty(new Error())

/**
 * Gives an error, and all that it has in `cause` and `errors`, the stack that `rewrite` makes of
 * it. Whatever is no error, or has a stack that is not an engine's, stays. Never throws unless
 * `rewrite` does.
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
 * Makes errors that have no frames: those of the library lead nowhere, and taking them is most of
 * the work. Nor does Node print, above an error that nobody catches, the line that made it.
 */
export function withoutFrames<R>(make: () => R): R {
  const { stackTraceLimit } = Error
  // Not an assignment: it would throw where the classes of the language are frozen.
  Reflect.set(Error, 'stackTraceLimit', 0)
  try {
    return make()
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  }
}

/** Takes the frames from an error that has some, and with them the line that Node would print. */
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

function stackProperty(error: Error): PropertyDescriptor | undefined {
  return Object.getOwnPropertyDescriptor(error, 'stack')
}

function stackOf(error: Error): string | undefined {
  try {
    const property = stackProperty(error)
    if (property?.get !== nativeStack?.get && property?.get !== undefined) return undefined
    const { stack }: { readonly stack?: unknown } = error
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
    // Only the trap of a proxy throws.
  }
}

/** Only what is stored: an accessor of the user's is not called. */
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

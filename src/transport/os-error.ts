// The operating system's errors as one clear line.

/** What a connection's error says, the attempts to each address of a host name included. */
export function describeError(error: Error): string {
  if (!(error instanceof AggregateError)) return error.message
  const texts = error.errors.map((each) => (each instanceof Error ? each.message : String(each)))
  return [...new Set(texts)].join('; ')
}

/** `EADDRINUSE` and the like; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** That `address` cannot be bound: `code` and `cause` are those of the system's error. */
export function bindError(address: string, error: Error): Error & { readonly code?: string } {
  const why = describeError(error).replace(/^listen /, '')
  const wrapped = new Error(`cannot listen on ${address}: ${why}`, { cause: error })
  const code = codeOf(error)
  return code === undefined ? wrapped : Object.assign(wrapped, { code })
}

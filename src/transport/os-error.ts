// The operating system's errors as one clear line.

/** What a connection's error says, the attempts to each address of a host name included. */
export function describeError(error: Error): string {
  if (!(error instanceof AggregateError)) return nameTrouble(error) ?? error.message
  const texts = error.errors.map((each) => (each instanceof Error ? each.message : String(each)))
  return [...new Set(texts)].join('; ')
}

/** A name may be known later: containers and hosts come up in any order. */
function nameTrouble(error: Error & { readonly hostname?: unknown }): string | undefined {
  const { hostname, message } = error
  if (typeof hostname !== 'string') return undefined
  const code = codeOf(error)
  if (code === 'ENOTFOUND') return `the name ${hostname} is not known (${message})`
  if (code === 'EAI_AGAIN') return `the name ${hostname} cannot be looked up now (${message})`
  return undefined
}

/** `EADDRINUSE` and the like; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** What the system's word for it means, where that is not plain. */
const BIND_HINTS: Readonly<Record<string, (address: string) => string>> = {
  EADDRINUSE: () => '; another program listens there',
  EADDRNOTAVAIL: () => '; no interface of this machine has that address',
  ENOTFOUND: () => '; there is no host of that name',
  EACCES: (address) => (isPrivileged(address) ? '; ports below 1024 need privileges' : ''),
}

function isPrivileged(address: string): boolean {
  const port = /^tcp:.*:(\d+)$/.exec(address)?.[1]
  return port !== undefined && Number(port) < 1024
}

/**
 * That `address` cannot be bound: `code` and `cause` are those of the system's error. `trouble`:
 * what is wrong, if that is known better than the system says it.
 */
export function bindError(
  address: string,
  error: Error,
  trouble?: string,
): Error & { readonly code?: string } {
  const code = codeOf(error)
  const hint = BIND_HINTS[code ?? '']?.(address) ?? ''
  const why = trouble ?? `${describeError(error).replace(/^listen /, '')}${hint}`
  const wrapped = new Error(`cannot listen on ${address}: ${why}`, { cause: error })
  return code === undefined ? wrapped : Object.assign(wrapped, { code })
}

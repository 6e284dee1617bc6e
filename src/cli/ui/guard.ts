// Which requests the web monitor answers at all. Anyone's page can send requests to a server on
// this machine, under a name of its own (DNS rebinding); browsers say so in these headers.

/** What of a request is checked. Header values are undefined if absent. */
export interface Asker {
  readonly method: string | undefined
  readonly host: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`: who has caused the request. */
  readonly fetchSite: string | undefined
  /** The address of this end of the connection: always allowed as a host. */
  readonly localAddress: string | undefined
  /** Whether it asks for the page itself, to which other sites may link. */
  readonly isPage: boolean
}

/** Why a request is refused. */
export interface Refusal {
  readonly status: 403 | 405
  readonly text: string
}

/** Names under which a server on this machine is always known. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'] as const

/** The names under which the server may be asked for, without ports, in lower case. */
export function allowedNames(host: string, allowedHosts: readonly string[]): ReadonlySet<string> {
  return new Set([...LOOPBACK, bracketed(host), ...allowedHosts.map(bracketed)])
}

/** Undefined if the request may be answered. */
export function refusalOf(asker: Asker, names: ReadonlySet<string>): Refusal | undefined {
  if (asker.method !== 'GET' && asker.method !== 'HEAD') {
    return { status: 405, text: 'only GET and HEAD are allowed' }
  }
  const name = nameIn(asker.host)
  const isOwnAddress = asker.localAddress !== undefined && name === bracketed(asker.localAddress)
  if (name === undefined || (!names.has(name) && !isOwnAddress)) {
    return { status: 403, text: 'unknown host; see --allowed-hosts' }
  }
  if (asker.origin !== undefined && !isOriginOf(asker.origin, asker.host)) {
    return { status: 403, text: 'requests of other sites are refused' }
  }
  const isForeign = asker.fetchSite === 'cross-site' || asker.fetchSite === 'same-site'
  if (isForeign && !asker.isPage)
    return { status: 403, text: 'requests of other sites are refused' }
  return undefined
}

/** `Example.org:80` -> `example.org`; undefined for anything else than a name with a port. */
function nameIn(host: string | undefined): string | undefined {
  return /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.exec(host ?? '')?.[1]?.toLowerCase()
}

/** Origins have a scheme; a proxy in front may have added encryption. */
function isOriginOf(origin: string, host: string | undefined): boolean {
  const [, named] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? []
  return named !== undefined && named.toLowerCase() === host?.toLowerCase()
}

/** IPv6 addresses are in brackets in URLs; IPv4 addresses may come as part of one. */
function bracketed(host: string): string {
  const lower = host.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  return lower.includes(':') && !lower.startsWith('[') ? `[${lower}]` : lower
}

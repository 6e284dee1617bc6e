// Addresses as users write them: `tcp://host:port`, `tls://host:port` and `ipc://path`. Parses and
// formats them; resolves and opens nothing.

import { isIPv4, isIPv6 } from 'node:net'
import { ConfigError, ScalerError } from '../base/errors.js'
import { messageOf } from '../base/text.js'

/** A host and a port. `host` is a name, an IPv4 or IPv6 address without brackets, or `*` (all). */
export interface TcpAddress {
  readonly kind: 'tcp'
  /** `tls://`: encrypted, and both sides show certificates. */
  readonly isSecure?: true
  readonly host: string
  /** 0 = chosen by the system. */
  readonly port: number
}

/** A Unix socket: the path of its file. */
interface IpcAddress {
  readonly kind: 'ipc'
  readonly path: string
}

/** Where a socket listens or connects. */
export type Address = TcpAddress | IpcAddress

const FORMS = 'tcp://host:port, tls://host:port or ipc:///path'

/** Hosts that stand for all addresses of a machine. */
const EVERYWHERE: ReadonlySet<string> = new Set(['*', '0.0.0.0', '::'])

/** The system's limit for the path of a Unix socket (104 bytes with the final NUL on macOS). */
const MAX_IPC_PATH_BYTES = process.platform === 'linux' ? 107 : 103

/**
 * Labels of letters, digits, hyphens and underscores (not valid in DNS, but used in hosts files).
 */
const HOST_NAME =
  /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i

/**
 * Parses an address to bind: `tcp://127.0.0.1:8516`, `tcp://[::1]:0`, `tcp://*:*` (port `*` is 0:
 * the system chooses one), `tls://name:8516`, `ipc:///path`. Throws a `ConfigError` that says what
 * is wrong.
 */
export function parseAddress(text: string): Address {
  if (typeof text !== 'string')
    throw new ConfigError(`address: expected a string, got ${typeof text}`)
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? []
  if (scheme === undefined || rest === undefined) {
    throw wrong(text, `expected ${FORMS}`)
  }
  switch (scheme.toLowerCase()) {
    case 'tcp':
      return parseTcp(text, rest)
    case 'tls':
      return { ...parseTcp(text, rest), isSecure: true }
    case 'ipc':
      return parseIpc(text, rest)
    default:
      throw wrong(text, `${scheme}:// is not supported; use ${FORMS}`)
  }
}

/** Like `parseAddress`, for an address to connect to: `*` and port 0 are errors here. */
export function parseConnectAddress(text: string): Address {
  const address = parseAddress(text)
  if (address.kind === 'ipc') return address
  if (address.host === '*') throw wrong(text, 'the host * is only for listening; name a host')
  if (address.port === 0) throw wrong(text, 'the port 0 is only for listening; name a port')
  return address
}

/** Throws `ConfigError`, which names the option, if `parse` throws one. */
export function checkAddressOption(
  option: string,
  text: string,
  parse: (text: string) => Address = parseAddress,
): void {
  try {
    parse(text)
  } catch (error) {
    throw new ConfigError(`option ${option}: ${messageOf(error)}`, { cause: error })
  }
}

/** The address by which a process on this machine reaches a listener bound to `text`. */
export function localAddress(text: string): string {
  const address = parseAddress(text)
  if (address.kind === 'ipc' || address.host !== '*') return text
  return formatAddress({ ...address, host: '127.0.0.1' })
}

/** The text of an address; `parseAddress` reads it back. */
export function formatAddress(address: Address): string {
  if (address.kind === 'ipc') return `ipc://${address.path}`
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return `${schemeOf(address)}${host}:${address.port}`
}

/** `tcp://`, `tls://` or `ipc://`. */
export function schemeOf(address: Address): string {
  if (address.kind === 'ipc') return 'ipc://'
  return isSecure(address) ? 'tls://' : 'tcp://'
}

/** Whether it is a `tls://` address. */
export function isSecure(address: Address): boolean {
  return address.kind === 'tcp' && address.isSecure === true
}

function parseTcp(text: string, rest: string): TcpAddress {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/s.exec(rest) ?? []
  if (port === undefined) {
    const isBareIpv6 = isIPv6(rest) || isIPv6(rest.slice(0, Math.max(rest.lastIndexOf(':'), 0)))
    const hint = isBareIpv6
      ? 'write an IPv6 address in brackets: tcp://[::1]:port'
      : `expected ${text.slice(0, 6).toLowerCase()}host:port`
    throw wrong(text, hint)
  }
  if (bracketed !== undefined && !isIPv6(bracketed))
    throw wrong(text, `[${bracketed}] is not an IPv6 address`)
  return {
    kind: 'tcp',
    host: bracketed ?? parseHost(text, plain ?? ''),
    port: parsePort(text, port),
  }
}

function parseHost(text: string, host: string): string {
  if (host === '') throw wrong(text, 'the host is missing')
  if (host === '*' || isIPv4(host)) return host
  if (/^[\d.]+$/.test(host)) throw wrong(text, `${host} is not an IPv4 address`)
  if (!HOST_NAME.test(host)) throw wrong(text, `${JSON.stringify(host)} is not a host name`)
  return host
}

function parsePort(text: string, port: string): number {
  if (port === '*') return 0
  const isNumber = /^\d{1,5}$/.test(port) && Number(port) <= 65_535
  if (!isNumber)
    throw wrong(text, `the port must be a number from 0 to 65535, got ${JSON.stringify(port)}`)
  return Number(port)
}

function parseIpc(text: string, path: string): IpcAddress {
  if (path === '' || path === '*')
    throw wrong(text, 'expected the path of a socket file: ipc:///path')
  if (path.includes('\0')) throw wrong(text, 'the path contains a NUL character')
  const bytes = Buffer.byteLength(path)
  if (bytes > MAX_IPC_PATH_BYTES) {
    throw wrong(text, `the path has ${bytes} bytes; at most ${MAX_IPC_PATH_BYTES} are allowed`)
  }
  return { kind: 'ipc', path }
}

function wrong(text: string, why: string): ConfigError {
  return new ConfigError(`address ${JSON.stringify(text)}: ${why}`)
}

// The operating system's errors as one clear line.

/** The text of a connection error, including the attempts for each address of a host name. */
export function describeError(error: Error): string {
  if (!(error instanceof AggregateError)) return plainTrouble(error) ?? error.message
  const texts = error.errors.map((each) => messageOf(each))
  return [...new Set(texts)].join('; ')
}

/** A name that does not resolve now may resolve later: hosts start in any order. */
function plainTrouble(
  error: Error & { readonly hostname?: unknown; readonly address?: unknown },
): string | undefined {
  const { hostname, address, message } = error
  const code = codeOf(error)
  if (message.startsWith('connect ENOENT ')) {
    return `there is no socket file ${String(address)} (${message})`
  }
  if (message.startsWith('connect EACCES /')) {
    return `this user may not open ${String(address)} (${message})`
  }
  if (typeof hostname !== 'string') return undefined
  if (code === 'ENOTFOUND') return `the host name ${hostname} does not resolve (${message})`
  if (code === 'EAI_AGAIN') return `the host name ${hostname} cannot be looked up now (${message})`
  return undefined
}

/** The codes of an error and of the attempts that it consists of. */
export function codesOf(error: Error): readonly string[] {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  return errors.flatMap((each) => codeOf(each) ?? [])
}

/** `EADDRINUSE` and similar codes; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** What the system's error code means, where that is not obvious. */
const BIND_HINTS: Readonly<Record<string, (address: string) => string>> = {
  EADDRINUSE: () => '; another program is listening there',
  EADDRNOTAVAIL: () => '; no network interface of this machine has that address',
  ENOTFOUND: () => '; no host of that name exists',
  EACCES: (address) => (isPrivileged(address) ? '; ports below 1024 require privileges' : ''),
}

function isPrivileged(address: string): boolean {
  const port = /^t(?:cp|ls):.*:(\d+)$/.exec(address)?.[1]
  return port !== undefined && Number(port) < 1024
}

/**
 * The error for an `address` that cannot be bound. Its `cause` is the system's error, and so is its
 * `code`, if that has one: `EADDRINUSE`, say.
 * `trouble`: a better explanation than the system's, if there is one.
 */
export function bindError(address: string, error: Error, trouble?: string): ScalerError {
  const code = codeOf(error)
  const hint = BIND_HINTS[code ?? '']?.(address) ?? ''
  const why = trouble ?? `${describeError(error).replace(/^listen /, '')}${hint}`
  const message = `cannot listen on ${address}: ${why}`
  const wrapped = new ScalerError('ERR_SCALER_LISTEN', message, { cause: error })
  return code === undefined ? wrapped : Object.assign(wrapped, { code })
}

/** Whether whoever listens at this host does so at all addresses of the machine. */
export function isEverywhere(host: string): boolean {
  return EVERYWHERE.has(host)
}

/** Whether only one of the addresses can be bound. Port 0 is any free one. */
export function isSamePort(one: Address, other: Address): boolean {
  if (one.kind === 'ipc') return other.kind === 'ipc' && one.path === other.path
  if (other.kind === 'ipc' || one.port !== other.port || one.port === 0) return false
  return one.host === other.host || isEverywhere(one.host) || isEverywhere(other.host)
}

/** Whether this host, a name or an IP address, can only be reached from the machine itself. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

// The byte streams under the protocol: how they are opened and with which socket options.

import { connect, type Socket } from 'node:net'
import type { Address } from './address.js'

/** A silently broken link is noticed after this idle time plus the system's probes. */
const KEEP_ALIVE_DELAY_MS = 30_000
/** How long each address of a host name is tried before the next one is tried in parallel. */
const ADDRESS_ATTEMPT_MS = 2500

/** The options with which Node's streams are opened. */
export interface StreamOptions {
  readonly noDelay: boolean
  readonly keepAlive: boolean
  readonly keepAliveInitialDelay: number
}

/** For both sides: no delay to fill packets, as the transport fills them itself. */
export const STREAM_OPTIONS: StreamOptions = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
}

/** Starts connecting. A host name is looked up each time; errors are events of the stream. */
export function openStream(address: Address): Socket {
  if (address.kind === 'ipc') return connect({ path: address.path })
  return connect({
    ...STREAM_OPTIONS,
    host: address.host,
    port: address.port,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  })
}

/** The remote address in readable form: `127.0.0.1:40404`. */
export function describeRemote(socket: Socket): string {
  const { remoteAddress, remotePort } = socket
  if (remoteAddress === undefined) return 'a local socket'
  const host = remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress
  return `${host}:${remotePort}`
}

// The connecting half of TLS.

import type { TLSSocket } from 'node:tls'
import type { TcpAddress } from '../address.js'
import type { LoadedTls } from './credentials.js'
import { nameTrouble, withoutCa } from './trouble.js'

/** Options of the connection below. */
interface LinkOptions {
  readonly autoSelectFamilyAttemptTimeout: number
  readonly keepAliveInitialDelay: number
}

/**
 * Starts connecting. The peer must have a certificate of our CA for the host of `address`, or the
 * very same one as we: whoever has its key is part of the cluster, so that one certificate serves
 * all its machines, whatever they are called. Errors are events of the stream.
 */
export function openTls(
  { host, port }: TcpAddress,
  { context, own, hasCa }: LoadedTls,
  { keepAliveInitialDelay, ...options }: LinkOptions,
): TLSSocket {
  const { checkServerIdentity, connect } = process.getBuiltinModule('node:tls')
  const socket = connect({
    ...options,
    host,
    port,
    secureContext: context,
    rejectUnauthorized: true,
    checkServerIdentity: (name, peer) => {
      if (own?.raw.equals(peer.raw) === true) return undefined
      const error = checkServerIdentity(name, peer)
      if (error !== undefined) error.message = nameTrouble(name, peer)
      return error
    },
  })
  if (!hasCa) socket.once('error', withoutCa)
  socket.once('connect', () => {
    socket.setNoDelay(true)
    socket.setKeepAlive(true, keepAliveInitialDelay)
  })
  return socket
}

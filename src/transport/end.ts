// Why a connection ended, in a form that code can act on and with one line for people and logs.

/** What ended a connection. */
export type EndKind =
  /** The name of the host does not resolve, at least not now. */
  | 'unresolved'
  /** Nothing listens there. */
  | 'refused'
  /** The system reports another obstacle: no route, no socket file, no permission. */
  | 'unreachable'
  /** The peer did not answer in time. */
  | 'silent'
  /** The peer closed the connection before the handshake was done. */
  | 'closed'
  /** The peer does not speak ZMTP. */
  | 'notZmtp'
  /** The socket types do not fit together. */
  | 'wrongSocket'
  /** There is no TLS connection: a certificate is refused, or one side does not speak TLS. */
  | 'untrusted'
  /** The versions or the security mechanisms do not fit together. */
  | 'incompatible'
  /** The peer violated the protocol in the handshake, or refused the connection. */
  | 'broken'
  /** This process has too few file descriptors. */
  | 'crowded'
  /** It ended after the handshake. */
  | 'lost'

/** How far a connection came: `greeted` means that the peer speaks ZMTP 3. */
export type ConnectionStage = 'connecting' | 'connected' | 'greeted' | 'ready'

/** The end of a connection, or what it would be if it ended now. */
export interface ConnectionEnd {
  readonly kind: EndKind
  readonly stage: ConnectionStage
  /** One line; empty if nothing has gone wrong. */
  readonly reason: string
  /** The socket type that the peer has announced, or ''. */
  readonly peerType: string
  /** Where the scheduler of this publisher listens, as the peer has announced it, or ''. */
  readonly peerScheduler: string
  /** If the peer does not speak ZMTP: its first bytes, quoted or as hex digits. */
  readonly excerpt: string
}

const NOT_FOUND: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENODATA',
  'EAI_NONAME',
  'EAI_NODATA',
])

/** What the system's error code means for an attempt to connect. */
export function endKindOf(code: string): EndKind {
  if (NOT_FOUND.has(code)) return 'unresolved'
  if (code === 'ECONNREFUSED') return 'refused'
  return code === 'ETIMEDOUT' ? 'silent' : 'unreachable'
}

/** Whether this type of socket is one that monitors connect to. */
export function isPublisher(socketType: string): boolean {
  return socketType === 'PUB' || socketType === 'XPUB'
}

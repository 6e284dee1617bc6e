// The ZeroMQ socket types that we play, and whom each may talk to (ZMTP 3.1, "Socket-Type").

/** The roles of this transport. */
export type SocketType = 'ROUTER' | 'DEALER' | 'PUB' | 'SUB'

const PEERS: Readonly<Record<SocketType, readonly string[]>> = {
  ROUTER: ['DEALER', 'REQ', 'ROUTER'],
  DEALER: ['ROUTER', 'DEALER', 'REP'],
  PUB: ['SUB', 'XSUB'],
  SUB: ['PUB', 'XPUB'],
}

/** Whether a peer that says it is a `peer` may talk to our `own`. */
export function isCompatible(own: SocketType, peer: string): boolean {
  return PEERS[own].includes(peer)
}

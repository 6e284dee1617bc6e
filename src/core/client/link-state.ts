// The states of the connection to the scheduler, as a table: from a state and a fact to the next
// one.

/**
 * `connecting`: there is no connection. `greeting`: a heartbeat was sent, its echo has not come;
 * nothing else may be sent. `open`: tasks flow. `closing`: the last messages are being written.
 */
export type LinkState = 'connecting' | 'greeting' | 'open' | 'closing' | 'closed'

/** What changes the state of the connection. */
export type LinkFact =
  /** The handshake is done. */
  | 'connected'
  /** The scheduler answered a heartbeat. */
  | 'echoed'
  /** So long without an echo that the scheduler may have forgotten this client. */
  | 'grewStale'
  /** The connection ended; there will be another one. */
  | 'disconnected'
  /** This client ends. */
  | 'closeRequested'
  /** The connection is gone for good. */
  | 'linkClosed'

const CLOSING = {
  connected: 'closing',
  echoed: 'closing',
  grewStale: 'closing',
  disconnected: 'closing',
  closeRequested: 'closing',
  linkClosed: 'closed',
} as const

const CLOSED = {
  connected: 'closed',
  echoed: 'closed',
  grewStale: 'closed',
  disconnected: 'closed',
  closeRequested: 'closed',
  linkClosed: 'closed',
} as const

/** Complete on purpose: whatever the transport reports at whatever moment has a meaning. */
const TRANSITIONS: Readonly<Record<LinkState, Readonly<Record<LinkFact, LinkState>>>> = {
  connecting: {
    connected: 'greeting',
    echoed: 'connecting',
    grewStale: 'connecting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  greeting: {
    connected: 'greeting',
    echoed: 'open',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  open: {
    connected: 'greeting',
    echoed: 'open',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  closing: CLOSING,
  closed: CLOSED,
}

/** The state after `fact`. */
export function nextLinkState(state: LinkState, fact: LinkFact): LinkState {
  return TRANSITIONS[state][fact]
}

// The states of the connection to the scheduler, as a table: from a state and a fact to the next
// one.

/**
 * `connecting`: there is no connection. `greeting`: a heartbeat was sent, its echo has not come;
 * nothing else may be sent. `asking`: the scheduler was asked whether it still has what this client
 * has stored. `open`: tasks flow. `closing`: the last messages are being written.
 */
export type LinkState = 'connecting' | 'greeting' | 'asking' | 'open' | 'closing' | 'closed'

/** What changes the state of the connection. */
export type LinkFact =
  /** The handshake is done. */
  | 'connected'
  /** The scheduler answered a heartbeat. */
  | 'echoed'
  /** It did, but may have forgotten this client in between, which has results stored there. */
  | 'echoedInDoubt'
  /** The scheduler has said what it still has. */
  | 'answered'
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
  echoedInDoubt: 'closing',
  answered: 'closing',
  grewStale: 'closing',
  disconnected: 'closing',
  closeRequested: 'closing',
  linkClosed: 'closed',
} as const

const CLOSED = {
  connected: 'closed',
  echoed: 'closed',
  echoedInDoubt: 'closed',
  answered: 'closed',
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
    echoedInDoubt: 'connecting',
    answered: 'connecting',
    grewStale: 'connecting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  greeting: {
    connected: 'greeting',
    echoed: 'open',
    echoedInDoubt: 'asking',
    answered: 'greeting',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  asking: {
    connected: 'greeting',
    echoed: 'asking',
    echoedInDoubt: 'asking',
    answered: 'open',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  open: {
    connected: 'greeting',
    echoed: 'open',
    echoedInDoubt: 'open',
    answered: 'open',
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

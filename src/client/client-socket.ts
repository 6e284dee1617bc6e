// The seam between a client and what carries its messages: a DEALER, or something in memory in
// tests.

import type { Identity } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { DealerSocket, type DealerHandler } from '../transport/dealer.js'
import type { OutgoingFrame } from '../transport/socket.js'

/** What a client needs of a socket; `DealerSocket` has the details. */
export interface ClientSocket {
  send(frame: OutgoingFrame): boolean
  ref(): void
  unref(): void
  close(): Promise<void>
}

/** What is connected, as whom, and who is told. */
export interface ClientSocketSetup {
  readonly address: string
  readonly identity: Identity
  readonly handler: DealerHandler
  readonly logger: Logger
}

/** Connects in the background. Throws `ConfigError` for a wrong address. */
export function openDealer(setup: ClientSocketSetup): ClientSocket {
  const { address, identity, handler, logger } = setup
  // What was not sent stays in the core, which knows what a new connection still needs.
  return new DealerSocket(address, identity, handler, { queueWhileDisconnected: false, logger })
}

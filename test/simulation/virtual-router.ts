// A ROUTER of the simulated world: behaves like src/transport/router.ts. A known identity that
// connects again takes over; messages to a peer that is not connected are dropped.

import type { Identity } from '#src/base/ids.js'
import type { LinkEnd, LinkEndSetup, LinkHandler } from './virtual-link.js'
import type { Listener, VirtualNetwork } from './virtual-network.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'

/** The events of a router, in its process. */
export interface RouterHandler {
  onMessage(from: Identity, bytes: Uint8Array): void
  onProgress(peer: Identity): void
  onDisconnect(peer: Identity, reason: string): void
}

/** It pings its peers, but never gives one up by itself. */
const PING = { pingIntervalMs: 2_000, pingTimeoutMs: 0 }

/** Listens, and knows its peers by identity. */
export class VirtualRouter implements Listener {
  readonly process: VirtualProcess
  readonly #network: VirtualNetwork
  readonly #settings: PipeSettings
  readonly #handler: RouterHandler
  readonly #peers = new Map<Identity, LinkEnd>()
  readonly #identities = new Map<LinkEnd, Identity>()
  #isClosed = false

  constructor(
    process: VirtualProcess,
    network: VirtualNetwork,
    settings: PipeSettings,
    handler: RouterHandler,
  ) {
    this.process = process
    this.#network = network
    this.#settings = settings
    this.#handler = handler
    network.listen(this)
    process.onDeath(() => network.stopListening(this))
  }

  accept(): LinkEndSetup {
    const handler: LinkHandler = {
      onReady: (end) => this.#onReady(end),
      onMessage: (end, bytes) => {
        const from = this.#identities.get(end)
        if (from !== undefined && !this.#isClosed) this.#handler.onMessage(from, bytes)
      },
      onProgress: (end) => {
        const peer = this.#identities.get(end)
        if (peer !== undefined && !this.#isClosed) this.#handler.onProgress(peer)
      },
      onDrain: () => {},
      onClose: (end, reason) => this.#forget(end, reason),
    }
    const { process } = this
    return { process, handler, settings: this.#settings, identity: '', ping: PING }
  }

  send(to: Identity, bytes: Uint8Array): void {
    this.#peers.get(to)?.send(bytes)
  }

  /**
   * Nothing more is received from a peer; messages queued for it are still written, for a while.
   */
  disconnect(peer: Identity, reason: string): void {
    this.#peers.get(peer)?.finish(reason)
  }

  /** Writes queued messages and closes everything. */
  close(): void {
    this.#isClosed = true
    this.#network.stopListening(this)
    for (const end of this.#peers.values()) end.finish('')
  }

  #onReady(end: LinkEnd): void {
    if (this.#isClosed) {
      end.close('')
      return
    }
    const id = end.peer
    const earlier = this.#peers.get(id)
    if (earlier !== undefined) {
      earlier.close('another connection has taken over the identity')
      this.#identities.delete(earlier)
    }
    this.#peers.set(id, end)
    this.#identities.set(end, id)
    if (earlier !== undefined) this.#handler.onDisconnect(id, earlier.reason)
  }

  #forget(end: LinkEnd, reason: string): void {
    const id = this.#identities.get(end)
    if (id === undefined) return
    this.#identities.delete(end)
    this.#peers.delete(id)
    if (!this.#isClosed) this.#handler.onDisconnect(id, reason)
  }
}

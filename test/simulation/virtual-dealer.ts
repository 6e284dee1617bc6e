// A DEALER of the simulated world: behaves like src/transport/dealer.ts and connector.ts, as
// clients and workers use them, that is, without a queue while there is no connection.

import type { Identity } from '#src/base/ids.js'
import type { Random } from './random.js'
import type { LinkEnd, LinkHandler } from './virtual-link.js'
import type { VirtualNetwork } from './virtual-network.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'

/** The events of a dealer, in its process. None once it is closed. */
export interface DealerHandler {
  onConnect(): void
  onDisconnect(reason: string): void
  onConnectFailed(reason: string): void
  onMessage(bytes: Uint8Array): void
  onProgress(): void
  onDrain(): void
}

/** The parts of a dealer. */
export interface DealerSetup {
  readonly identity: Identity
  /** Its host, for the faults of the network. */
  readonly host: string
  readonly process: VirtualProcess
  readonly network: VirtualNetwork
  readonly settings: PipeSettings
  readonly random: Random
  readonly handler: DealerHandler
}

const RECONNECT_MIN_MS = 100
const RECONNECT_MAX_MS = 1_000
const PING = { pingIntervalMs: 2_000, pingTimeoutMs: 8_000 }

/** Keeps one connection up. */
export class VirtualDealer {
  readonly #setup: DealerSetup
  #end: LinkEnd | undefined
  #failures = 0
  #isClosed = false

  constructor(setup: DealerSetup) {
    this.#setup = setup
    this.#connect()
  }

  get isConnected(): boolean {
    return !this.#isClosed && this.#end?.isOpen === true
  }

  /**
   * False: too much is queued, and `onDrain` follows; or there is no connection, and it is dropped.
   */
  send(bytes: Uint8Array): boolean {
    if (this.#end?.isOpen !== true) return false
    return this.#end.send(bytes)
  }

  /** Writes queued messages and closes. */
  close(): void {
    this.#isClosed = true
    this.#end?.finish('')
  }

  #connect(): void {
    const { network, host } = this.#setup
    const handler: LinkHandler = {
      onReady: () => this.#onReady(),
      onMessage: (_, bytes) => {
        if (!this.#isClosed) this.#setup.handler.onMessage(bytes)
      },
      onProgress: () => {
        if (!this.#isClosed) this.#setup.handler.onProgress()
      },
      onDrain: () => {
        if (!this.#isClosed) this.#setup.handler.onDrain()
      },
      onClose: (end, reason) => this.#onClose(end, reason),
    }
    network.connect(host, { ...this.#setup, ping: PING, handler }, (result) => {
      if (typeof result === 'string') this.#fail(result)
      else if (this.#isClosed) result.close('')
      else this.#end = result
    })
  }

  #onReady(): void {
    this.#failures = 0
    if (this.#isClosed) this.#end?.finish('')
    else this.#setup.handler.onConnect()
  }

  #onClose(end: LinkEnd, reason: string): void {
    const wasReady = end.wasReady
    this.#end = undefined
    if (this.#isClosed) return
    if (!wasReady) {
      this.#fail(reason)
      return
    }
    this.#retry()
    this.#setup.handler.onDisconnect(reason)
  }

  #fail(reason: string): void {
    if (this.#isClosed) return
    this.#retry()
    this.#setup.handler.onConnectFailed(reason)
  }

  #retry(): void {
    const longest = Math.min(RECONNECT_MAX_MS, RECONNECT_MIN_MS * 2 ** this.#failures)
    this.#failures += 1
    const delayMs = longest * (1 - this.#setup.random.next() / 2)
    this.#setup.process.after(delayMs, () => {
      if (!this.#isClosed) this.#connect()
    })
  }
}

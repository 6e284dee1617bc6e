// What all views of one client share: the connection, what is submitted over it, and the end.

import { ClientConnection, type ConnectionSetup } from './client-connection.js'
import { openClients, type OpenClient } from './open-clients.js'
import { SubmitterParts } from './submitter.js'

/** What a client may own that ends with it. */
export interface EmbeddedCluster {
  /** Ends the workers. What tasks have left in buffers is printed by then, if it can be. */
  endWorkers(): Promise<void>
  shutdown(): Promise<void>
}

/** One client, however many views there are of it. */
export class ClientSession implements OpenClient {
  readonly connection: ClientConnection
  readonly parts: SubmitterParts
  #cluster: EmbeddedCluster | undefined
  #closing: Promise<void> | undefined

  /** Throws `ConfigError` for a wrong address. */
  constructor(setup: ConnectionSetup) {
    this.connection = new ClientConnection(setup)
    this.parts = new SubmitterParts(this.connection)
    if (setup.worker === undefined) openClients.add(this)
  }

  get address(): string {
    return this.connection.address
  }

  /** From now on `close` ends this, too. */
  own(cluster: EmbeddedCluster): void {
    this.#cluster = cluster
  }

  /** See `Client.clear`. */
  clear(): Promise<void> {
    this.parts.references.clear()
    return this.connection.clear()
  }

  /** See `Client.disconnect`. */
  disconnect(): Promise<void> {
    return this.#leave()
  }

  /** See `Client.close`. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** See `Client.shutdown`. */
  async shutdown(): Promise<void> {
    await this.connection.shutdown()
    this.#onClosed()
    await this.close()
  }

  async #close(): Promise<void> {
    const cluster = this.#cluster
    await this.#leave(cluster && (() => cluster.endWorkers()))
    await this.#cluster?.shutdown()
  }

  #leave(lastWords?: () => Promise<void>): Promise<void> {
    const wasOpen = !this.connection.isClosed
    const closing = this.connection.close(lastWords)
    if (wasOpen) this.#onClosed()
    return closing
  }

  #onClosed(): void {
    openClients.delete(this)
    this.parts.references.clear()
    this.parts.failures.warn()
  }
}

// State that all views of one client share: the connection, the submissions over it, and closing
// it.

import { runInThisContext } from 'node:vm'
import type { FunctionSerializer } from '../serializer/task-codec.js'
import { ClientConnection, type ConnectionSetup } from './connection.js'
import { SubmitterParts } from './submit/submitter.js'

// The open clients of this process: a program that exits without closing them gets a warning. One
// list for the process, so that there is one listener and one warning.

/** A client that is open. */
interface OpenClient {
  readonly address: string
}

/** Clients that are open. */
class OpenClients {
  readonly #clients = new Set<OpenClient>()
  readonly #onBeforeExit = (): void => this.#warn()

  /** It has been opened. */
  add(client: OpenClient): void {
    this.#clients.add(client)
    if (this.#clients.size === 1) process.on('beforeExit', this.#onBeforeExit)
  }

  /** It has been closed. */
  delete(client: OpenClient): void {
    if (!this.#clients.delete(client) || this.#clients.size > 0) return
    process.off('beforeExit', this.#onBeforeExit)
  }

  /** The program has nothing more to do. Warns once. */
  #warn(): void {
    const addresses = Array.from(this.#clients, ({ address }) => address)
    this.#clients.clear()
    process.off('beforeExit', this.#onBeforeExit)
    const [first] = addresses
    const text =
      addresses.length === 1
        ? `the client of ${first} was not closed`
        : `${addresses.length} clients were not closed: ${addresses.join(', ')}`
    process.emitWarning(`${text}; call close() or use "await using"`, {
      type: 'ScalerWarning',
      code: 'SCALER_UNCLOSED_CLIENT',
    })
  }
}

/** Those of this process. */
const openClients: OpenClients = new OpenClients()

/** Resources of a client that are closed with it. */
interface EmbeddedCluster {
  /** Stops the workers. Output that tasks have left in buffers is printed by then, if possible. */
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

  /** From now on `close` also closes this. */
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

// Prepares the inspector and the parser, which the first submit of a closure needs, while something
// else is waited for anyway.

/** Created like a user's function: this package's own functions do not travel by value. */
const CLOSURE = '(() => { let calls = 0; return (step) => (calls += step) })()'

/**
 * Lets a serializer take a closure apart for the first time, if possible. Any error is reported by
 * the first submit.
 */
export function warmUp(serializer: Pick<FunctionSerializer, 'serializeFunction'>): void {
  try {
    const closure = runInThisContext(CLOSURE) as () => unknown
    serializer.serializeFunction(closure)
  } catch {
    // For example where making functions from text is forbidden.
  }
}

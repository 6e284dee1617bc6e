// The client: what users submit with. Everything it does is done elsewhere; this is its face.

import type { ComboOptions } from '../cluster/combo.js'
import { ownCopies } from '../serializer/process-serializer.js'
import { ClientConnection } from './client-connection.js'
import { checkClientOptions, splitClientOptions, type ClientOptions } from './client-options.js'
import { firstAnswer } from './connect-attempt.js'
import type { Future } from './future.js'
import type { MapFuture, MapItem, MapOptions } from './map-future.js'
import { Submitter } from './submitter.js'

/** The arguments of a function as they may be given to `submit`: each as it is. */
export type Lift<A extends unknown[]> = { [I in keyof A]: A[I] }

/** What a client may own that ends with it. */
interface EmbeddedCluster {
  shutdown(): Promise<void>
}

/**
 * Submits functions to a cluster. `submit`, `map` and `starmap` may be called at once, connected
 * or not: what they are given travels as it is at that moment.
 */
export class Client implements AsyncDisposable {
  /** Where the scheduler is, as given. */
  readonly address: string
  readonly #connection: ClientConnection
  readonly #submitter: Submitter
  #cluster: EmbeddedCluster | undefined
  #closing: Promise<void> | undefined

  /**
   * Returns at once and connects in the background, for as long as it takes. Throws `ConfigError`
   * for a wrong address (`tcp://host:port`, `ipc:///path`) or option. Does not keep the process
   * alive by itself.
   */
  constructor(address: string, options: ClientOptions = {}) {
    const settings = checkClientOptions(options)
    ownCopies()
    this.address = address
    this.#connection = new ClientConnection({ address, settings })
    this.#submitter = new Submitter(this.#connection)
  }

  /**
   * A client whose scheduler has answered. Rejects with `ConnectError` when it has not within
   * `timeoutMs`, saying what came back, and with `ConfigError` as the constructor; nothing is
   * left then.
   */
  static async connect(address: string, options: ClientOptions = {}): Promise<Client> {
    const client = new Client(address, options)
    const connection = client.#connection
    connection.retain()
    try {
      await firstAnswer(connection, connection.settings.timeoutMs)
      return client
    } catch (error) {
      await client.disconnect()
      throw error
    } finally {
      connection.release()
    }
  }

  /**
   * A client of a scheduler and workers of its own on this machine, which `close` ends. Resolves
   * when all workers are ready. Options are those of `SchedulerClusterCombo.start` and of the
   * client; where both have one of the same name, it is for both.
   */
  static async local(options: ComboOptions & ClientOptions = {}): Promise<Client> {
    const split = splitClientOptions<ComboOptions>(options)
    checkClientOptions(split.client)
    const { SchedulerClusterCombo } = await import('../cluster/combo.js')
    const cluster = await SchedulerClusterCombo.start(split.cluster)
    try {
      const client = await Client.connect(cluster.address, split.client)
      client.#cluster = cluster
      return client
    } catch (error) {
      await cluster.shutdown()
      throw error
    }
  }

  /** The name of this client in the cluster: `<pid>|Client|<32 hex digits>`. */
  get identity(): string {
    return this.#connection.identity
  }

  /**
   * Runs `fn(...args)` on a worker. The future gets what `fn` returns (awaited, if it is a
   * promise) or throws. Function and arguments are serialized before this returns. Throws
   * `TypeError` if `fn` is not a function; every other failure comes through the future.
   */
  submit<A extends unknown[], R>(fn: (...args: A) => R, ...args: Lift<A>): Future<Awaited<R>> {
    return this.#submitter.submit(fn, args) as Future<Awaited<R>>
  }

  /**
   * Runs `fn(input)` for every input. The function is serialized once, before this returns;
   * inputs are pulled as there is room, the first 2,000 at once. Throws `TypeError` if `fn` is
   * not a function or `inputs` not iterable, and `ConfigError` for a bad option; every other
   * failure comes through the map.
   */
  map<T, R, O extends MapOptions = Record<never, never>>(
    fn: (input: T) => R,
    inputs: Iterable<T> | AsyncIterable<T>,
    options?: O,
  ): MapFuture<Awaited<R>, MapItem<Awaited<R>, O>> {
    const future = this.#submitter.map(fn, inputs, options ?? {}, false)
    return future as MapFuture<Awaited<R>, MapItem<Awaited<R>, O>>
  }

  /** As `map`, with a list of arguments for each input: runs `fn(...input)`. */
  starmap<A extends unknown[], R, O extends MapOptions = Record<never, never>>(
    fn: (...args: A) => R,
    inputs: Iterable<readonly [...A]> | AsyncIterable<readonly [...A]>,
    options?: O,
  ): MapFuture<Awaited<R>, MapItem<Awaited<R>, O>> {
    const future = this.#submitter.map(fn, inputs, options ?? {}, true)
    return future as MapFuture<Awaited<R>, MapItem<Awaited<R>, O>>
  }

  /**
   * Ends this client: unfinished futures end with `TaskCancelledError`, later calls fail with
   * `ClientClosedError`. Scheduler and workers live on. Failed futures that nobody has looked at
   * are counted in one process warning. Resolves when the scheduler has been told, as far as it
   * can be reached; may be called again.
   */
  disconnect(): Promise<void> {
    if (!this.#connection.isClosed) {
      const closing = this.#connection.close()
      this.#submitter.failures.warn()
      return closing
    }
    return this.#connection.close()
  }

  /** As `disconnect`, and ends the cluster of `Client.local`. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.disconnect()
    await this.#cluster?.shutdown()
  }
}

// The client: what users submit with. Everything it does is done elsewhere; this is its face.

import type { ComboOptions } from '../cluster/options.js'
import { asCalled, blameCaller, captureSite } from '../runtime/call-site.js'
import { defaultSerializer, ownCopies } from '../serializer/serializer.js'
import { defaultCodec } from '../serializer/task-codec.js'
import { firstAnswer } from './connect/attempt.js'
import type { ConnectionSetup } from './connection.js'
import type { Future } from './future/future.js'
import type { GraphHint, NodeValue } from './graph/reading.js'
import type { GraphFuture } from './graph/run.js'
import type { MapFuture, MapItem, MapOptions, NoMapOptions } from './map/future.js'
import {
  addressOrDefault,
  checkClientOptions,
  type ClientOptions,
  defaultOutput,
  splitClientOptions,
} from './options.js'
import { ClientSession, warmUp } from './session.js'
import type { Liftable } from './submit/arguments.js'
import type { ObjectReference, SendObjectOptions } from './submit/objects.js'
import { Submitter } from './submit/submitter.js'
import {
  changeTaskSettings,
  defaultTaskSettings,
  type TaskOptions,
  type TaskSettings,
} from './submit/task-options.js'
import { clientOfTask, letClientsTravel } from './travel.js'

/**
 * The arguments of a function as they may be given to `submit`: each as it is, as a future of it,
 * or as a reference to it.
 */
export type Lift<A extends unknown[]> = { [I in keyof A]: Liftable<A[I]> }

/** A client seen with certain options. */
class ClientView {
  readonly session: ClientSession
  readonly settings: TaskSettings

  constructor(session: ClientSession, settings: TaskSettings) {
    this.session = session
    this.settings = settings
  }
}

/**
 * Submits functions to a cluster. `submit`, `map` and `starmap` may be called at once, connected
 * or not: what they are given travels as it is at that moment.
 */
export class Client implements AsyncDisposable {
  /** Where the scheduler is, as given. */
  readonly address: string
  readonly #session: ClientSession
  readonly #settings: TaskSettings
  readonly #submitter: Submitter

  /**
   * Returns at once and connects in the background, for as long as it takes. Without an address it
   * takes that of the environment, `SCALER_ADDRESS`, which `scaler run` sets. Throws `ConfigError`
   * for a wrong address (`tcp://host:port`, `ipc:///path`) or option, and where there is no
   * address. Does not keep the process alive by itself; a process that ends without having closed
   * it is told in a warning.
   */
  constructor(address?: string, options?: ClientOptions)
  /** @internal */
  constructor(view: ClientView)
  constructor(given?: string | ClientView, options: ClientOptions = {}) {
    const { session, settings } = given instanceof ClientView ? given : openView(given, options)
    this.address = session.address
    this.#session = session
    this.#settings = settings
    this.#submitter = new Submitter(session.parts, settings)
  }

  /** Whether a value is a client, or a view of one. @internal */
  static isClient(value: unknown): value is Client {
    return typeof value === 'object' && value !== null && #session in value
  }

  /** Whether it can be used no longer. @internal */
  static isClosed(client: Client): boolean {
    return client.#session.connection.isClosed
  }

  /** The options of a view. @internal */
  static settingsOf(client: Client): TaskSettings {
    return client.#settings
  }

  /** Another view of a client. @internal */
  static viewWith(client: Client, settings: TaskSettings): Client {
    return new Client(new ClientView(client.#session, settings))
  }

  /** A client for the tasks of one process. @internal */
  static inside(setup: ConnectionSetup): Client {
    return new Client(newView(setup))
  }

  /**
   * A client whose scheduler has answered. Without an address it takes `SCALER_ADDRESS`. Rejects
   * with `ConnectError` when there was no answer within `timeoutMs`, saying what was found instead,
   * and at once where waiting cannot help: another kind of server, or the address for monitors.
   * Rejects with `ConfigError` as the constructor throws it. Nothing is left then.
   */
  static connect(address?: string, options: ClientOptions = {}): Promise<Client> {
    return asCalled(captureSite(1), () => Client.#connected(() => new Client(address, options)))
  }

  /** As `connect`, for one who only looks whether all is well: no line at INFO. @internal */
  static visit(address: string, options: ClientOptions): Promise<Client> {
    const setup = { address, settings: checkClientOptions(options), isVisitor: true }
    return Client.#connected(() => new Client(newView(setup)))
  }

  static async #connected(open: () => Client): Promise<Client> {
    const client = open()
    const { connection } = client.#session
    connection.retain()
    connection.request({ type: 'answerWanted' })
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
  static local(options: ComboOptions & ClientOptions = {}): Promise<Client> {
    return asCalled(captureSite(1), () => Client.#local(options))
  }

  static async #local(options: ComboOptions & ClientOptions): Promise<Client> {
    const { SchedulerClusterCombo } = await import('../cluster/combo.js')
    const { COMBO_OPTIONS } = await import('../cluster/options.js')
    const split = splitClientOptions<ComboOptions>(options, COMBO_OPTIONS)
    const settings = checkClientOptions(split.client)
    const starting = SchedulerClusterCombo.start(split.cluster)
    // Its processes take longer to start than this takes.
    if (settings.serializer === defaultSerializer) warmUp(defaultCodec)
    const cluster = await starting
    try {
      const client = await Client.connect(cluster.address, split.client)
      client.#session.own(cluster)
      return client
    } catch (error) {
      await cluster.shutdown()
      throw error
    }
  }

  /** The name of this client in the cluster: `<pid>|Client|<32 hex digits>`. */
  get identity(): string {
    return this.#session.connection.identity
  }

  /**
   * Runs `fn(...args)` on a worker. The future gets what `fn` returns (awaited, if it is a
   * promise) or throws. Function and arguments are serialized before this returns. An argument that
   * is a future is waited for; the result then goes from task to task, and not through here if it
   * is large. Throws `TypeError` if `fn` is not a function; every other failure comes through the
   * future.
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
  map<T, R, O extends MapOptions = NoMapOptions>(
    fn: (input: T) => R,
    inputs: Iterable<Liftable<T>> | AsyncIterable<Liftable<T>>,
    options?: O,
  ): MapFuture<Awaited<R>, MapItem<Awaited<R>, O>> {
    const future = this.#submitter.map(fn, inputs, options ?? {}, false)
    return future as MapFuture<Awaited<R>, MapItem<Awaited<R>, O>>
  }

  /** As `map`, with a list of arguments for each input: runs `fn(...input)`. */
  starmap<A extends unknown[], R, O extends MapOptions = NoMapOptions>(
    fn: (...args: A) => R,
    inputs: Iterable<readonly [...Lift<A>]> | AsyncIterable<readonly [...Lift<A>]>,
    options?: O,
  ): MapFuture<Awaited<R>, MapItem<Awaited<R>, O>> {
    const future = this.#submitter.map(fn, inputs, options ?? {}, true)
    return future as MapFuture<Awaited<R>, MapItem<Awaited<R>, O>>
  }

  /**
   * Computes the requested keys of a graph of calls that need each other's results (`Graph` says
   * what a node is). Only what the keys need is computed, each node once; what is computed in
   * between stays in the cluster, and is freed when nothing needs it. The graph is read and
   * serialized before this returns. Throws `TypeError` if `graph` is not an object or `keys` no
   * array of strings. Every other failure comes through the future: `GraphKeyError` for a key that
   * is not there, `GraphCycleError` for nodes that need each other, and what the calls throw, with
   * the key of the node that failed as `nodeKey`.
   */
  get<G extends GraphHint, K extends keyof G & string>(
    graph: G,
    keys: readonly K[],
  ): GraphFuture<{ [P in K]: NodeValue<G[P]> }> {
    return this.#submitter.get(graph, keys) as GraphFuture<{ [P in K]: NodeValue<G[P]> }>
  }

  /**
   * Stores a value in the cluster once, as it is at this moment, and returns what takes its place
   * as an argument. Throws `SerializeError` if it cannot travel, `ClientClosedError`, and
   * `ConfigError` for a bad option.
   */
  sendObject<T>(value: T, options: SendObjectOptions = {}): ObjectReference<T> {
    try {
      return this.#session.parts.references.send(value, options) as ObjectReference<T>
    } catch (error) {
      throw blameCaller(error, captureSite(1))
    }
  }

  /**
   * This client with other options for all that is submitted through the view that is returned;
   * those that are not given stay as they are here, and signals add up. Everything else is shared:
   * closing a view closes the client. Throws `ConfigError` for a bad option.
   */
  with(options: TaskOptions): Client {
    try {
      const settings = changeTaskSettings(this.#settings, options)
      return new Client(new ClientView(this.#session, settings))
    } catch (error) {
      throw blameCaller(error, captureSite(1))
    }
  }

  /**
   * Cancels what this client has unfinished, with `TaskCancelledError`, and deletes all that it
   * has stored: references become invalid, as do results that nobody has fetched. The client can be
   * used on. Resolves when the scheduler was told, or at once if there is none. Rejects with
   * `ClientClosedError`.
   */
  clear(): Promise<void> {
    return asCalled(captureSite(1), () => this.#session.clear())
  }

  /**
   * Ends this client: unfinished futures end with `TaskCancelledError`, later calls fail with
   * `ClientClosedError`. Scheduler and workers live on. Failed futures that nobody has looked at
   * are counted in one process warning. Resolves when the scheduler has been told, as far as it
   * can be reached; may be called again.
   */
  disconnect(): Promise<void> {
    return this.#session.disconnect()
  }

  /** As `disconnect`, and ends the cluster of `Client.local`. May be called again. */
  close(): Promise<void> {
    return this.#session.close()
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Stops the scheduler and all workers, and closes this client: unfinished futures end with
   * `TaskCancelledError`. Rejects, and changes nothing, with `ProtectedModeError` if the scheduler
   * does not allow it, with `ConnectError` or `DisconnectedError` if it cannot be reached within
   * `timeoutMs`, and with `ClientClosedError`.
   */
  shutdown(): Promise<void> {
    return asCalled(captureSite(1), () => this.#session.shutdown())
  }
}

function openView(given: string | undefined, options: ClientOptions): ClientView {
  try {
    const address = addressOrDefault(given)
    return newView({ address, settings: checkClientOptions(options, defaultOutput(address)) })
  } catch (error) {
    throw blameCaller(error, captureSite(2))
  }
}

function newView(setup: ConnectionSetup): ClientView {
  const { profiling, output } = setup.settings
  ownCopies()
  letClientsTravel<Client>(Client)
  return new ClientView(new ClientSession(setup), defaultTaskSettings(profiling, output))
}

// The client inside of tasks: one per process and serializer, for all tasks that run there.

/**
 * Inside of a task: a client of the scheduler that the task came from, with the serializer of its
 * client. What it submits are children of the task. It need not be closed, and does not keep the
 * process alive; once it was closed this gives a new one. Throws `TaskNotFoundError` outside of
 * tasks.
 */
export function currentClient(): Client {
  return clientOfTask<Client>(Client)
}

// The client: users submit functions with it. A facade; other files do the work.

import type { ComboOptions } from '../cluster/options.js'
import type { ClusterEvent, ClusterInfo } from './monitor/cluster-info.js'
import { ClientClosedError } from '../base/errors.js'
import { asCalled, blameCaller, captureSite } from '../runtime/call-site.js'
import { requireNode } from '../runtime/child-environment.js'
import { defaultSerializer, ownCopies } from '../serializer/serializer.js'
import { defaultCodec } from '../serializer/task-codec.js'
import { firstAnswer } from './connect/attempt.js'
import type { ClientConnection, ConnectionSetup } from './connection.js'
import type { Future } from './future/future.js'
import type { GraphHint, NodeValue } from './graph/reading.js'
import type { GraphFuture } from './graph/run.js'
import type { MonitorSetup } from './monitor/links.js'
import type { LookOptions } from './monitor/look.js'
import type { ObjectInfo } from './monitor/operator-reply.js'
import type { MapFuture, MapItem, MapOptions } from './map/future.js'
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
 * The arguments of a function as `submit` accepts them: each as a value, as a future of it, or as a
 * reference to it.
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
 * Submits functions to a cluster. `submit`, `map` and `starmap` may be called immediately,
 * connected or not: their arguments are serialized as they are at that moment.
 */
export class Client implements AsyncDisposable {
  /** The address of the scheduler, as given. */
  readonly address: string
  readonly #session: ClientSession
  readonly #settings: TaskSettings
  readonly #submitter: Submitter

  /**
   * Returns immediately and connects in the background, however long that takes. Without an address
   * it uses the environment variable `SCALER_ADDRESS`, which `scaler run` sets. Throws
   * `ConfigError` for a wrong address (`tcp://host:port`, `tls://host:port`, `ipc:///path`) or
   * option, and if there is no address. Does not keep the process alive by itself; a process that
   * ends without closing it, other than by `process.exit()`, prints a warning.
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

  /** Whether it has been closed. @internal */
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
   * A client that has had an answer from its scheduler. Without an address it uses
   * `SCALER_ADDRESS`. Rejects with `ConnectError`, which says what was found instead, if there is
   * no answer within `timeoutMs`, or immediately if waiting cannot help: another kind of server,
   * or the address for monitors. Rejects with `ConfigError` like the constructor. Everything is
   * cleaned up before it rejects.
   */
  static connect(address?: string, options: ClientOptions = {}): Promise<Client> {
    return asCalled(captureSite(1), () => Client.#answered(new Client(address, options)))
  }

  /** Like `connect`, for health checks: logs no line at INFO. @internal */
  static visit(address: string, options: ClientOptions): Promise<Client> {
    const setup = { address, settings: checkClientOptions(options), isVisitor: true }
    return Client.#answered(new Client(newView(setup)))
  }

  /** The client, once it has had an answer from its scheduler. */
  static async #answered(client: Client): Promise<Client> {
    const { connection } = client.#session
    connection.retain()
    connection.request({ type: 'answerRequested' })
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
   * A client with a scheduler and workers of its own on this machine, which `close` stops. Resolves
   * when all workers are ready. Options are those of `SchedulerClusterCombo.start` and of the
   * client; an option that both have applies to both. Rejects like that, and like `connect`;
   * `timeoutMs` does not limit how long the processes take to start.
   */
  static local(options: ComboOptions & ClientOptions = {}): Promise<Client> {
    return asCalled(captureSite(1), () => Client.#local(options))
  }

  static async #local(options: ComboOptions & ClientOptions): Promise<Client> {
    const { SchedulerClusterCombo } = await import('../cluster/combo.js')
    const { COMBO_OPTIONS } = await import('../cluster/options.js')
    const split = splitClientOptions<ComboOptions>(options, COMBO_OPTIONS)
    const settings = checkClientOptions(split.client)
    let opened: Client | undefined
    let answered: Promise<Client> | undefined
    const cluster = await SchedulerClusterCombo.begin(split.cluster, {
      // Starting the processes takes longer than this, so that it costs no extra time.
      onSpawned: () => {
        if (settings.serializer === defaultSerializer) warmUp(defaultCodec)
      },
      // Connects while the workers start.
      onListening: (address) => {
        opened = new Client(address, split.client)
        answered = Client.#answered(opened)
        answered.catch(() => {})
      },
      onFailed: async () => opened?.disconnect(),
    })
    try {
      const client = await (answered ?? Client.connect(cluster.address, split.client))
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
   * Runs `fn(...args)` on a worker. The future settles with the value that `fn` returns (awaited,
   * if it is a promise) or throws. Function and arguments are serialized before this returns. The
   * task waits for arguments that are futures; a large result then travels from task to task, and
   * not through this client. Throws `TypeError` if `fn` is not a function; every other failure
   * rejects the future.
   */
  submit<A extends unknown[], R>(fn: (...args: A) => R, ...args: Lift<A>): Future<Awaited<R>> {
    return this.#submitter.submit(fn, args) as Future<Awaited<R>>
  }

  /**
   * Runs `fn(input)` for every input. The function is serialized once, before this returns; inputs
   * are pulled while there is room, the first few for each worker immediately. Throws `TypeError`
   * if `fn` is not a function or `inputs` not iterable, and `ConfigError` for a bad option; every
   * other failure rejects the map.
   */
  map<T, R, O extends MapOptions = MapOptions>(
    fn: (input: T) => R,
    inputs: Iterable<Liftable<T>> | AsyncIterable<Liftable<T>>,
    options?: O,
  ): MapFuture<Awaited<R>, MapItem<Awaited<R>, O>> {
    const future = this.#submitter.map(fn, inputs, options === undefined ? {} : options, false)
    return future as MapFuture<Awaited<R>, MapItem<Awaited<R>, O>>
  }

  /** Like `map`, with a list of arguments for each input: runs `fn(...input)`. */
  starmap<A extends unknown[], R, O extends MapOptions = MapOptions>(
    fn: (...args: A) => R,
    inputs: Iterable<readonly [...Lift<A>]> | AsyncIterable<readonly [...Lift<A>]>,
    options?: O,
  ): MapFuture<Awaited<R>, MapItem<Awaited<R>, O>> {
    const future = this.#submitter.map(fn, inputs, options === undefined ? {} : options, true)
    return future as MapFuture<Awaited<R>, MapItem<Awaited<R>, O>>
  }

  /**
   * Computes the requested keys of a graph of calls that need each other's results (`Graph`
   * describes the nodes). Only nodes that the keys need are computed, each of them once;
   * intermediate results stay in the cluster, and are freed when nothing needs them. The graph is
   * read and serialized before this returns. Throws `TypeError` if `graph` is not an object or
   * `keys` not an array of strings. Every other failure rejects the future: `GraphKeyError` for a
   * missing key, `GraphCycleError` for nodes that depend on each other, and errors of the calls,
   * with the key of the failed node as `nodeKey`.
   */
  get<G extends GraphHint, K extends keyof G & string>(
    graph: G,
    keys: readonly K[],
  ): GraphFuture<{ [P in K]: NodeValue<G[P]> }> {
    return this.#submitter.get(graph, keys) as GraphFuture<{ [P in K]: NodeValue<G[P]> }>
  }

  /**
   * Stores a value in the cluster once, as it is at this moment, and returns a reference to pass as
   * an argument in its place. Throws `SerializeError` if it cannot travel, `ClientClosedError`, and
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
   * A reference to the object that a client, perhaps another one, has sent with `shared: true` and
   * this name. It is as good as that client's own: the object stays as long as it is not released.
   * Rejects with `MissingObjectError` if no object has this name, with `TimeoutError` if the
   * scheduler does not answer within the client's `timeoutMs`, with `ConnectError` if it shares no
   * objects (Python Scaler), with `ClientClosedError`, and with `ConfigError` for a bad name.
   */
  object<T = unknown>(name: string): Promise<ObjectReference<T>> {
    return asCalled(captureSite(1), async () => {
      const reference = await this.#session.parts.references.find(name)
      return reference as ObjectReference<T>
    })
  }

  /**
   * Takes its name from a shared object: it cannot be found any more, and is deleted when no client
   * has a reference to it and no task needs it. Resolves with whether there was one. Rejects like
   * `object`.
   */
  deleteObject(name: string): Promise<boolean> {
    return asCalled(captureSite(1), () => this.#session.parts.references.remove(name))
  }

  /**
   * A view of this client with other options for everything that is submitted through it; options
   * that are not given stay as they are here, and signals add up. Everything else is shared:
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
   * What the cluster is like now: its scheduler, workers, clients, functions, why tasks wait and
   * what has failed. With a scheduler of Python Scaler it takes up to a second, until that
   * publishes its state two ports above its address. Rejects with `TimeoutError` if there is no
   * report within the client's `timeoutMs`, with `ConnectError` if the scheduler has too many
   * readers (100), with the reason of `signal`, with `ClientClosedError`, and with `ConfigError`
   * for a bad option.
   */
  info(options: LookOptions = {}): Promise<ClusterInfo> {
    const { connection } = this.#session
    const look = async (ended: AbortSignal): Promise<ClusterInfo> => {
      const { timeoutMs } = connection.settings
      const { checkedSignal, lookAtCluster } = await import('./monitor/look.js')
      const signal = checkedSignal('info', options)
      return lookAtCluster(monitorSetup(connection), { signal, ended, timeoutMs })
    }
    return asCalled(captureSite(1), () => untilEnded(connection, look))
  }

  /**
   * The objects that are stored in the cluster, of all clients: functions, large arguments and
   * results, and what was sent with `sendObject`. The largest first, at most 1,000. Rejects with
   * `TimeoutError` if there is no answer within the client's `timeoutMs`, with `ConnectError` if
   * the scheduler does not tell (Python Scaler), and with `ClientClosedError`.
   */
  objects(): Promise<ObjectInfo[]> {
    const { connection } = this.#session
    const list = async (ended: AbortSignal): Promise<ObjectInfo[]> => {
      const { address, settings } = connection
      const { listObjects } = await import('./monitor/look.js')
      const setup = { ...monitorSetup(connection), address }
      return listObjects(setup, { ended, timeoutMs: settings.timeoutMs })
    }
    return asCalled(captureSite(1), () => untilEnded(connection, list))
  }

  /**
   * What happens in the whole cluster from the first `next()` on: each task that ends, workers and
   * clients that join and leave, and a sample of everything about once a second. Events that are
   * read too slowly are left out, and counted in an event of the type `lost`. Goes on after a lost
   * connection and with the next scheduler; ends when this client is closed, by leaving the loop,
   * and by `signal`, whose reason it throws. Throws `ConnectError` if the scheduler has too many
   * readers (100), `ClientClosedError`, and `ConfigError` for a bad option.
   */
  async *events(options: LookOptions = {}): AsyncGenerator<ClusterEvent, void, undefined> {
    const { connection } = this.#session
    connection.checkOpen()
    const { checkedSignal, watchCluster } = await import('./monitor/look.js')
    const signal = checkedSignal('events', options)
    if (connection.isClosed) return
    const { ended, stopListening } = endOf(connection)
    try {
      yield* watchCluster(monitorSetup(connection), { signal, ended })
    } finally {
      stopListening()
    }
  }

  /**
   * Cancels all unfinished work of this client, with `TaskCancelledError`, and deletes all objects
   * that it has stored: references become invalid, as do results that have not been fetched. The
   * client remains usable. Resolves when the scheduler has been notified, or immediately if there
   * is none. Rejects with `ClientClosedError`.
   */
  clear(): Promise<void> {
    return asCalled(captureSite(1), () => this.#session.clear())
  }

  /**
   * Closes this client: unfinished futures are rejected with `TaskCancelledError`, later calls fail
   * with `ClientClosedError`. Scheduler and workers keep running. Failed futures that were never
   * awaited are counted in one process warning. Resolves when the scheduler has been notified, if
   * it can be reached; may be called again.
   */
  disconnect(): Promise<void> {
    return this.#session.disconnect()
  }

  /** Like `disconnect`, and stops the cluster of `Client.local`. May be called again. */
  close(): Promise<void> {
    return this.#session.close()
  }

  /** Like `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Stops the scheduler and all workers, and closes this client: unfinished futures are rejected
   * with `TaskCancelledError`. Rejects, and changes nothing, with `ProtectedModeError` if the
   * scheduler does not allow it, with `ConnectError` or `DisconnectedError` if it cannot be reached
   * within `timeoutMs`, and with `ClientClosedError`.
   */
  shutdown(): Promise<void> {
    return asCalled(captureSite(1), () => this.#session.shutdown())
  }
}

function monitorSetup({ address, settings }: ClientConnection): MonitorSetup {
  const { heartbeatIntervalMs, logger, tls } = settings
  return { address, heartbeatIntervalMs, logger, tls }
}

/** `ended` is aborted with `ClientClosedError` when the client ends. */
function endOf(connection: ClientConnection): {
  readonly ended: AbortSignal
  readonly stopListening: () => void
} {
  const end = new AbortController()
  const stopListening = connection.listen(({ type }) => {
    if (type === 'ended') end.abort(new ClientClosedError())
  })
  return { ended: end.signal, stopListening }
}

/** Throws if the client has ended already. `ask` fails with the reason of the signal. */
async function untilEnded<T>(
  connection: ClientConnection,
  ask: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  connection.checkOpen()
  const { ended, stopListening } = endOf(connection)
  try {
    return await ask(ended)
  } finally {
    stopListening()
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
  requireNode()
  const { profiling, output } = setup.settings
  ownCopies()
  letClientsTravel<Client>(Client)
  return new ClientView(new ClientSession(setup), defaultTaskSettings(profiling, output))
}

// The client inside tasks: one per process and serializer, for all tasks that run there.

/**
 * Inside a task: a client of the scheduler that sent the task, with the serializer of the task's
 * client. Tasks that it submits are children of the current task. It need not be closed, and does
 * not keep the process alive; if it was closed, this returns a new one. Throws `TaskNotFoundError`
 * outside tasks.
 */
export function currentClient(): Client {
  return clientOfTask<Client>(Client)
}

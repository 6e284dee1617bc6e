// A client as a value: inside a task it becomes the client of that task, with the options of the
// view that was passed. Everything else about a client stays where it is. Nothing here depends on
// the class: it travels along with each client.

import { NO_BYTES } from '../base/bytes.js'
import { DeserializeError, SerializeError, TaskNotFoundError } from '../base/errors.js'
import { silentLogger } from '../base/logger.js'
import { type TaskScope, taskScopes } from '../runtime/task-scope.js'
import type { AnyClass } from '../serializer/class/codecs.js'
import { registerClass, type Serializer } from '../serializer/serializer.js'
import { codecOf, serializerContent, type TaskCodec } from '../serializer/task-codec.js'
import type { ConnectionSetup } from './connection.js'
import { Future } from './future/future.js'
import { GraphFuture } from './graph/run.js'
import { MapFuture } from './map/future.js'
import { checkClientOptions } from './options.js'
import { ObjectReference } from './submit/objects.js'
import type { TaskSettings } from './submit/task-options.js'

// The serializer of a client: its use here, and the form in which workers receive it. Made once,
// with the client: the workers get the serializer as it is at that moment.

/** The two forms of a client's serializer. */
export interface ClientSerializer {
  readonly codec: TaskCodec
  /** The content of the serializer object. */
  readonly content: Uint8Array
  /** Throws `SerializeError` if the serializer cannot travel: then no task can be submitted. */
  readonly check: () => void
}

/** Serializes the serializer. Does not throw: each submit reports its errors. */
export function clientSerializer(serializer: Serializer): ClientSerializer {
  const codec = codecOf(serializer)
  try {
    return { codec, content: serializerContent(serializer), check: () => {} }
  } catch (error) {
    return { codec, content: NO_BYTES, check: () => refuse(error) }
  }
}

/** Each future gets an error of its own. */
function refuse(error: unknown): never {
  if (!(error instanceof SerializeError)) throw error
  throw new SerializeError(error.message, { path: error.path, cause: error.cause })
}

/** The operations of a class of clients. */
interface ClientClass<C> {
  readonly prototype: C
  inside(setup: ConnectionSetup): C
  isClient(value: unknown): value is C
  isClosed(client: C): boolean
  settingsOf(client: C): TaskSettings
  viewWith(client: C, settings: TaskSettings): C
}

/** The parts of a client that travel: its class, by name, and options without local signals. */
interface TravellingClient {
  readonly class: ClientClass<unknown>
  readonly settings: Omit<TaskSettings, 'signals'>
}

/**
 * The client of this process for the running task; created on first use, and again after it was
 * closed. Throws `TaskNotFoundError` outside tasks.
 */
export function clientOfTask<C>(clientClass: ClientClass<C>): C {
  const scope = taskScopes.current
  if (scope === undefined) throw new TaskNotFoundError('currentClient: this code is not in a task')
  const { host, serializer } = scope
  const known = host.clients.get(serializer)
  if (clientClass.isClient(known) && !clientClass.isClosed(known)) return known
  const client = newClient(clientClass, scope)
  host.clients.set(serializer, client)
  return client
}

/** Teaches the default serializer how clients travel. May be called again. */
export function letClientsTravel<C>(clientClass: ClientClass<C> & AnyClass<C>): void {
  registerClass(clientClass, { serialize: clientToValue, deserialize: clientFromValue<C> })
  refuseClass(
    Future,
    'a future',
    'pass it as an argument of its own, or await it and pass the result',
  )
  refuseClass(MapFuture, 'the result of map', 'await it and pass the resulting array')
  const ofGraph = 'pass one of its futures as an argument, or await it and pass the result'
  refuseClass(GraphFuture, 'the result of get', ofGraph)
  refuseClass(ObjectReference, 'an object reference', 'pass it as an argument of its own')
}

/** The parts of a client that travel. Exported because it travels itself: by its name. */
export function clientToValue(client: unknown): TravellingClient {
  const clientClass = (client as { constructor: ClientClass<unknown> }).constructor
  const { signals: _, ...settings } = clientClass.settingsOf(client)
  return { class: clientClass, settings }
}

/** The client of the task where it arrives, by name. Throws `DeserializeError` outside tasks. */
export function clientFromValue<C>(value: unknown): C {
  if (taskScopes.current === undefined) {
    throw new DeserializeError('a Client can only be received inside a running task')
  }
  const { class: clientClass, settings } = value as TravellingClient
  const client = clientOfTask(clientClass)
  return clientClass.viewWith(client, { ...settings, signals: [] }) as C
}

function newClient<C>(clientClass: ClientClass<C>, { host, serializer }: TaskScope): C {
  const { address, worker } = host
  const settings = checkClientOptions({ serializer, logger: silentLogger })
  return clientClass.inside({ address, settings, worker })
}

function refuseClass<T>(constructor: AnyClass<T>, what: string, wayOut: string): void {
  const fail = (): never => {
    throw new SerializeError(`${what} cannot be part of a value; ${wayOut}`)
  }
  registerClass(constructor, { serialize: fail, deserialize: fail })
}

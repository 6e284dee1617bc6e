// A client as a value: inside of a task it becomes the client that the task has there anyway, with
// the options of the view that was given. What else is about a client stays where it is. Nothing
// here knows the class: it comes along, where there is a client.

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

// The serializer of a client: how it is used here, and what the workers get to know of it. Made
// once, with the client: the workers get the serializer as it is at that moment.

/** What a client needs to know of its serializer. */
export interface ClientSerializer {
  readonly codec: TaskCodec
  /** The content of the serializer object. */
  readonly content: Uint8Array
  /** Throws `SerializeError` if the serializer cannot travel: then no task can be submitted. */
  readonly check: () => void
}

/** Serializes the serializer. Does not throw: what is wrong with it is told to each submit. */
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

/** What a class of clients can do. */
interface ClientClass<C> {
  readonly prototype: C
  inside(setup: ConnectionSetup): C
  isClient(value: unknown): value is C
  isClosed(client: C): boolean
  settingsOf(client: C): TaskSettings
  viewWith(client: C, settings: TaskSettings): C
}

/** What of a client travels: its class, by name, and options without the signals that are here. */
interface TravellingClient {
  readonly class: ClientClass<unknown>
  readonly settings: Omit<TaskSettings, 'signals'>
}

/**
 * The client of this process for the task that runs; made when it is first asked for, and anew once
 * it was closed. Throws `TaskNotFoundError` outside of tasks.
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

/** Has the default serializer take clients for what they are. May be called again. */
export function letClientsTravel<C>(clientClass: ClientClass<C> & AnyClass<C>): void {
  registerClass(clientClass, { serialize: clientToValue, deserialize: clientFromValue<C> })
  refuseClass(
    Future,
    'a future',
    'pass it as an argument itself, or await it and pass what it gives',
  )
  refuseClass(MapFuture, 'what map returns', 'await it and pass the array that it gives')
  const ofGraph = 'pass one of its futures as an argument, or await it and pass what it gives'
  refuseClass(GraphFuture, 'what get returns', ofGraph)
  refuseClass(ObjectReference, 'an object reference', 'pass it as an argument itself')
}

/** What of a client travels. Exported, for it travels itself: by its name. */
export function clientToValue(client: unknown): TravellingClient {
  const clientClass = (client as { constructor: ClientClass<unknown> }).constructor
  const { signals: _, ...settings } = clientClass.settingsOf(client)
  return { class: clientClass, settings }
}

/** The client that it is where it arrives, by name. Throws `DeserializeError` outside of tasks. */
export function clientFromValue<C>(value: unknown): C {
  if (taskScopes.current === undefined) {
    throw new DeserializeError('a client came here, but only in a task it has a meaning')
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

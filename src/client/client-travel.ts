// A client as a value: inside of a task it becomes the client that the task has there anyway, with
// the options of the view that was given. What else is about a client stays where it is. Nothing
// here knows the class: it comes along, where there is a client.

import { DeserializeError, SerializeError, TaskNotFoundError } from '../base/errors.js'
import { silentLogger } from '../base/logger.js'
import { taskScopes, type TaskScope } from '../runtime/task-scope.js'
import type { AnyClass } from '../serializer/class/class-codecs.js'
import { registerClass } from '../serializer/process-serializer.js'
import type { ConnectionSetup } from './client-connection.js'
import { checkClientOptions } from './client-options.js'
import { Future } from './future.js'
import { GraphFuture } from './graph/graph-future.js'
import { MapFuture } from './map-future.js'
import { ObjectReference } from './object-reference.js'
import type { TaskSettings } from './task-options.js'

/** What a class of clients can do. */
export interface ClientClass<C> {
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
  if (scope === undefined) throw new TaskNotFoundError('currentClient: this code runs in no task')
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
  refuse(Future, 'a future', 'pass it as an argument itself, or await it and pass what it gives')
  refuse(MapFuture, 'what map returns', 'await it and pass the array that it gives')
  const ofGraph = 'pass one of its futures as an argument, or await it and pass what it gives'
  refuse(GraphFuture, 'what get returns', ofGraph)
  refuse(ObjectReference, 'an object reference', 'pass it as an argument itself')
}

/** What of a client travels. */
export function clientToValue(client: unknown): TravellingClient {
  const clientClass = (client as { constructor: ClientClass<unknown> }).constructor
  const { signals: _, ...settings } = clientClass.settingsOf(client)
  return { class: clientClass, settings }
}

/** The client that it is where it arrives. Throws `DeserializeError` outside of tasks. */
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

function refuse<T>(constructor: AnyClass<T>, what: string, wayOut: string): void {
  const fail = (): never => {
    throw new SerializeError(`${what} cannot be part of a value; ${wayOut}`)
  }
  registerClass(constructor, { serialize: fail, deserialize: fail })
}

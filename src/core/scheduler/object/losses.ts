// Content that is lost with an object storage server: only what needs it starts over. Clients send
// their objects again, and submit again what was dropped. docs/protocol.md#servers

import { FEATURE_LOSSES, hasFeature } from '../../../base/features.js'
import { bytesToLatin1, latin1ToBytes } from '../../../base/bytes.js'
import { type Identity, objectId, type ObjectId } from '../../../base/ids.js'
import {
  decode,
  type GraphTask,
  NO_LOSS,
  type ObjectLoss,
  type Task,
  type TaskResult,
} from '../../../wire/message.js'
import { isSerializerId } from '../../../wire/object-content.js'
import { countOf } from '../../../wire/run.js'
import { disconnect, removeClient } from '../client/peer.js'
import type { ClientEntry, Losses, ObjectEntry, TaskEntry } from '../entries.js'
import type { Graph } from '../graph/graph.js'
import type { SchedulerState } from '../state.js'
import { cancelTask, endTask, hasWornOut, statusResult, stopAt } from '../task/task.js'
import { spendRoom } from '../worker/waiting-limit.js'

/** Most results that a client gets at once, and bytes of those in messages. */
const MAX_SALVAGED = 5_000
const MAX_SALVAGED_BYTES = 16 * 1024 ** 2

/** More messages than this are not kept for a client that confirms none. */
const MAX_MESSAGES = 10_000

/** The content of these objects is lost. */
export function onContentLost(
  state: SchedulerState,
  lost: readonly ObjectEntry[],
  reason: string,
): void {
  if (lost.length === 0) return
  const users = [...usersOf(state, lost)].map(([client, entries]) => {
    return { client, entries, graphs: canContinue(client, entries) && graphsWith(client, entries) }
  })
  noteEarly(state, lost)
  state.objects.drop(lost.map(({ id }) => id))
  let dropped = 0
  for (const { client, entries, graphs } of users) {
    if (graphs === false) giveUp(state, client, reason)
    else dropped += dropUsers(state, client, { ids: entries.map(({ id }) => id), graphs })
  }
  const fields = { reason, objects: lost.length, clients: users.length, droppedTasks: dropped }
  const text = 'objects are lost; their clients will send them again, and tasks that need them'
  state.turn.log('warn', text, fields)
}

/** A result follows its object at once, if it was not handled together with it. */
const EARLY_MS = 60_000
const MAX_EARLY = 10_000

/** Some may be results that are not known yet: then their tasks run again (task/result.ts). */
function noteEarly({ lostEarly, turn }: SchedulerState, lost: readonly ObjectEntry[]): void {
  for (const { id, createdAt } of lost) if (createdAt > turn.now - EARLY_MS) lostEarly.add(id)
  for (const id of lostEarly) {
    if (lostEarly.size <= MAX_EARLY) return
    lostEarly.delete(id)
  }
}

/** A client has handled the first message: nothing that it sends from now on needs its objects. */
export function onLossConfirmed({ clients }: SchedulerState, from: Identity): void {
  const client = clients.get(from)
  const message = client?.losses?.messages.shift()
  if (client?.losses === undefined || message === undefined) return
  count(client.losses, message, -1)
  if (client.losses.messages.length === 0) client.losses = undefined
}

/** A client has connected again: it may have missed what was sent to it. */
export function tellLosses({ output }: SchedulerState, { identity, losses }: ClientEntry): void {
  for (const message of losses?.messages ?? []) output.send(identity, message)
}

/**
 * Whether a client sent this before it knew that objects are lost which it needs: then it is
 * dropped, and the client sends it again. A new graph may need any of them.
 */
export function dropsOutdated(
  state: SchedulerState,
  client: ClientEntry,
  message: Task | GraphTask,
): boolean {
  const { losses, graphs } = client
  if (losses === undefined) return false
  if (message.kind === 'task') {
    if (!uses(message, losses.objects)) return false
    spendRoom(state, client, countOf(message))
    return true
  }
  const { taskId } = message
  if (graphs.has(taskId)) return false
  if (losses.graphs.has(taskId)) return true
  if (losses.objects.size === 0) return false
  spendRoom(state, client)
  if (losses.messages.length >= MAX_MESSAGES) giveUp(state, client, 'it confirms no losses')
  else tell(state, client, { ...NO_LOSS, graphTaskIds: [taskId] })
  return true
}

/** The objects that each client, or one of its graphs, uses. */
function usersOf(
  { clients }: SchedulerState,
  lost: readonly ObjectEntry[],
): ReadonlyMap<ClientEntry, ObjectEntry[]> {
  const found = new Map<ClientEntry, ObjectEntry[]>()
  for (const entry of lost) {
    for (const { identity } of entry.users) {
      const client = clients.get(identity)
      if (client === undefined) continue
      const known = found.get(client)
      if (known === undefined) found.set(client, [entry])
      else if (known.at(-1) !== entry) known.push(entry)
    }
  }
  return found
}

/** Whether a client can make up for these objects alone while it stays connected. */
function canContinue(client: ClientEntry, entries: readonly ObjectEntry[]): boolean {
  if (!hasFeature(client.features, FEATURE_LOSSES)) return false
  return entries.every(({ names, users }) => {
    return names === undefined && [...users].every(({ identity }) => identity === client.identity)
  })
}

/** The graphs of a client that need these objects, as far as is known. */
function graphsWith(client: ClientEntry, entries: readonly ObjectEntry[]): readonly Graph[] {
  // The arguments of nodes that wait are not looked at.
  const isAny = entries.some(({ users }) => users.has(client))
  return [...client.graphs.values()].filter((graph) => {
    return !graph.isOver && (isAny || entries.some(({ users }) => graph.isAmong(users)))
  })
}

/** Drops what a client has submitted that needs lost objects. Returns the number of tasks. */
function dropUsers(
  state: SchedulerState,
  client: ClientEntry,
  { ids, graphs }: { readonly ids: readonly ObjectId[]; readonly graphs: readonly Graph[] },
): number {
  const lost = new Set(ids)
  const dropped = new Set(graphs)
  const worn: TaskResult[] = []
  let count = 0
  for (const task of state.tasks.values()) {
    if (task.client !== client || task.state === 'canceling') continue
    const isAffected = task.node === undefined ? needs(task, lost) : dropped.has(task.node.graph)
    if (!isAffected) continue
    count += task.count
    const result = dropTask(state, client, task)
    if (result !== undefined) worn.push(result)
  }
  const room = { results: MAX_SALVAGED, bytes: MAX_SALVAGED_BYTES }
  const salvaged = graphs.map((graph) => graph.drop(lost, room))
  tell(state, client, {
    kind: 'objectLoss',
    objectIds: ids,
    graphTaskIds: graphs.map(({ id }) => id),
    nodeTaskIds: salvaged.flatMap((salvage) => salvage.lost),
    results: [...worn, ...salvaged.flatMap((salvage) => salvage.results)],
  })
  return count
}

/** A task ends, and its client will submit it again, unless there is a result. */
function dropTask(
  state: SchedulerState,
  client: ClientEntry,
  task: TaskEntry,
): TaskResult | undefined {
  const { worker, id, count } = task
  let worn: TaskResult | undefined
  const holder = state.leases.take(id)
  if (holder !== undefined) stopAt(state, holder, id)
  if (worker === undefined) {
    state.pools[task.runtime].withdraw(task)
    state.lifecycle.next(id, task.state, 'cancelled')
  } else {
    // It may have begun: counts like the loss of the worker. Nodes are counted with their graph.
    const isWornOut = task.node === undefined && hasWornOut(task, worker)
    cancelTask(state, task, true)
    if (isWornOut) worn = statusResult(id, 'workerDied', count)
  }
  task.client = undefined
  client.taskCount -= count
  if (worker === undefined) endTask(state, task, statusResult(id, 'canceled', count))
  return worn
}

function tell(state: SchedulerState, client: ClientEntry, message: ObjectLoss): void {
  client.losses ??= { messages: [], objects: new Map(), graphs: new Map() }
  client.losses.messages.push(message)
  count(client.losses, message, 1)
  if (client.isConnected) state.output.send(client.identity, message)
}

function count({ objects, graphs }: Losses, message: ObjectLoss, by: 1 | -1): void {
  for (const id of message.objectIds) countOne(objects, id, by)
  for (const id of message.graphTaskIds) countOne(graphs, id, by)
}

function countOne<T>(counts: Map<T, number>, id: T, by: 1 | -1): void {
  const next = (counts.get(id) ?? 0) + by
  if (next > 0) counts.set(id, next)
  else counts.delete(id)
}

/** The ids of some objects. */
type Ids = Pick<ReadonlySet<ObjectId>, 'has'>

function needs({ part, encoded }: TaskEntry, lost: Ids): boolean {
  const message = part?.task ?? decode(latin1ToBytes(encoded))
  return message.kind === 'task' && uses(message, lost)
}

function uses({ funcObjectId, functionArgs }: Task, lost: Ids): boolean {
  if (lost.has(funcObjectId)) return true
  return functionArgs.some(({ type, data }) => {
    const isObject = type === 'objectID' || type === 'sharedObjectID'
    return isObject && lost.has(objectId(bytesToLatin1(data)))
  })
}

/** A client is removed, as if it had been silent for too long: it sends everything again. */
function giveUp(state: SchedulerState, client: ClientEntry, reason: string): void {
  forgetSerializer(state, client)
  removeClient(state, client, `is disconnected, because objects are lost: ${reason}`, true)
  disconnect(state, client.identity, reason)
}

/** A client that connects again finds out by its serializer whether its results are still there. */
function forgetSerializer({ objects }: SchedulerState, client: ClientEntry): void {
  for (const { id } of client.objects) {
    if (isSerializerId(id)) return objects.delete(client, [id])
  }
}

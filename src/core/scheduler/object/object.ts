// Requests to store, delete and deliver objects. docs/protocol.md#objects

import { NO_BYTES } from '../../../base/bytes.js'
import { hasFeature, FEATURE_INLINE, FEATURE_REFUSALS } from '../../../base/features.js'
import type { Identity, ObjectId } from '../../../base/ids.js'
import { isSerializerId } from '../../../wire/object-content.js'
import type { ObjectContent, ObjectInstruction } from '../../../wire/message.js'
import type { ClientEntry, ObjectEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { giveUpPlace } from './places.js'

/** Stores or deletes objects for a client, or for a worker on behalf of a client. */
export function onObjectInstruction(state: SchedulerState, message: ObjectInstruction): void {
  const user = state.clients.get(message.objectUser)
  if (user === undefined) {
    const fields = { client: message.objectUser, count: message.objectContent.objectIds.length }
    state.turn.log('debug', 'ignored objects of an unknown client', fields)
    if (message.instructionType === 'create') dropPlaces(state, message.objectContent)
    return
  }
  switch (message.instructionType) {
    case 'create':
      tellRefused(state, user, state.objects.create(user, message.objectContent))
      state.shared.onStored(message.objectContent.objectIds)
      break
    case 'delete':
      state.objects.delete(user, message.objectContent.objectIds)
      state.shared.onDeleted(user.identity, message.objectContent.objectIds)
      break
    case 'clear':
      state.blame('ignored an unsupported clear', { client: user.identity })
      break
  }
}

/** The owner may send what was not stored again, later. */
function tellRefused(
  state: SchedulerState,
  user: ClientEntry,
  refused: readonly ObjectEntry[],
): void {
  if (refused.length === 0 || !hasFeature(user.features, FEATURE_REFUSALS)) return
  respond(state, user.identity, contentOf(refused))
}

/** Removes the content of objects that are not stored. */
function dropPlaces({ turn }: SchedulerState, { objectTypes, objectBytes }: ObjectContent): void {
  for (const [index, type] of objectTypes.entries()) {
    giveUpPlace(turn, type, objectBytes[index] ?? [])
  }
}

/** Answers with the stored objects, in the form that the peer can read. */
export function answerRequest(
  state: SchedulerState,
  from: Identity,
  objectIds: readonly ObjectId[],
): void {
  const worker = state.workers.get(from)
  const features = (worker?.heartbeat ?? state.clients.get(from))?.features ?? 0
  const isOurs = hasFeature(features, FEATURE_INLINE)
  const readsRefusals = hasFeature(features, FEATURE_REFUSALS)
  const found: ObjectEntry[] = []
  const missing: ObjectId[] = []
  // A 1.9.9 peer expects its list unchanged, with duplicates; ours gets each object once.
  for (const id of isOurs ? new Set(objectIds) : objectIds) {
    const entry = state.objects.get(id)
    if (entry === undefined && isOurs && state.shared.awaits(from, id)) continue
    if (entry === undefined || (entry.type === 'refused' && !readsRefusals)) {
      missing.push(id)
      continue
    }
    found.push(entry)
    state.objects.touch(entry)
    if (worker !== undefined) state.objects.hold(worker, entry)
  }
  if (isOurs) answerOurs(state, from, found, missing)
  else if (worker === undefined) respond(state, from, { ...contentOf(found), objectIds })
  else respond(state, from, paddedContent(state, objectIds))
}

/** A worker has got objects from another one of its agent: it caches them, too. */
export function noteObjects(
  state: SchedulerState,
  from: Identity,
  objectIds: readonly ObjectId[],
): void {
  const worker = state.workers.get(from)
  if (worker === undefined) return
  const removed: ObjectId[] = []
  for (const id of objectIds) {
    const entry = state.objects.get(id)
    if (entry === undefined) removed.push(id)
    else {
      state.objects.touch(entry)
      state.objects.hold(worker, entry)
    }
  }
  if (removed.length > 0) sendDeletion(state, from, removed)
}

/** Notifies workers of deleted objects. */
export function sendRemovals(state: SchedulerState): void {
  for (const [worker, ids] of state.objects.takeRemovals())
    sendDeletion(state, worker.identity, ids)
}

function sendDeletion(
  state: SchedulerState,
  worker: Identity,
  objectIds: readonly ObjectId[],
): void {
  state.output.send(worker, {
    kind: 'objectInstruction',
    instructionType: 'delete',
    objectUser: worker,
    objectContent: { ...NO_CONTENT, objectIds },
  })
}

/**
 * Maximum content of a response to a peer of ours, in bytes; one object may be longer. What is in
 * files may have to be read before it is sent.
 */
const MAX_RESPONSE_BYTES = 16 * 1024 ** 2

const NO_CONTENT: ObjectContent = {
  objectIds: [],
  objectTypes: [],
  objectNames: [],
  objectBytes: [],
}

function answerOurs(
  state: SchedulerState,
  to: Identity,
  found: readonly ObjectEntry[],
  missing: readonly ObjectId[],
): void {
  for (const part of inParts(found)) respond(state, to, contentOf(part))
  if (missing.length === 0) return
  state.output.send(to, {
    kind: 'objectResponse',
    responseType: 'objectNotExist',
    objectContent: { ...NO_CONTENT, objectIds: missing },
  })
}

/** Splits a response: messages are limited to 4 GiB. */
function* inParts(entries: readonly ObjectEntry[]): Generator<readonly ObjectEntry[]> {
  let part: ObjectEntry[] = []
  let partBytes = 0
  for (const entry of entries) {
    const entryBytes = entry.bytes
    if (part.length > 0 && partBytes + entryBytes > MAX_RESPONSE_BYTES) {
      yield part
      part = []
      partBytes = 0
    }
    part.push(entry)
    partBytes += entryBytes
  }
  if (part.length > 0) yield part
}

function respond(state: SchedulerState, to: Identity, objectContent: ObjectContent): void {
  state.output.send(to, { kind: 'objectResponse', responseType: 'content', objectContent })
}

function contentOf(entries: readonly ObjectEntry[]): ObjectContent {
  return {
    objectIds: entries.map((entry) => entry.id),
    objectTypes: entries.map((entry) => entry.type),
    objectNames: entries.map((entry) => entry.name),
    objectBytes: entries.map((entry) => entry.chunks),
  }
}

/**
 * For a 1.9.9 worker, which pairs ids and contents by position: a missing object gets empty
 * content, which fails only its task. From a missing serializer on there is no content: whatever
 * took its place would crash the processor.
 */
function paddedContent(state: SchedulerState, ids: readonly ObjectId[]): ObjectContent {
  const find = (id: ObjectId): ObjectEntry | undefined => {
    const entry = state.objects.get(id)
    return entry?.type === 'refused' ? undefined : entry
  }
  const end = ids.findIndex((id) => find(id) === undefined && isSerializerId(id))
  const listed = end < 0 ? ids : ids.slice(0, end)
  return {
    objectIds: ids,
    objectTypes: listed.map((id) => find(id)?.type ?? 'object'),
    objectNames: listed.map((id) => find(id)?.name ?? NO_BYTES),
    objectBytes: listed.map((id) => find(id)?.chunks ?? []),
  }
}

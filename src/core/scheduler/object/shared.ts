// Objects that clients find by a name. A client that has found one is among its users. After a
// restart, it may be back before the client that has the content: requests for such an object wait
// for it. docs/protocol.md#shared

import { assert } from '../../../base/assert.js'
import { FEATURE_SHARED, hasFeature } from '../../../base/features.js'
import { objectId, type Identity, type ObjectId } from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { SharedObject } from '../../../wire/message.js'
import type { ClientEntry, ObjectEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { answerRequest } from './object.js'

/** How long requests wait for an object that a client holds and that is not stored. */
const PATIENCE_MS = 60_000
/** At most this many objects that are not stored may one client hold. */
const MAX_EXPECTED = 10_000
/** Longer names are refused, and names that would exceed this total number of characters. */
const [MAX_NAME_LENGTH, MAX_NAMES_LENGTH] = [1_000, 2 ** 24]
/** At most this many names are remembered that were taken from their objects. */
const MAX_WITHDRAWN = 10_000
const NO_OBJECT = objectId('')

/** An object that clients hold and that is not stored (yet). */
interface ExpectedObject {
  /** Requests wait for it as long. */
  readonly until: InstantMs
  /** The clients that will be its users. */
  readonly clients: Set<Identity>
  /** The peers whose requests wait for it. */
  readonly requesters: Set<Identity>
}

/** The names of objects, and the objects that are waited for. */
export class SharedObjects {
  readonly #state: SchedulerState
  /** The oldest first. Invariant: each has clients. */
  readonly #expected = new Map<ObjectId, ExpectedObject>()
  /** The same by client. Invariant: no empty sets. */
  readonly #holds = new Map<Identity, Set<ObjectId>>()
  /** Names, and the objects that have lost them and must not restore them. The oldest first. */
  readonly #withdrawn = new Map<string, ObjectId>()
  readonly #expiry: Alarm

  constructor(state: SchedulerState) {
    this.#state = state
    this.#expiry = state.turn.alarm(() => this.#giveUp())
  }

  onMessage(client: ClientEntry, { type, name, objectId: id }: SharedObject): void {
    const { objects } = this.#state
    switch (type) {
      case 'publish':
      case 'restore':
        return this.#publish(client, name, id, type === 'restore')
      case 'hold':
        return this.#hold(client, id)
      case 'replicate':
        return this.#replicate(client, id)
      case 'confirm':
      case 'claim':
        return this.#confirm(client, id, type === 'claim')
      case 'find': {
        const entry = objects.named(name)
        if (entry === undefined) return this.#answer(client, 'missing', name)
        objects.use(client, entry)
        return this.#answer(client, 'found', name, entry.id, entry.bytes)
      }
      case 'remove': {
        const entry = objects.named(name)
        if (entry !== undefined) this.#withdraw(entry, name)
        return this.#answer(client, entry === undefined ? 'missing' : 'removed', name)
      }
      default:
        this.#state.blame('ignored a message that no peer should send', {
          peer: client.identity,
          kind: `sharedObject ${type}`,
        })
    }
  }

  /** A new worker fetches what all workers are to have. */
  onWorker(worker: WorkerEntry): void {
    for (const { id } of this.#state.objects.replicated) this.#tellWorker(worker, id)
  }

  /**
   * An object that is not stored was requested. True: it may still come, and is sent when it does.
   */
  awaits(requester: Identity, id: ObjectId): boolean {
    const expected = this.#expected.get(id)
    if (expected === undefined || expected.until <= this.#state.turn.now) return false
    expected.requesters.add(requester)
    return true
  }

  /** These objects may have been stored. */
  onStored(ids: readonly ObjectId[]): void {
    if (this.#expected.size === 0) return
    const { objects, clients } = this.#state
    for (const id of ids) {
      const expected = this.#expected.get(id)
      const entry = objects.get(id)
      if (expected === undefined || entry === undefined) continue
      for (const identity of expected.clients) {
        const client = clients.get(identity)
        if (client !== undefined) objects.use(client, entry)
        this.#letGo(identity, id)
      }
    }
  }

  /** A client does not need these objects any more. */
  onDeleted(client: Identity, ids: Iterable<ObjectId>): void {
    const held = this.#holds.get(client)
    if (held === undefined) return
    for (const id of ids) if (held.has(id)) this.#letGo(client, id)
  }

  /** A client has left. */
  onClientLeft(client: Identity): void {
    this.onDeleted(client, [...(this.#holds.get(client) ?? [])])
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    let count = 0
    for (const [client, ids] of this.#holds) {
      assert(ids.size > 0, 'a client that holds nothing is listed')
      assert(this.#state.clients.has(client), 'a client that has left holds objects')
      for (const id of ids) {
        assert(this.#expected.get(id)?.clients.has(client) === true, 'an object is not expected')
        assert(this.#state.objects.get(id) === undefined, 'a stored object is expected')
      }
      count += ids.size
    }
    for (const { clients } of this.#expected.values()) count -= clients.size
    assert(count === 0, 'an object is expected that no client holds')
  }

  #publish(client: ClientEntry, name: string, id: ObjectId, isAgain: boolean): void {
    const { objects, turn } = this.#state
    const entry = objects.get(id)
    const isStored = entry !== undefined && entry.type !== 'refused' && entry.users.has(client)
    const isName = name !== '' && name.length <= MAX_NAME_LENGTH
    const hasRoom = objects.namesLength + name.length <= MAX_NAMES_LENGTH
    if (!isStored || !isName || !hasRoom) {
      const fields = { client: client.identity, name: name.slice(0, 100), isStored, hasRoom }
      turn.log('debug', 'an object gets no name', fields)
      return this.#answer(client, 'unstored', name, id)
    }
    const other = objects.named(name)
    const isOutdated = other === undefined ? this.#withdrawn.get(name) === id : other !== entry
    if (isAgain && isOutdated) return this.#answer(client, 'withdrawn', name, id)
    if (other !== entry) {
      if (other !== undefined) this.#withdraw(other, name)
      objects.giveName(entry, name)
    }
    this.#answer(client, 'published', name, id)
  }

  /** This is an object storage server. docs/protocol.md#servers */
  #confirm(client: ClientEntry, id: ObjectId, isClaim: boolean): void {
    const { objects } = this.#state
    const entry = objects.get(id)
    const isStored = entry !== undefined && entry.type !== 'refused'
    if (isClaim && entry !== undefined) {
      const before = [...entry.users]
      objects.use(client, entry)
      for (const user of before) if (user !== client) objects.delete(user, [id])
    }
    if (!isClaim || !isStored) this.#answer(client, isStored ? 'published' : 'unstored', '', id)
  }

  #replicate(client: ClientEntry, id: ObjectId): void {
    const { objects, workers } = this.#state
    const entry = objects.get(id)
    if (entry === undefined || entry.type === 'refused' || !entry.users.has(client)) return
    objects.replicate(entry)
    for (const worker of workers.values()) this.#tellWorker(worker, id)
  }

  #tellWorker({ identity, runtime, heartbeat }: WorkerEntry, id: ObjectId): void {
    if (runtime !== 'javascript' || !hasFeature(heartbeat.features, FEATURE_SHARED)) return
    const message = { type: 'replicate', name: '', objectId: id, sizeBytes: 0 } as const
    this.#state.output.send(identity, { kind: 'sharedObject', ...message })
  }

  /** The name does not stand for this object any more, which its users learn. */
  #withdraw(entry: ObjectEntry, name: string): void {
    const users = new Set([...entry.users].map(({ identity }) => identity))
    const { id } = entry
    this.#state.objects.takeName(entry, name)
    this.#withdrawn.delete(name)
    this.#withdrawn.set(name, id)
    const [oldest = ''] = this.#withdrawn.keys()
    if (this.#withdrawn.size > MAX_WITHDRAWN) this.#withdrawn.delete(oldest)
    for (const identity of users) {
      const client = this.#state.clients.get(identity)
      if (client !== undefined) this.#answer(client, 'withdrawn', name, id)
    }
  }

  #hold(client: ClientEntry, id: ObjectId): void {
    const { objects, turn } = this.#state
    const entry = objects.get(id)
    if (entry !== undefined) return objects.use(client, entry)
    const held = this.#holds.get(client.identity) ?? new Set<ObjectId>()
    if (held.size >= MAX_EXPECTED) return
    this.#holds.set(client.identity, held.add(id))
    let expected = this.#expected.get(id)
    if (expected === undefined) {
      const until = turn.now + PATIENCE_MS
      expected = { until, clients: new Set(), requesters: new Set() }
      this.#expected.set(id, expected)
      this.#expiry.setBy(until)
    }
    expected.clients.add(client.identity)
  }

  /** A client does not hold this object, or is a user of it. */
  #letGo(client: Identity, id: ObjectId): void {
    const held = this.#holds.get(client)
    held?.delete(id)
    if (held?.size === 0) this.#holds.delete(client)
    const expected = this.#expected.get(id)
    expected?.clients.delete(client)
    if (expected === undefined || expected.clients.size > 0) return
    this.#expected.delete(id)
    this.#answerAll(id, expected)
  }

  #answerAll(id: ObjectId, { requesters }: ExpectedObject): void {
    const peers = [...requesters]
    requesters.clear()
    for (const peer of peers) answerRequest(this.#state, peer, [id])
  }

  /** Some objects have not come: requests do not wait any longer. */
  #giveUp(): void {
    const { turn } = this.#state
    for (const [id, expected] of this.#expected) {
      if (expected.until > turn.now) return this.#expiry.set(expected.until)
      this.#answerAll(id, expected)
    }
  }

  #answer(
    client: ClientEntry,
    type: SharedObject['type'],
    ...[name, id = NO_OBJECT, sizeBytes = 0]: [name: string, id?: ObjectId, sizeBytes?: number]
  ): void {
    if (!hasFeature(client.features, FEATURE_SHARED)) return
    const kind = 'sharedObject'
    this.#state.output.send(client.identity, { kind, type, name, objectId: id, sizeBytes })
  }
}

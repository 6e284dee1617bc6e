// Objects that clients find by a name. A client that has found one is among its users. After a
// restart, it may be back before the client that has the content: requests for such an object wait
// for it. docs/protocol.md#shared

import { FEATURE_SHARED, hasFeature } from '../../../base/features.js'
import { objectId, type Identity, type ObjectId } from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { SharedObject } from '../../../wire/message.js'
import type { ClientEntry, ObjectEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { answerRequest } from './object.js'

/** How long to wait for an object that a client holds and that is not stored. */
const PATIENCE_MS = 60_000
/** At most this many objects are waited for. */
const MAX_EXPECTED = 100_000
/** Longer names are refused. */
const MAX_NAME_LENGTH = 1_000
const NO_OBJECT = objectId('')

/** An object that clients hold and that is not stored (yet). */
interface ExpectedObject {
  readonly until: InstantMs
  /** The clients that will be its users. */
  readonly clients: Set<Identity>
  /** The peers whose requests wait for it. */
  readonly requesters: Set<Identity>
}

/** The names of objects, and the objects that are waited for. */
export class SharedObjects {
  readonly #state: SchedulerState
  /** The oldest first. */
  readonly #expected = new Map<ObjectId, ExpectedObject>()
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
        return this.#publish(client, { type, name, id })
      case 'hold':
        return this.#hold(client, id)
      case 'find': {
        const entry = objects.named(name)
        if (entry === undefined) return this.#answer(client, 'missing', name)
        objects.use(client, entry)
        return this.#answer(client, 'found', name, entry)
      }
      case 'remove': {
        const entry = objects.named(name)
        if (entry !== undefined) this.#withdraw(entry, name)
        return this.#answer(client, entry === undefined ? 'missing' : 'removed', name)
      }
      default:
        this.#state.turn.log('warn', 'ignored a message that no peer should send', {
          peer: client.identity,
          kind: `sharedObject ${type}`,
        })
    }
  }

  /**
   * An object that is not stored was requested. True: it may still come, and is sent when it does.
   */
  awaits(requester: Identity, id: ObjectId): boolean {
    const expected = this.#expected.get(id)
    expected?.requesters.add(requester)
    return expected !== undefined
  }

  /** These objects may have been stored. */
  onStored(ids: readonly ObjectId[]): void {
    if (this.#expected.size === 0) return
    const { objects, clients } = this.#state
    for (const id of ids) {
      const expected = this.#expected.get(id)
      const entry = objects.get(id)
      if (expected === undefined || entry === undefined) continue
      this.#expected.delete(id)
      for (const identity of expected.clients) {
        const client = clients.get(identity)
        if (client !== undefined) objects.use(client, entry)
      }
      for (const requester of expected.requesters) answerRequest(this.#state, requester, [id])
    }
  }

  #publish(
    client: ClientEntry,
    { type, name, id }: { readonly type: string; readonly name: string; readonly id: ObjectId },
  ): void {
    const { objects, turn } = this.#state
    const entry = objects.get(id)
    const isStored = entry !== undefined && entry.type !== 'refused' && entry.users.has(client)
    if (!isStored || name === '' || name.length > MAX_NAME_LENGTH) {
      turn.log('debug', 'ignored the name of an object', {
        client: client.identity,
        stored: isStored,
      })
      return
    }
    const other = objects.named(name)
    if (other === entry) return
    if (other !== undefined) {
      if (type === 'restore') return this.#answer(client, 'withdrawn', name, entry)
      this.#withdraw(other, name)
    }
    objects.giveName(entry, name)
  }

  /** The name does not stand for this object any more, which its users learn. */
  #withdraw(entry: ObjectEntry, name: string): void {
    const users = new Set([...entry.users].map(({ identity }) => identity))
    this.#state.objects.takeName(entry, name)
    for (const identity of users) {
      const client = this.#state.clients.get(identity)
      if (client !== undefined) this.#answer(client, 'withdrawn', name, entry)
    }
  }

  #hold(client: ClientEntry, id: ObjectId): void {
    const { objects, turn } = this.#state
    const entry = objects.get(id)
    if (entry !== undefined) return objects.use(client, entry)
    let expected = this.#expected.get(id)
    if (expected === undefined) {
      if (this.#expected.size >= MAX_EXPECTED) return
      const until = turn.now + PATIENCE_MS
      expected = { until, clients: new Set(), requesters: new Set() }
      this.#expected.set(id, expected)
      this.#expiry.setBy(until)
    }
    expected.clients.add(client.identity)
  }

  /** Some objects have not come: those who asked for them learn it. */
  #giveUp(): void {
    const { turn } = this.#state
    for (const [id, { until, requesters }] of this.#expected) {
      if (until > turn.now) return this.#expiry.set(until)
      this.#expected.delete(id)
      for (const requester of requesters) answerRequest(this.#state, requester, [id])
    }
  }

  #answer(
    client: ClientEntry,
    type: SharedObject['type'],
    name: string,
    entry?: ObjectEntry,
  ): void {
    if (!hasFeature(client.features, FEATURE_SHARED)) return
    const { id = NO_OBJECT, bytes: sizeBytes = 0 } = entry ?? {}
    const kind = 'sharedObject'
    this.#state.output.send(client.identity, { kind, type, name, objectId: id, sizeBytes })
  }
}

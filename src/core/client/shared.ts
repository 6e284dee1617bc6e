// Objects that other clients find by a name: what is asked of the scheduler, which answers in
// order, and what it must know on a new connection. docs/protocol.md#shared

import { FEATURE_SHARED, hasFeature } from '../../base/features.js'
import type { SharedObject } from '../../wire/message.js'
import { argumentName } from '../../wire/object-content.js'
import {
  type ClientTurn,
  NOTHING_FOUND,
  send,
  type SharedAnswer,
  type SharedCall,
} from './events.js'
import type { ClientObject, ClientObjectTable } from './objects.js'

/** What one client asks about names, and tells about objects. */
export class SharedNames<Owner> {
  readonly #turn: ClientTurn<Owner>
  readonly #objects: ClientObjectTable
  /** Not answered, the oldest first. */
  readonly #calls: SharedCall[] = []
  /** How many of them were sent. */
  #sentCount = 0
  /** The features of the scheduler; undefined while there is none. */
  #features: number | undefined

  constructor(turn: ClientTurn<Owner>, objects: ClientObjectTable) {
    this.#turn = turn
    this.#objects = objects
  }

  /** Finds an object, or removes a name. Answered with `answerShared`. */
  ask(call: SharedCall): void {
    this.#calls.push(call)
    if (this.#features !== undefined && !this.#isSupported) this.#endAll('unsupported')
  }

  /** Whether any call has not been sent. */
  get hasUnsent(): boolean {
    return this.#isSupported && this.#sentCount < this.#calls.length
  }

  /** Sends calls. Only after the objects that were sent before: they may be about these. */
  flush(): void {
    for (const { type, name } of this.#calls.slice(this.#sentCount)) this.#tell(type, name)
    this.#sentCount = this.#calls.length
  }

  /** These objects are stored now: other clients can find them, and workers fetch them. */
  publish(objects: Iterable<ClientObject>): void {
    if (!this.#isSupported) return this.#giveUpNames()
    for (const object of objects) {
      for (const [name, isNew] of this.#objects.names.take(object)) {
        this.#tell(isNew ? 'publish' : 'restore', name, object.value.id)
      }
      if (this.#objects.replicated.has(object)) this.#tell('replicate', '', object.value.id)
    }
  }

  /**
   * Whether an answer is outstanding. Until it is here, the scheduler must not learn that an object
   * is not needed: it may be the one that is found.
   */
  get isWaiting(): boolean {
    return this.#sentCount > 0
  }

  /** A scheduler has answered on a new connection, and has got the serializer. */
  resume(features: number): void {
    this.#features = features
    this.#sentCount = 0
    if (!this.#isSupported) {
      this.#giveUpNames()
      return this.#endAll('unsupported')
    }
    for (const id of this.#objects.foreign) this.#tell('hold', '', id)
  }

  onDisconnected(): void {
    this.#features = undefined
    this.#sentCount = 0
  }

  /** There will be no more answers. */
  close(): void {
    this.#endAll('closed')
  }

  onMessage({ type, name, objectId: id, sizeBytes }: SharedObject): void {
    if (type === 'withdrawn') return this.#objects.names.onWithdrawn(name, id)
    if (type === 'published' || type === 'unstored') {
      return this.#objects.names.onPublished(name, id, type === 'published')
    }
    const [call] = this.#calls
    const isAnswer = type === 'missing' || type === (call?.type === 'find' ? 'found' : 'removed')
    if (call === undefined || this.#sentCount === 0 || call.name !== name || !isAnswer) {
      this.#turn.log('warn', 'ignored an answer that does not fit', {
        kind: `sharedObject ${type}`,
      })
      return
    }
    this.#calls.shift()
    this.#sentCount -= 1
    const { ticket } = call
    // The user asks for the value that was sent last.
    if (call.type === 'find' && this.#objects.names.isNew(name)) {
      if (type === 'found') this.#objects.leave(id)
      return this.#answer(ticket, { ...NOTHING_FOUND, outcome: 'unstored' })
    }
    const isForeign = type === 'found' && this.#objects.pinForeign(id, argumentName(name, id))
    this.#answer(ticket, { outcome: type, id, sizeBytes, isForeign })
  }

  get #isSupported(): boolean {
    return this.#features !== undefined && hasFeature(this.#features, FEATURE_SHARED)
  }

  #tell(type: SharedObject['type'], name: string, id = NOTHING_FOUND.id): void {
    send(this.#turn, { kind: 'sharedObject', type, name, objectId: id, sizeBytes: 0 })
  }

  #endAll(outcome: SharedAnswer['outcome']): void {
    for (const { ticket } of this.#calls.splice(0)) {
      this.#answer(ticket, { ...NOTHING_FOUND, outcome })
    }
  }

  #answer(ticket: number, answer: SharedAnswer): void {
    this.#turn.act({ type: 'answerShared', ticket, answer })
  }

  /** Objects need not stay for a scheduler that knows no names. */
  #giveUpNames(): void {
    if (this.#features !== undefined) this.#objects.names.giveUp()
  }
}

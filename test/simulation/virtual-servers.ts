// The object storage server of a simulated world. Peers store large content there before the
// scheduler learns of it, and fetch it from there: in this model, that happens at the scheduler,
// which neither keeps the content nor sends it. Like src/scheduler/storage-servers.ts, and
// src/runtime/storage/servers.ts of its peers.

import { totalBytes } from '#src/base/bytes.js'
import { objectId, type Identity, type ObjectId } from '#src/base/ids.js'
import type { SchedulerAction, SchedulerEvent } from '#src/core/scheduler/events.js'
import { HeldMessages, type MessageSubject, subjectOf } from '#src/runtime/storage/held.js'
import type { Message, ObjectInstruction, ObjectResponse, TaskResult } from '#src/wire/message.js'
import {
  isLargeObject,
  keepEach,
  storedChunk,
  type StoredContent,
  storedContentOf,
} from '#src/wire/object-content.js'
import type { Random } from './random.js'
import type { VirtualProcess } from './virtual-process.js'

/** How long it takes to fetch content, in milliseconds. */
const [MIN_MS, MAX_MS] = [0.05, 50]

/** After this time, the scheduler notices that a server is gone. */
const [MIN_LOSS_MS, MAX_LOSS_MS] = [0.05, 2_000]

/** What happens to content. */
interface ServerHandler {
  onEvent(event: SchedulerEvent): void
  send(to: Identity, response: ObjectResponse): void
  /** A message of a peer, as the scheduler gets it, after its content was stored. */
  receive(from: Identity, message: Message): void
  /** A result of a peer waits for content; or (not `isHeld`) the scheduler gets it. */
  onHeld(from: Identity, result: TaskResult, isHeld: boolean): void
}

/** What a peer has not sent yet. */
interface PeerQueue {
  readonly held: HeldMessages
  entries: { readonly message: Message; readonly subject: MessageSubject; isReady: boolean }[]
}

/** One server at a time. */
export class VirtualServers {
  readonly #process: VirtualProcess
  readonly #random: Random
  readonly #handler: ServerHandler
  readonly #minBytes: number
  #content = new Map<ObjectId, { readonly chunks: readonly Uint8Array[]; objectId: ObjectId }>()
  /** Where a peer has stored content before. */
  readonly #remembered = new Map<string, ObjectId>()
  readonly #queues = new Map<Identity, PeerQueue>()
  #count = 0
  #moves = 0
  #isDown = false

  /** Content of at least `minBytes` is there; Infinity: none. */
  constructor(
    process: VirtualProcess,
    random: Random,
    { minBytes, ...handler }: ServerHandler & { readonly minBytes: number },
  ) {
    this.#process = process
    this.#random = random
    this.#handler = handler
    this.#minBytes = minBytes
  }

  /** How much was not removed. */
  get contentCount(): number {
    return this.#content.size
  }

  /** A peer sends a message: it waits until its content is stored. */
  receive(from: Identity, message: Message): void {
    const isLarge = this.#isLarge(message)
    const known = this.#queues.get(from)
    if (!isLarge && known === undefined) return this.#handler.receive(from, message)
    const queue = known ?? { held: new HeldMessages(), entries: [] }
    const subject = subjectOf(message)
    if (!isLarge && !queue.held.holdsBack(subject)) return this.#handler.receive(from, message)
    const entry = { message, subject, isReady: !isLarge }
    this.#queues.set(from, queue)
    queue.held.add(subject)
    queue.entries.push(entry)
    if (message.kind === 'taskResult') this.#handler.onHeld(from, message, true)
    if (!isLarge) return
    this.#process.after(this.#random.spread(MIN_MS, MAX_MS), () => {
      entry.isReady = true
      this.#advance(from, queue)
    })
  }

  #advance(from: Identity, queue: PeerQueue): void {
    const before = new HeldMessages()
    const ready: Message[] = []
    queue.entries = queue.entries.filter(({ message, subject, isReady }) => {
      if (!isReady || before.holdsBack(subject)) {
        before.add(subject)
        return true
      }
      queue.held.remove(subject)
      ready.push(message)
      return false
    })
    for (const message of ready) {
      if (this.#queues.get(from) !== queue) return
      this.#handler.receive(from, this.#stored(from, message))
      if (message.kind === 'taskResult') this.#handler.onHeld(from, message, false)
    }
  }

  /** The connection of a peer has ended. */
  forget(peer: Identity): void {
    this.#queues.delete(peer)
  }

  #isLarge(message: Message): message is ObjectInstruction {
    if (message.kind !== 'objectInstruction' || message.instructionType !== 'create') return false
    if (this.#isDown || this.#minBytes === Infinity) return false
    const { objectContent } = message
    return objectContent.objectIds.some((_, at) => isLargeObject(objectContent, at, this.#minBytes))
  }

  /** The message as the scheduler gets it: large content is on the server. */
  #stored(from: Identity, message: Message): Message {
    if (!this.#isLarge(message)) return message
    const { objectContent } = message
    const types = [...objectContent.objectTypes]
    const objectBytes = objectContent.objectBytes.map((chunks, at) => {
      if (!isLargeObject(objectContent, at, this.#minBytes)) return chunks
      const byteLength = totalBytes(chunks)
      const key = `${from} ${objectContent.objectIds[at]}`
      const known = this.#remembered.get(key)
      types[at] = 'stored'
      if (known !== undefined && this.#content.has(known)) {
        return [storedChunk({ byteLength, address: this.#address, id: known })]
      }
      this.#count += 1
      const id = objectId(String(this.#count).padStart(24, '.'))
      this.#content.set(id, { chunks, objectId: objectContent.objectIds[at] as ObjectId })
      this.#remembered.set(key, id)
      return [storedChunk({ byteLength, address: this.#address, id })]
    })
    const stored = { ...objectContent, objectTypes: types, objectBytes }
    return { ...message, bytes: undefined, objectContent: stored }
  }

  /** Takes over the objects of a response that are on the server. Returns whether all are. */
  take(to: Identity, response: ObjectResponse): boolean {
    if (!response.objectContent.objectTypes.includes('stored')) return false
    this.#process.after(this.#random.spread(MIN_MS, MAX_MS), () => {
      const lost: StoredContent[] = []
      const { content, missing } = keepEach(response.objectContent, (type, chunks) => {
        const place = type === 'stored' ? storedContentOf(chunks) : undefined
        if (place === undefined) return { type, chunks }
        const found = this.#content.get(place.id)
        if (found === undefined) lost.push(place)
        return found && { type: 'object', chunks: found.chunks }
      })
      if (content.objectIds.length > 0) {
        this.#handler.send(to, { ...response, objectContent: content })
      }
      if (missing.length === 0) return
      for (const [at, place] of lost.entries()) {
        const id = missing[at] as ObjectId
        this.#handler.onEvent({ type: 'contentLost', objectId: id, content: place })
      }
      // The peer asks the scheduler, which may have other content since.
      this.#handler.onEvent({ type: 'responseOutdated', peer: to, objectIds: missing })
    })
    return true
  }

  remove({ content }: Extract<SchedulerAction, { readonly type: 'removeStored' }>): void {
    // What has moved has a copy under the same id.
    if (content.address === this.#address) this.#content.delete(content.id)
  }

  /** The server leaves: another one has what it had. */
  move(): void {
    if (this.#isDown) return
    const old = this.#address
    this.#moves += 1
    const address = this.#address
    for (const [id, { objectId: object }] of this.#content) {
      const from = { address: old, id, byteLength: 0 }
      this.#handler.onEvent({ type: 'contentMoved', objectId: object, from, address })
    }
  }

  get #address(): string {
    return `tcp://server:${this.#moves + 1}`
  }

  /** The server ends. Soon there is another one. */
  lose(): void {
    this.#content = new Map()
    if (this.#isDown) return
    this.#isDown = true
    this.#process.after(this.#random.spread(MIN_LOSS_MS, MAX_LOSS_MS), () => {
      this.#isDown = false
      this.#handler.onEvent({ type: 'serverLost', address: this.#address })
    })
  }
}

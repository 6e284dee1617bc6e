// The object storage server of a simulated world. Peers store large content there before the
// scheduler learns of it, and fetch it from there: in this model, that happens at the scheduler,
// which neither keeps the content nor sends it. Like src/scheduler/storage-servers.ts.

import { totalBytes } from '#src/base/bytes.js'
import { objectId, type Identity, type ObjectId } from '#src/base/ids.js'
import type { SchedulerAction, SchedulerEvent } from '#src/core/scheduler/events.js'
import { keepEach } from '#src/runtime/object-files.js'
import type { Message, ObjectResponse } from '#src/wire/message.js'
import { storedChunk, type StoredContent, storedContentOf } from '#src/wire/object-content.js'
import type { Random } from './random.js'
import type { VirtualProcess } from './virtual-process.js'

const ADDRESS = 'tcp://server:1'

/** How long it takes to fetch content, in milliseconds. */
const [MIN_MS, MAX_MS] = [0.05, 50]

/** After this time, the scheduler notices that a server is gone. */
const [MIN_LOSS_MS, MAX_LOSS_MS] = [0.05, 2_000]

/** What happens to content. */
interface ServerHandler {
  onEvent(event: SchedulerEvent): void
  send(to: Identity, response: ObjectResponse): void
}

/** One server at a time. */
export class VirtualServers {
  readonly #process: VirtualProcess
  readonly #random: Random
  readonly #handler: ServerHandler
  readonly #minBytes: number
  #content = new Map<ObjectId, readonly Uint8Array[]>()
  #count = 0
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

  /** The message as the scheduler gets it: large content is on the server. */
  stored(message: Message): Message {
    const isCreate = message.kind === 'objectInstruction' && message.instructionType === 'create'
    if (!isCreate || this.#isDown || this.#minBytes === Infinity) return message
    const types = [...message.objectContent.objectTypes]
    const objectBytes = message.objectContent.objectBytes.map((chunks, at) => {
      const byteLength = totalBytes(chunks)
      if (types[at] !== 'object' || byteLength < this.#minBytes) return chunks
      this.#count += 1
      const id = objectId(String(this.#count).padStart(24, '.'))
      this.#content.set(id, chunks)
      types[at] = 'stored'
      return [storedChunk({ byteLength, address: ADDRESS, id })]
    })
    const objectContent = { ...message.objectContent, objectTypes: types, objectBytes }
    return { ...message, bytes: undefined, objectContent }
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
        return found && { type: 'object', chunks: found }
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
    this.#content.delete(content.id)
  }

  /** The server ends. Soon there is another one. */
  lose(): void {
    this.#content = new Map()
    if (this.#isDown) return
    this.#isDown = true
    this.#process.after(this.#random.spread(MIN_LOSS_MS, MAX_LOSS_MS), () => {
      this.#isDown = false
      this.#handler.onEvent({ type: 'serverLost', address: ADDRESS })
    })
  }
}

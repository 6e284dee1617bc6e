// What the workers of one agent fetch from a scheduler on another machine. Each object is fetched
// once for all of them, and a large one is in a file that all their processors read. The scheduler
// learns who has it, and notifies all of them when it is removed. docs/protocol.md#notes

import { assert } from '../../base/assert.js'
import { asBuffer } from '../../base/bytes.js'
import { FEATURE_NOTES, hasFeature } from '../../base/features.js'
import type { ObjectId } from '../../base/ids.js'
import type {
  Message,
  ObjectContent,
  ObjectInstruction,
  ObjectRequest,
  ObjectResponse,
} from '../../wire/message.js'
import { isLargeObject, MIN_LARGE_BYTES, pickObjects } from '../../wire/object-content.js'

/** Where large content goes. */
export interface HostStore {
  /**
   * Writes content into a file. Calls `done` later, with the chunk that names it; undefined: there
   * is no room.
   */
  write(chunks: readonly Uint8Array[], done: (chunk: Uint8Array | undefined) => void): void
  /** Whether it has this file. */
  owns(chunk: Uint8Array): boolean
  /** Removes a file. */
  remove(chunk: Uint8Array): void
  /** Calls back after the current event, before any other. */
  soon(callback: () => void): void
}

/** One worker, between its connection and its machine. */
interface HostPort {
  /** Sends a message to the scheduler. */
  send(message: Message): void
  /** Has the machine handle a message, as if it had just come from the scheduler. */
  receive(message: Message): void
  /** Whether the scheduler is on this machine, where objects are in its own files. */
  readonly isNear: boolean
}

/** Content in a file. */
interface HostFile {
  readonly chunk: Uint8Array
  readonly name: Uint8Array
  /** Invariant: at least one, and each has it among its files. */
  readonly holders: Set<WorkerObjects>
}

/** An object that one worker has requested. */
interface Fetch {
  readonly by: WorkerObjects
  /** Others that need it. */
  readonly waiting: Set<WorkerObjects>
}

/** The objects of one agent. */
export class HostObjects {
  readonly store: HostStore
  readonly files: Map<ObjectId, HostFile> = new Map()
  readonly fetches: Map<ObjectId, Fetch> = new Map()
  readonly #workers = new Set<WorkerObjects>()
  readonly #minFileBytes: number

  /** Content of at least `minFileBytes` goes into files. */
  constructor(store: HostStore, minFileBytes: number = MIN_LARGE_BYTES) {
    this.store = store
    this.#minFileBytes = minFileBytes
  }

  /** Whether the content at this position goes into a file. */
  isLarge(content: ObjectContent, at: number): boolean {
    return isLargeObject(content, at, this.#minFileBytes)
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    for (const [id, { holders }] of this.files) {
      assert(holders.size > 0, 'a file without holders')
      for (const worker of holders) assert(worker.holds(id), 'a holder without its file')
    }
    for (const { by, waiting } of this.fetches.values()) {
      assert(this.#workers.has(by), 'a worker that has stopped is fetching')
      for (const worker of waiting) {
        assert(this.#workers.has(worker) && worker !== by, 'the wrong worker waits')
      }
    }
  }

  /** Whether there is anybody to share with. */
  get isShared(): boolean {
    return this.#workers.size > 1
  }

  /** A worker of the agent, until it is closed. */
  join(port: HostPort): WorkerObjects {
    const worker = new WorkerObjects(this, port, () => this.#workers.delete(worker))
    this.#workers.add(worker)
    return worker
  }
}

/** The objects of one worker, which passes all messages from and to the scheduler through this. */
export class WorkerObjects {
  readonly #host: HostObjects
  readonly #port: HostPort
  readonly #onClosed: () => void
  /** The objects that its processor reads from files. */
  readonly #files = new Set<ObjectId>()
  /** Messages that came while content is being written; undefined: none is. */
  #held: Message[] | undefined
  #features = 0
  /** Counts connections: what was begun during an earlier one is not finished. */
  #connection = 0

  constructor(host: HostObjects, port: HostPort, onClosed: () => void) {
    this.#host = host
    this.#port = port
    this.#onClosed = onClosed
  }

  /** Whether its processor reads this object from a file. */
  holds(id: ObjectId): boolean {
    return this.#files.has(id)
  }

  /** What must be sent of a message to the scheduler; undefined: nothing. */
  outgoing(message: Message): Message | undefined {
    const isRequest = message.kind === 'objectRequest' && message.requestType === 'get'
    if (!isRequest || !this.#isSharing) return message
    const { files, fetches } = this.#host
    const here: ObjectId[] = []
    const asked: ObjectId[] = []
    for (const id of message.objectIds) {
      const pending = fetches.get(id)
      if (files.has(id)) here.push(id)
      else if (pending !== undefined && pending.by !== this) pending.waiting.add(this)
      else {
        asked.push(id)
        if (pending === undefined) fetches.set(id, { by: this, waiting: new Set() })
      }
    }
    if (here.length > 0) this.#take(this.#inFiles(here))
    if (asked.length === message.objectIds.length) return message
    return asked.length === 0 ? undefined : requestOf('get', asked)
  }

  /** A message came from the scheduler. The machine gets all in order, perhaps later. */
  incoming(message: Message): void {
    if (this.#held !== undefined) {
      this.#held.push(message)
      return
    }
    if (message.kind === 'workerHeartbeatEcho') this.#features = message.features
    if (message.kind === 'objectResponse') return this.#onResponse(message)
    this.#port.receive(message)
    if (message.kind === 'objectInstruction') this.onForgotten(message)
  }

  /** The processor is to forget objects. */
  onForgotten({ instructionType, objectContent }: ObjectInstruction): void {
    if (instructionType === 'clear') this.#drop([...this.#files])
    else if (instructionType === 'delete') this.#drop(objectContent.objectIds)
  }

  /** The processor does not have these objects. */
  onLost(ids: readonly ObjectId[]): void {
    this.#drop(ids)
  }

  /** The processor has ended, and all that it had. */
  onProcessorGone(): void {
    this.#drop([...this.#files])
  }

  /** The connection has ended: others fetch what they have waited for. */
  onDisconnected(): void {
    const { fetches } = this.#host
    this.#connection += 1
    for (const message of this.#held ?? []) this.#discard(message)
    this.#held = undefined
    this.#features = 0
    this.#drop([...this.#files])
    for (const [id, { by, waiting }] of fetches) {
      waiting.delete(this)
      if (by !== this) continue
      fetches.delete(id)
      const [next] = waiting
      if (next === undefined) continue
      waiting.delete(next)
      fetches.set(id, { by: next, waiting })
      next.#port.send(requestOf('get', [id]))
    }
  }

  /** The worker has stopped. */
  close(): void {
    this.onDisconnected()
    this.#onClosed()
  }

  get #isSharing(): boolean {
    return this.#host.isShared && !this.#port.isNear && hasFeature(this.#features, FEATURE_NOTES)
  }

  #onResponse(given: ObjectResponse): void {
    const response = this.#adopted(given)
    const { objectContent } = response
    const { files } = this.#host
    const large: number[] = []
    for (const [at, id] of this.#isSharing ? objectContent.objectIds.entries() : []) {
      if (this.#host.isLarge(objectContent, at) && !files.has(id)) large.push(at)
    }
    if (large.length === 0) return this.#finish(response)
    this.#held = []
    this.#write(response, large)
  }

  /** Writes the content at these positions, one after the other, and goes on. */
  #write(response: ObjectResponse, positions: readonly number[]): void {
    const [at, ...rest] = positions
    if (at === undefined) return this.#resume(response)
    const connection = this.#connection
    const { store, files } = this.#host
    const { objectIds, objectNames, objectBytes } = response.objectContent
    store.write(objectBytes[at] ?? [], (chunk) => {
      const id = objectIds[at] as ObjectId
      const isOver = connection !== this.#connection
      if (chunk !== undefined && (isOver || files.has(id))) store.remove(chunk)
      else if (chunk !== undefined) {
        const name = objectNames[at] as Uint8Array
        files.set(id, { chunk, name, holders: new Set([this]) })
        this.#files.add(id)
      }
      if (!isOver) this.#write(response, rest)
    })
  }

  /** All is written: the machine gets the response, and what came meanwhile. */
  #resume(response: ObjectResponse): void {
    const held = this.#held ?? []
    this.#held = undefined
    this.#finish(response)
    for (const [at, message] of held.entries()) {
      if (this.#holdBack(held, at)) return
      this.incoming(message)
    }
  }

  /** Another response is being written: messages from this one on wait for it. */
  #holdBack(messages: readonly Message[], from: number): boolean {
    if (this.#held === undefined) return false
    this.#held.push(...messages.slice(from))
    return true
  }

  #finish(response: ObjectResponse): void {
    const objectContent = this.#withFiles(response.objectContent)
    const isSame = objectContent === response.objectContent
    this.#port.receive(isSame ? response : { ...response, bytes: undefined, objectContent })
    this.#passOn({ ...response, bytes: undefined, objectContent })
  }

  /** Those who have waited for these objects get them, even if nothing is shared any more. */
  #passOn(response: ObjectResponse): void {
    const { fetches } = this.#host
    if (fetches.size === 0) return
    const waiting = new Map<WorkerObjects, number[]>()
    for (const [at, id] of response.objectContent.objectIds.entries()) {
      const pending = fetches.get(id)
      if (pending?.by !== this) continue
      fetches.delete(id)
      for (const worker of pending.waiting) {
        const positions = waiting.get(worker)
        if (positions === undefined) waiting.set(worker, [at])
        else positions.push(at)
      }
    }
    for (const [worker, positions] of waiting) worker.#get(response, positions)
  }

  #get({ responseType, objectContent }: ObjectResponse, positions: readonly number[]): void {
    const { objectIds, objectTypes } = objectContent
    // The reason why an object was not stored may be outdated, and a missing one has no content.
    const isHere = (at: number): boolean =>
      responseType === 'content' && objectTypes[at] !== 'refused'
    const here = positions.filter((at) => isHere(at))
    if (here.length > 0) this.#take(pickObjects(objectContent, (at) => here.includes(at)))
    const others = positions.filter((at) => !isHere(at)).map((at) => objectIds[at] as ObjectId)
    if (others.length === 0) return
    const request = this.outgoing(requestOf('get', others))
    if (request !== undefined) this.#port.send(request)
  }

  /** Takes over content that another worker has fetched. */
  #take(objectContent: ObjectContent): void {
    const { files, store } = this.#host
    for (const id of objectContent.objectIds) {
      const file = files.get(id)
      if (file === undefined) continue
      file.holders.add(this)
      this.#files.add(id)
    }
    const connection = this.#connection
    this.#port.send(requestOf('note', objectContent.objectIds))
    const response = { kind: 'objectResponse', responseType: 'content', objectContent } as const
    store.soon(() => {
      if (connection === this.#connection) this.#port.receive(response)
    })
  }

  #inFiles(ids: readonly ObjectId[]): ObjectContent {
    const files = ids.map((id) => this.#host.files.get(id) as HostFile)
    return {
      objectIds: ids,
      objectTypes: files.map(() => 'file'),
      objectNames: files.map(({ name }) => name),
      objectBytes: files.map(({ chunk }) => [chunk]),
    }
  }

  /** The content, in files as far as there are any; this worker holds these. */
  #withFiles(content: ObjectContent): ObjectContent {
    const { files } = this.#host
    const isInFile = (id: ObjectId, at: number): boolean =>
      this.#host.isLarge(content, at) && files.has(id)
    if (!content.objectIds.some(isInFile)) return content
    const types = [...content.objectTypes]
    const objectBytes = content.objectBytes.map((chunks, at) => {
      const id = content.objectIds[at] as ObjectId
      const file = isInFile(id, at) ? files.get(id) : undefined
      if (file === undefined) return chunks
      file.holders.add(this)
      this.#files.add(id)
      types[at] = 'file'
      return [file.chunk]
    })
    return { ...content, objectTypes: types, objectBytes }
  }

  /** Content that is in files of the store already: this worker holds them. */
  #adopted(response: ObjectResponse): ObjectResponse {
    const { files, store } = this.#host
    const { objectContent } = response
    const own = objectContent.objectBytes.map((_, at) => this.#ownFile(objectContent, at))
    if (own.every((chunk) => chunk === undefined)) return response
    const objectBytes = objectContent.objectBytes.map((chunks, at) => {
      const chunk = own[at]
      if (chunk === undefined) return chunks
      const id = objectContent.objectIds[at] as ObjectId
      const name = objectContent.objectNames[at] as Uint8Array
      const file = files.get(id) ?? { chunk, name, holders: new Set() }
      files.set(id, file)
      file.holders.add(this)
      this.#files.add(id)
      // Another worker has fetched it, too.
      if (!asBuffer(file.chunk).equals(chunk)) store.remove(chunk)
      return [file.chunk]
    })
    return { ...response, bytes: undefined, objectContent: { ...objectContent, objectBytes } }
  }

  /** The name of the file of the store in which some content is. */
  #ownFile({ objectTypes, objectBytes }: ObjectContent, at: number): Uint8Array | undefined {
    const [chunk] = objectBytes[at] ?? []
    const isFile = objectTypes[at] === 'file' && chunk !== undefined
    return isFile && this.#host.store.owns(chunk) ? chunk : undefined
  }

  /** A message will not be handled. */
  #discard(message: Message): void {
    if (message.kind !== 'objectResponse') return
    for (const at of message.objectContent.objectBytes.keys()) {
      const chunk = this.#ownFile(message.objectContent, at)
      if (chunk !== undefined) this.#host.store.remove(chunk)
    }
  }

  #drop(ids: readonly ObjectId[]): void {
    const { files, store } = this.#host
    for (const id of ids) {
      const file = this.#files.delete(id) ? files.get(id) : undefined
      if (file === undefined) continue
      file.holders.delete(this)
      if (file.holders.size > 0) continue
      files.delete(id)
      store.remove(file.chunk)
    }
  }
}

function requestOf(
  requestType: ObjectRequest['requestType'],
  objectIds: readonly ObjectId[],
): ObjectRequest {
  return { kind: 'objectRequest', requestType, objectIds }
}

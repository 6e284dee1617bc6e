// Responses with objects in files, or on servers, that the peer cannot read itself: their content
// is read and sent, no faster than the peer takes it, and without holding up anything else.
// docs/protocol.md#files

import { asBuffer } from '../base/bytes.js'
import type { Identity, ObjectId } from '../base/ids.js'
import { SharedRegistry } from '../base/finalization.js'
import type { ObjectContent, ObjectResponse } from '../wire/message.js'
import { fileOf, keepEach, type Part, pickObjects, splitChunks } from '../wire/object-content.js'

/** What responses need. */
interface ResponseParts {
  /** Whether the peer reads the content at this place itself. */
  canRead(peer: Identity, place: string): boolean
  /** Whether the content of an object is there. */
  isKnown(place: string): boolean
  /** The content there; undefined if it is gone. */
  read(place: string): Promise<Uint8Array | undefined>
  /** False: the queue for the peer is full, and the next response must wait for `onDrain`. */
  send(peer: Identity, message: ObjectResponse): boolean
  /** Files were removed before they were read: the peer needs another response. */
  onOutdated(peer: Identity, ids: readonly ObjectId[]): void
  /** Objects were requested whose files are gone. */
  onMissing(peer: Identity, ids: readonly ObjectId[]): void
}

/** The content of files; undefined for those that are gone. */
type Contents = ReadonlyMap<string, Uint8Array | undefined>

interface WaitingResponse {
  readonly response: ObjectResponse
  /** What the peer could not read itself when it has asked. */
  readonly places: ReadonlySet<string>
  /** Files that were gone from the start: asking again would not help. */
  readonly gone: ReadonlySet<string>
}

/** The responses for one peer that wait for content, or for room. */
interface PeerResponses {
  readonly waiting: WaitingResponse[]
  /** Content is being read for the first one. */
  isReading: boolean
  /** `onDrain` will follow. */
  isFull: boolean
}

/** Content, as long as its memory is in use. It may be a part of it. */
interface RecentContent {
  readonly memory: WeakRef<ArrayBufferLike>
  readonly start: number
  readonly byteLength: number
}

/** The responses that wait for content, by peer. */
export class FileResponses {
  readonly #parts: ResponseParts
  readonly #peers = new Map<Identity, PeerResponses>()
  /** Content that is being sent: one copy for all peers. */
  readonly #recent = new Map<string, RecentContent>()
  readonly #reading = new Map<string, Promise<Uint8Array | undefined>>()
  readonly #collected = new SharedRegistry<string>((place) => {
    if (this.#recent.get(place)?.memory.deref() === undefined) this.#recent.delete(place)
  })

  constructor(parts: ResponseParts) {
    this.#parts = parts
  }

  /**
   * Takes over the objects of a response for which content must be read. Returns the others, which
   * can be sent as they are; undefined: there are none.
   */
  take(peer: Identity, response: ObjectResponse): ObjectResponse | undefined {
    const { objectContent } = response
    const isRead = objectContent.objectTypes.map((_, at) => this.#mustRead(peer, objectContent, at))
    if (!isRead.includes(true)) return response
    // A 1.9.9 peer pairs lists by position, and gets everything in one response.
    const isPaired = objectContent.objectIds.length === objectContent.objectTypes.length
    const rest = isPaired ? withOnly(response, (at) => isRead[at] === false) : undefined
    this.#add(peer, isPaired ? withOnly(response, (at) => isRead[at] === true) : response)
    return rest === undefined || rest.objectContent.objectIds.length === 0 ? undefined : rest
  }

  /** There is room for more messages to the peer. */
  onDrain(peer: Identity): void {
    const responses = this.#peers.get(peer)
    if (responses === undefined) return
    responses.isFull = false
    void this.#advance(peer, responses)
  }

  /** The connection of a peer has ended. */
  forget(peer: Identity): void {
    this.#peers.delete(peer)
  }

  #add(peer: Identity, response: ObjectResponse): void {
    const known = this.#peers.get(peer)
    const responses = known ?? { waiting: [], isReading: false, isFull: false }
    const { objectContent } = response
    const places = new Set<string>()
    for (const at of objectContent.objectTypes.keys()) {
      if (this.#mustRead(peer, objectContent, at)) places.add(placeAt(objectContent, at) ?? '')
    }
    const gone = new Set([...places].filter((place) => !this.#parts.isKnown(place)))
    responses.waiting.push({ response, places, gone })
    if (known === undefined) this.#peers.set(peer, responses)
    void this.#advance(peer, responses)
  }

  /** Sends responses until the peer is full, or has all. */
  async #advance(peer: Identity, responses: PeerResponses): Promise<void> {
    const { waiting } = responses
    while (!responses.isReading && !responses.isFull) {
      const [next] = waiting
      if (next === undefined) {
        this.#peers.delete(peer)
        return
      }
      responses.isReading = true
      const contents = await this.#contents(next.places)
      responses.isReading = false
      // The peer may be connected again, with other responses.
      if (this.#peers.get(peer) !== responses) return
      waiting.shift()
      responses.isFull = !this.#send(peer, next, contents)
    }
  }

  /** `contents`: those of the files that the peer cannot read, by place. */
  #send(peer: Identity, { response, gone }: WaitingResponse, contents: Contents): boolean {
    const { objectContent } = response
    const { objectIds, objectTypes } = objectContent
    const isPaired = objectIds.length === objectTypes.length
    const outdated = objectIds.filter((_, at) => {
      const place = placeAt(objectContent, at)
      if (place === undefined || gone.has(place)) return false
      return contents.has(place) && !this.#parts.isKnown(place)
    })
    if (outdated.length > 0) {
      this.#parts.onOutdated(peer, isPaired ? outdated : objectIds)
      if (!isPaired) return true
    }
    const present =
      outdated.length === 0 ? response : withOnly(response, (at) => !isIn(outdated, objectIds[at]))
    const { content, missing } = keepEach(present.objectContent, (type, chunks) =>
      partOf(contents, type, chunks),
    )
    if (content.objectIds.length === 0 && missing.length === 0) return true
    const isTaken = this.#parts.send(peer, { ...response, objectContent: content })
    if (missing.length === 0) return isTaken
    this.#parts.onMissing(peer, missing)
    const nothing = { objectTypes: [], objectNames: [], objectBytes: [], objectIds: missing }
    const lost = { ...response, objectContent: nothing }
    return this.#parts.send(peer, { ...lost, responseType: 'objectNotExist' })
  }

  async #contents(places: ReadonlySet<string>): Promise<Contents> {
    const contents = new Map<string, Uint8Array | undefined>()
    for (const place of places) contents.set(place, await this.#read(place))
    return contents
  }

  #read(place: string): Promise<Uint8Array | undefined> {
    const recent = this.#recent.get(place)
    const memory = recent?.memory.deref()
    if (recent !== undefined && memory !== undefined) {
      return Promise.resolve(new Uint8Array(memory, recent.start, recent.byteLength))
    }
    const reading = this.#reading.get(place)
    if (reading !== undefined) return reading
    const promise = this.#parts.read(place).then((bytes) => {
      this.#reading.delete(place)
      if (bytes === undefined) return undefined
      // What is sent are views of it, which keep only the memory itself.
      const { buffer, byteOffset: start, byteLength } = bytes
      this.#recent.set(place, { memory: new WeakRef(buffer), start, byteLength })
      this.#collected.register(buffer, place)
      return bytes
    })
    this.#reading.set(place, promise)
    return promise
  }

  #mustRead(peer: Identity, content: ObjectContent, at: number): boolean {
    const place = placeAt(content, at)
    return place !== undefined && !this.#parts.canRead(peer, place)
  }
}

function isIn(ids: readonly ObjectId[], id: ObjectId | undefined): boolean {
  return id !== undefined && ids.includes(id)
}

/**
 * Where an object is: the path of a file, possibly '', or what names content on a server;
 * undefined: it is in the message.
 */
function placeAt({ objectTypes, objectBytes }: ObjectContent, at: number): string | undefined {
  return placeOf(objectTypes[at], objectBytes[at] ?? [])
}

function placeOf(type: Part['type'] | undefined, chunks: Part['chunks']): string | undefined {
  if (type === 'file') return fileOf(chunks)?.path ?? ''
  const [chunk] = chunks
  return type === 'stored' && chunk !== undefined ? asBuffer(chunk).toString() : undefined
}

/** An object with the content of its file; undefined if that is gone. */
function partOf(contents: Contents, type: Part['type'], chunks: Part['chunks']): Part | undefined {
  const place = placeOf(type, chunks)
  if (place === undefined || !contents.has(place)) return { type, chunks }
  const bytes = contents.get(place)
  return bytes && { type: 'object', chunks: splitChunks(bytes) }
}

/** A response with some of its objects, by position. */
function withOnly(response: ObjectResponse, isKept: (at: number) => boolean): ObjectResponse {
  return { ...response, objectContent: pickObjects(response.objectContent, isKept) }
}

// Responses with objects in files that the peer cannot read itself: their content is read and sent,
// no faster than the peer takes it, and without holding up anything else. docs/protocol.md#files

import type { Identity, ObjectId } from '../base/ids.js'
import { keepEach } from '../runtime/object-files.js'
import type { ObjectResponse } from '../wire/message.js'
import { fileOf, splitChunks } from '../wire/object-content.js'

/** What responses need. */
interface ResponseParts {
  /** Whether the peer reads this file itself. */
  canRead(peer: Identity, path: string): boolean
  /** Whether the file belongs to an object: its content may be in another one since. */
  isKnown(path: string): boolean
  /** The content of a file; undefined if it is gone. */
  read(path: string): Promise<Uint8Array | undefined>
  /** False: so much is queued for the peer that the next response must wait for `onDrain`. */
  send(peer: Identity, message: ObjectResponse): boolean
  /** Files were removed before they were read: the peer needs another response. */
  onOutdated(peer: Identity, ids: readonly ObjectId[]): void
  /** Objects were requested whose files are gone. */
  onMissing(peer: Identity, ids: readonly ObjectId[]): void
}

/** The content of files; undefined for those that are gone. */
type Contents = ReadonlyMap<string, Uint8Array | undefined>

/** The responses for one peer that wait for content, or for room. */
interface PeerResponses {
  readonly waiting: ObjectResponse[]
  /** Content is being read for the first one. */
  isReading: boolean
  /** `onDrain` will follow. */
  isFull: boolean
}

/** The responses that wait for content, by peer. */
export class FileResponses {
  readonly #parts: ResponseParts
  readonly #peers = new Map<Identity, PeerResponses>()
  /** Content that is being sent: one copy for all peers. */
  readonly #recent = new Map<string, WeakRef<Uint8Array>>()
  readonly #reading = new Map<string, Promise<Uint8Array | undefined>>()
  readonly #collected = new FinalizationRegistry<string>((path) => {
    if (this.#recent.get(path)?.deref() === undefined) this.#recent.delete(path)
  })

  constructor(parts: ResponseParts) {
    this.#parts = parts
  }

  /** Takes over a response if content must be read for it. False: it can be sent as it is. */
  take(peer: Identity, response: ObjectResponse): boolean {
    if (this.#unreadable(peer, response).length === 0) return false
    const known = this.#peers.get(peer)
    const responses = known ?? { waiting: [], isReading: false, isFull: false }
    responses.waiting.push(response)
    if (known === undefined) this.#peers.set(peer, responses)
    void this.#advance(peer, responses)
    return true
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
      const contents = await this.#contents(this.#unreadable(peer, next))
      responses.isReading = false
      // The peer may be connected again, with other responses.
      if (this.#peers.get(peer) !== responses) return
      waiting.shift()
      responses.isFull = !this.#send(peer, next, contents)
    }
  }

  /** `contents`: those of the files that the peer cannot read, by path. */
  #send(peer: Identity, response: ObjectResponse, contents: Contents): boolean {
    const { content, missing } = keepEach(response.objectContent, (type, chunks) => {
      const path = fileOf(chunks)?.path ?? ''
      if (type !== 'file' || !contents.has(path)) return { type, chunks }
      const bytes = contents.get(path)
      return bytes && { type: 'object', chunks: splitChunks(bytes) }
    })
    if (missing.length > 0 && this.#isOutdated(contents)) {
      const { objectIds, objectTypes } = response.objectContent
      // For a 1.9.9 peer, which pairs lists by position, the whole response is repeated.
      const isPaired = objectIds.length === objectTypes.length
      this.#parts.onOutdated(peer, isPaired ? missing : objectIds)
      if (!isPaired || content.objectIds.length === 0) return true
      return this.#parts.send(peer, { ...response, objectContent: content })
    }
    const isTaken = this.#parts.send(peer, { ...response, objectContent: content })
    if (missing.length === 0) return isTaken
    this.#parts.onMissing(peer, missing)
    const nothing = { objectTypes: [], objectNames: [], objectBytes: [], objectIds: missing }
    const lost = { ...response, objectContent: nothing }
    return this.#parts.send(peer, { ...lost, responseType: 'objectNotExist' })
  }

  /** Whether files are missing because they were removed with their objects, or moved. */
  #isOutdated(contents: Contents): boolean {
    for (const [path, bytes] of contents) {
      if (bytes === undefined && path !== '' && !this.#parts.isKnown(path)) return true
    }
    return false
  }

  async #contents(paths: readonly string[]): Promise<Contents> {
    const contents = new Map<string, Uint8Array | undefined>()
    for (const path of paths) contents.set(path, await this.#read(path))
    return contents
  }

  #read(path: string): Promise<Uint8Array | undefined> {
    const known = this.#recent.get(path)?.deref()
    if (known !== undefined) return Promise.resolve(known)
    const reading = this.#reading.get(path)
    if (reading !== undefined) return reading
    const promise = this.#parts.read(path).then((bytes) => {
      this.#reading.delete(path)
      if (bytes === undefined) return undefined
      this.#recent.set(path, new WeakRef(bytes))
      this.#collected.register(bytes, path)
      return bytes
    })
    this.#reading.set(path, promise)
    return promise
  }

  /** The files of a response that the peer cannot read. */
  #unreadable(peer: Identity, { objectContent }: ObjectResponse): readonly string[] {
    const paths: string[] = []
    for (const [at, type] of objectContent.objectTypes.entries()) {
      if (type !== 'file') continue
      const path = fileOf(objectContent.objectBytes[at] ?? [])?.path ?? ''
      if (!this.#parts.canRead(peer, path)) paths.push(path)
    }
    return paths
  }
}

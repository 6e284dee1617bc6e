// Objects in files, as an agent sees them for one of its workers: it passes the names on, and reads
// a file only for a scheduler that does not share the directory. docs/protocol.md#files

import { closeSync, openSync, rmSync } from 'node:fs'
import { NO_BYTES } from '../../base/bytes.js'
import type { ObjectId } from '../../base/ids.js'
import {
  contentRequest,
  isThere,
  keepEach,
  moveIn,
  ObjectFiles,
  proofMessage,
  readObjectFile,
  readOpenFile,
  type SplitContent,
} from '../../runtime/object-files.js'
import {
  encodeFrame,
  type Message,
  type ObjectFiles as ObjectFilesMessage,
  type ObjectResponse,
} from '../../wire/message.js'
import { fileOf, type ObjectFile } from '../../wire/object-content.js'
import type { ProcessorHost } from './processor-host.js'

/** The files of one worker. */
export class AgentFiles {
  readonly #files = new ObjectFiles()
  /** What the processor was told last. */
  #offer: ObjectFilesMessage | undefined
  #proof: Uint8Array = NO_BYTES
  /** Open, because the scheduler that they were written for may be gone, and its files with it. */
  readonly #kept = new Map<string, number>()
  /** Of these, what need not be kept any more. */
  readonly #released = new Set<string>()

  /** A new connection. */
  reset(): void {
    this.#files.reset()
    this.#offer = undefined
    this.#proof = NO_BYTES
  }

  /** The processor sees the directory. Returns what tells the scheduler. */
  onProof(proof: Uint8Array): Message {
    this.#proof = proof
    return proofMessage(proof)
  }

  /** What requests content, in messages, whose files are gone. */
  requestFor(objectIds: readonly ObjectId[]): readonly Message[] {
    return contentRequest(objectIds, this.#proof)
  }

  /** The scheduler offers a directory: it is the processor that must see it, too. */
  onOffer(offer: ObjectFilesMessage, processor: ProcessorHost | undefined): void {
    if (this.#files.accept(offer.directory).byteLength === 0) return
    this.#offer = offer
    if (processor !== undefined) this.tell(processor)
  }

  /** Passes the offer on to a processor. */
  tell(processor: ProcessorHost): void {
    if (this.#offer !== undefined) processor.send(encodeFrame(this.#offer))
  }

  /** A response with the objects that are there, and the ids of those whose files are gone. */
  checked({ objectContent }: ObjectResponse): SplitContent {
    return keepEach(objectContent, (type, chunks) => {
      return type === 'file' && !isThere(chunks) ? undefined : { type, chunks }
    })
  }

  /** The message, with the content of files that this scheduler does not know. */
  sendable(message: Message): Message {
    if (message.kind !== 'objectInstruction') return message
    const { objectTypes, objectBytes } = message.objectContent
    const isKnown = objectTypes.every((type, at) => {
      const chunks = objectBytes[at] ?? []
      return type !== 'file' || (this.#files.has(chunks) && isThere(chunks))
    })
    if (isKnown) return message
    const { content } = moveIn(message.objectContent, (chunks) => this.#read(chunks))
    return { ...message, bytes: undefined, objectContent: content }
  }

  /** The content of a file must remain readable, or need not any more. */
  keep({ path }: ObjectFile, isKept: boolean): void {
    if (!isKept) {
      // A result that is sent again is taken out first, and kept once more.
      if (this.#released.size === 0) setImmediate(() => this.#closeReleased())
      this.#released.add(path)
      return
    }
    this.#released.delete(path)
    const opened = this.#kept.has(path) ? undefined : tryOpen(path)
    if (opened !== undefined) this.#kept.set(path, opened)
  }

  /** Closes all files. */
  close(): void {
    for (const path of this.#kept.keys()) this.#released.add(path)
    this.#closeReleased()
  }

  #closeReleased(): void {
    for (const path of this.#released) {
      const fd = this.#kept.get(path)
      if (fd !== undefined) closeSync(fd)
      this.#kept.delete(path)
    }
    this.#released.clear()
  }

  #read(chunks: readonly Uint8Array[]): Uint8Array | undefined {
    const file = fileOf(chunks)
    const fd = this.#kept.get(file?.path ?? '')
    const isKept = file !== undefined && fd !== undefined
    const content = isKept ? readOpenFile(fd, file.byteLength) : readObjectFile(chunks)
    // No scheduler knows it.
    if (file !== undefined) rmSync(file.path, { force: true })
    return content
  }
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}

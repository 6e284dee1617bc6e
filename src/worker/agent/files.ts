// Objects in files, as an agent sees them for one of its workers: it passes the names on, and reads
// a file only for a scheduler that does not share the directory. docs/protocol.md#files

import { NO_BYTES } from '../../base/bytes.js'
import type { ObjectId } from '../../base/ids.js'
import { contentRequest, isThere, ObjectFiles, proofMessage } from '../../runtime/object-files.js'
import {
  encodeFrame,
  type Message,
  type ObjectFiles as ObjectFilesMessage,
  type ObjectResponse,
} from '../../wire/message.js'
import { type ObjectFile, keepEach, type SplitContent } from '../../wire/object-content.js'
import type { ProcessorHost } from './processor-host.js'

const NO_OFFER: ObjectFilesMessage = { kind: 'objectFiles', directory: '', proof: NO_BYTES }

/** The answer of a worker that does not see the directory. */
const REFUSAL: Message = proofMessage(NO_BYTES)

/** The files of one worker. */
export class AgentFiles {
  readonly #files = new ObjectFiles()
  /** What was sent to the processor last. */
  #offer: ObjectFilesMessage | undefined
  #proof: Uint8Array = NO_BYTES
  /** The offer came from an object storage server. */
  #isFromServer = false

  /** Whether the scheduler is on this machine, and this worker's processor sees its files. */
  get isNear(): boolean {
    return this.#proof.byteLength > 0
  }

  /** A connection has ended: the next scheduler may be another one. */
  reset(processor: ProcessorHost | undefined): void {
    if (this.#offer === undefined) return
    this.#offer = undefined
    this.#proof = NO_BYTES
    this.#files.use('')
    processor?.send(encodeFrame(NO_OFFER))
  }

  /**
   * The scheduler offers a directory, or none any more: the processor must see it, too. Returns the
   * answer if this process does not see it.
   */
  onOffer(offer: ObjectFilesMessage, processor: ProcessorHost | undefined): Message | undefined {
    if (offer.directory === '') {
      this.reset(processor)
      return undefined
    }
    if (this.#files.accept(offer.directory).byteLength === 0) return REFUSAL
    // Until the scheduler knows it, it accepts no files.
    this.#files.use('')
    this.#offer = offer
    this.#isFromServer = false
    if (processor !== undefined) this.tell(processor)
    return undefined
  }

  /** The same from an object storage server, which knows already that this process sees it. */
  onServerOffer(offer: ObjectFilesMessage | undefined, processor: ProcessorHost | undefined): void {
    this.onOffer(offer ?? NO_OFFER, processor)
    this.#isFromServer = true
  }

  /** Passes the offer on to a processor. */
  tell(processor: ProcessorHost): void {
    if (this.#offer !== undefined) processor.send(encodeFrame(this.#offer))
  }

  /**
   * A processor sees the offered directory, or (no bytes) does not. Returns what tells the
   * scheduler.
   */
  onProof(proof: Uint8Array): Message | undefined {
    if (this.#offer === undefined) return undefined
    if (proof.byteLength === 0) return this.#isFromServer ? undefined : REFUSAL
    if (Buffer.compare(this.#files.accept(this.#offer.directory), proof) !== 0) {
      // The answer to an offer of the last connection says nothing.
      this.#files.use('')
      return undefined
    }
    this.#proof = Buffer.from(proof)
    return this.#isFromServer ? undefined : proofMessage(this.#proof)
  }

  /** What requests content, in messages, whose files are gone. */
  requestFor(objectIds: readonly ObjectId[]): readonly Message[] {
    return contentRequest(objectIds, this.#proof)
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
    const objectContent = this.#files.sendable(message.objectContent)
    if (objectContent === message.objectContent) return message
    return { ...message, bytes: undefined, objectContent }
  }

  /** The content of a file must remain readable, or need not any more. */
  keep({ path }: ObjectFile, isKept: boolean): void {
    if (isKept) this.#files.hold(path)
    else this.#files.release(path)
  }

  /** Closes all files. */
  close(): void {
    this.#files.close()
  }
}

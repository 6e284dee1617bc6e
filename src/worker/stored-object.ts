// The objects that a processor holds for its tasks: functions, arguments, serializers.

import { copyOf } from '../base/bytes.js'
import { DeserializeError } from '../base/errors.js'
import type { ObjectId } from '../base/ids.js'
import { textOf } from '../serializer/path.js'
import { pendingImportOf } from '../serializer/pending-read.js'
import { defaultSerializer, deserializeForAll } from '../serializer/process-serializer.js'
import type { Serializer } from '../serializer/serializer.js'
import {
  codecFrom,
  codecOf,
  DEFAULT_SERIALIZER_CONTENT,
  defaultCodec,
  isSerializer,
  type TaskCodec,
} from '../serializer/task-codec.js'
import type { ObjectContent } from '../wire/message.js'
import { joinChunks } from '../wire/object-content.js'
import { freezeData } from './freeze-data.js'
import { StoredFunction, type StoredBytes, type TaskFunction } from './stored-function.js'

/** Chunks of less are views of a read buffer, which they would keep in memory. */
const LARGE_CHUNK_BYTES = 16 * 1024

interface ClientCodec {
  readonly codec: TaskCodec
  readonly serializer: Serializer
}

/** One object. Tasks that need it keep it when it is deleted from the store. */
export class StoredObject implements StoredBytes {
  readonly token: object = {}
  #chunks: readonly Uint8Array[]
  #function: StoredFunction | undefined
  #shared: { readonly codec: TaskCodec; readonly value: unknown } | undefined
  #codec: ClientCodec | { readonly failure: DeserializeError } | undefined
  /** If it is a function: how long its last call took; Infinity before the first. */
  lastCallMs: number = Infinity

  constructor(chunks: readonly Uint8Array[]) {
    this.#chunks = chunks.map((chunk) =>
      chunk.byteLength < LARGE_CHUNK_BYTES ? copyOf(chunk) : chunk,
    )
  }

  /** The content. Throws `ProtocolError` if it is longer than memory can have in one piece. */
  get bytes(): Uint8Array {
    const bytes = joinChunks(this.#chunks)
    if (this.#chunks.length > 1) this.#chunks = [bytes]
    return bytes
  }

  /** As a function: how many of a task's last arguments are its attachments. */
  attachmentCount(codec: TaskCodec): number {
    this.#function ??= new StoredFunction(this)
    return this.#function.attachmentCount(codec)
  }

  /** As a function: itself. See `StoredFunction`. */
  function(codec: TaskCodec, attachments: readonly StoredBytes[]): TaskFunction {
    this.#function ??= new StoredFunction(this)
    return this.#function.of(codec, attachments)
  }

  /**
   * As the serializer of a client: what its tasks are read by, read once. Throws
   * `DeserializeError`, always the same, if that cannot be had, and `PendingImport` if it cannot be
   * had yet.
   */
  codec(): TaskCodec {
    return this.#clientCodec().codec
  }

  /** The same as what the client was given: itself or a copy, as long as the codec is the same. */
  clientSerializer(): Serializer {
    return this.#clientCodec().serializer
  }

  /**
   * As the value of a reference: plain data is made once for all tasks and frozen. Of anything else
   * each task gets its own, in which plain data is frozen. Throws what reading a value throws.
   */
  shared(codec: TaskCodec): unknown {
    if (this.#shared?.codec === codec) return this.#shared.value
    const value = codec.deserialize(this.bytes)
    if (freezeData(value)) this.#shared = { codec, value }
    return value
  }

  /** Whether the content is a pickle, and so comes from Python. */
  get isPickle(): boolean {
    return this.bytes[0] === 0x80
  }

  #clientCodec(): ClientCodec {
    const read = (this.#codec ??= this.#readCodec())
    if ('failure' in read) throw read.failure
    return read
  }

  #readCodec(): ClientCodec | { readonly failure: DeserializeError } {
    try {
      return readClientCodec(this.bytes)
    } catch (error) {
      const pending = pendingImportOf(error)
      if (pending !== undefined) throw pending
      const why = error instanceof DeserializeError ? error.message : textOf(error)
      const text = `the client's serializer cannot be read: ${why}`
      return { failure: new DeserializeError(text, { cause: error }) }
    }
  }
}

/** Throws what reading a value throws. */
function readClientCodec(content: Uint8Array): ClientCodec {
  if (Buffer.from(content).toString('latin1') === DEFAULT_SERIALIZER_CONTENT) {
    return { codec: defaultCodec, serializer: defaultSerializer }
  }
  const serializer = deserializeForAll(content)
  if (isSerializer(serializer)) return { codec: codecOf(serializer), serializer }
  // Throws, and says what it is instead.
  return { codec: codecFrom(content), serializer: defaultSerializer }
}

/** The objects by id. */
export class ObjectStore {
  readonly #objects = new Map<ObjectId, StoredObject>()

  get size(): number {
    return this.#objects.size
  }

  get(id: ObjectId): StoredObject | undefined {
    return this.#objects.get(id)
  }

  /** Takes all objects of a message in. The lists are parallel. */
  store({ objectIds, objectBytes }: ObjectContent): void {
    for (const [index, id] of objectIds.entries()) {
      this.#objects.set(id, new StoredObject(objectBytes[index] ?? []))
    }
  }

  /** Takes one object in that was made here. */
  keep(id: ObjectId, chunks: readonly Uint8Array[]): void {
    this.#objects.set(id, new StoredObject(chunks))
  }

  delete(ids: readonly ObjectId[]): void {
    for (const id of ids) this.#objects.delete(id)
  }

  clear(): void {
    this.#objects.clear()
  }
}

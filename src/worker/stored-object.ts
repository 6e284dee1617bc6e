// The objects that a processor holds for its tasks: functions, arguments, serializers.

import { copyOf } from '../base/bytes.js'
import { DeserializeError } from '../base/errors.js'
import type { ObjectId } from '../base/ids.js'
import type { Serializer } from '../serializer/serializer.js'
import type { ObjectContent } from '../wire/message.js'
import { joinChunks } from '../wire/object-content.js'

/** What the serializer object of every client of ours says. */
const OUR_SERIALIZER = 'scaler-ts/default'

/** Chunks of less are views of a read buffer, which they would keep in memory. */
const LARGE_CHUNK_BYTES = 16 * 1024

/** A function that came from a client. */
export type TaskFunction = (...parameters: unknown[]) => unknown

/** One object. Tasks that need it keep it when it is deleted from the store. */
export class StoredObject {
  #chunks: readonly Uint8Array[]
  #function: TaskFunction | undefined
  #failure: Error | undefined
  #isOurSerializer: boolean | undefined
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

  /** The function, always the same. Throws `DeserializeError`, always the same, if it is none. */
  function(serializer: Serializer): TaskFunction {
    if (this.#function !== undefined) return this.#function
    if (this.#failure !== undefined) throw this.#failure
    try {
      const value = serializer.deserialize(this.bytes)
      if (typeof value !== 'function') throw new DeserializeError('the object is not a function')
      return (this.#function = value as TaskFunction)
    } catch (error) {
      this.#failure = error instanceof Error ? error : new DeserializeError(String(error))
      throw this.#failure
    }
  }

  /** Whether it is the serializer of a client whose values this processor can read. */
  get isOurSerializer(): boolean {
    this.#isOurSerializer ??= Buffer.from(this.bytes).toString('latin1') === OUR_SERIALIZER
    return this.#isOurSerializer
  }

  /** Whether the content is a pickle, and so comes from Python. */
  get isPickle(): boolean {
    return this.bytes[0] === 0x80
  }
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

  delete(ids: readonly ObjectId[]): void {
    for (const id of ids) this.#objects.delete(id)
  }

  clear(): void {
    this.#objects.clear()
  }
}

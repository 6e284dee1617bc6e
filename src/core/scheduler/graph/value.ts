// The results of a graph's nodes, while they are needed as an input of a node, or by a client that
// lost its connection and requests them again. Small results are stored here; for large ones, the
// object id.

import { bytesToLatin1, copyOf, latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import { identity, type ObjectId, objectIdOf, type TaskId } from '../../../base/ids.js'
import { PLAIN_RESULT, type TaskResult } from '../../../wire/message.js'
import { ByteStore } from './store.js'

/** The head of each value: bit 0 = an object, then 15 and 16 bits of metadata and worker length. */
const HEAD_BYTES = 4
const MAX_METADATA_BYTES = 0x7fff
const MAX_WORKER_BYTES = 0xffff

/** Results by handle, which is never 0. */
export class ValueStore {
  readonly #store = new ByteStore()

  /** The allocated memory, in bytes. */
  get capacity(): number {
    return this.#store.capacity
  }

  /**
   * Stores the value of a result with status success. `isWhole`: stores the other fields as well,
   * so that `resultOf` returns the same result.
   */
  add(result: TaskResult, isWhole: boolean): number {
    const [inline] = result.inlineResults
    const value = inline ?? latin1ToBytes(result.results[0] ?? '')
    const isFit = isWhole && result.metadata.byteLength <= MAX_METADATA_BYTES
    const metadata = isFit ? result.metadata : NO_BYTES
    const worker = isWhole && result.worker.length <= MAX_WORKER_BYTES ? result.worker : ''
    const lengths = metadata.byteLength * 2 + worker.length * 2 ** 16
    const total = HEAD_BYTES + metadata.byteLength + worker.length + value.byteLength
    const handle = this.#store.reserve(total)
    this.#store.setHead(handle, (inline === undefined ? 1 : 0) + lengths)
    const buffer = this.#store.buffer(handle)
    let at = this.#store.start(handle) + HEAD_BYTES
    if (isWhole) {
      buffer.set(metadata, at)
      at += metadata.byteLength
      at += buffer.write(worker, at, 'latin1')
    }
    buffer.set(value, at)
    return handle
  }

  /** The value, or the id of its object. The bytes are a view. */
  valueOf(handle: number): { readonly isObject: boolean; readonly data: Buffer } {
    const head = this.#store.head(handle)
    return { isObject: (head & 1) === 1, data: this.#valueOf(handle, head) }
  }

  /** The id of the object; undefined for a value that is stored here. */
  objectIdOf(handle: number): ObjectId | undefined {
    const head = this.#store.head(handle)
    return (head & 1) === 1 ? objectIdOf(this.#valueOf(handle, head)) : undefined
  }

  /** The result itself. */
  resultOf(handle: number, taskId: TaskId): TaskResult {
    const head = this.#store.head(handle)
    const start = this.#store.start(handle) + HEAD_BYTES
    const workerAt = start + ((head >>> 1) & MAX_METADATA_BYTES)
    const buffer = this.#store.buffer(handle)
    const id = this.objectIdOf(handle)
    return {
      kind: 'taskResult',
      taskId,
      status: 'success',
      ...PLAIN_RESULT,
      metadata: copyOf(buffer.subarray(start, workerAt)),
      results: id === undefined ? [] : [id],
      inlineResults: id === undefined ? [copyOf(this.#valueOf(handle, head))] : [],
      worker: identity(bytesToLatin1(buffer.subarray(workerAt, workerAt + (head >>> 16)))),
    }
  }

  /** Frees a value that is no longer needed. */
  release(handle: number): void {
    this.#store.release(handle)
  }

  #valueOf(handle: number, head: number): Buffer {
    const start = this.#store.start(handle)
    const skipped = HEAD_BYTES + ((head >>> 1) & MAX_METADATA_BYTES) + (head >>> 16)
    return this.#store.buffer(handle).subarray(start + skipped, start + this.#store.length(handle))
  }
}

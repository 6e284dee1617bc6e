// The directory of an agent of the simulated world: like src/worker/agent/store.ts.

import { totalBytes } from '#src/base/bytes.js'
import type { HostStore } from '#src/core/worker/host-objects.js'
import type { Message } from '#src/wire/message.js'
import { fileChunk, fileOf } from '#src/wire/object-content.js'
import type { Random } from './random.js'
import type { VirtualProcess } from './virtual-process.js'

/** How long it takes to write content, in milliseconds. */
const [MIN_MS, MAX_MS] = [0.02, 50]
/** How often there is no room. */
const FULL_SHARE = 0.1
/** How much of what arrives is not in a file yet. */
const MEMORY_SHARE = 0.5
/** Content of at least this size goes into files. */
export const MIN_FILE_BYTES = 300

/** The files of one agent. */
export class VirtualStore implements HostStore {
  readonly #process: VirtualProcess
  readonly #random: Random
  readonly #files = new Map<string, Buffer>()
  #count = 0

  constructor(process: VirtualProcess, random: Random) {
    this.#process = process
    this.#random = random
  }

  /** The number of files that were not removed. */
  get fileCount(): number {
    return this.#files.size
  }

  write(chunks: readonly Uint8Array[], done: (chunk: Uint8Array | undefined) => void): void {
    this.#process.after(this.#random.spread(MIN_MS, MAX_MS), () => {
      if (this.#random.chance(FULL_SHARE)) return done(undefined)
      done(this.#put(chunks))
    })
  }

  #put(chunks: readonly Uint8Array[]): Uint8Array {
    this.#count += 1
    const name = this.#count.toString(16).padStart(32, '0')
    const path = `/agent/scaler-ts-${'0'.repeat(32)}/${name}`
    this.#files.set(path, Buffer.concat(chunks))
    return fileChunk({ path, byteLength: totalBytes(chunks) })
  }

  /** The same message; some of its content was written into files while it arrived. */
  arrived(message: Message): Message {
    if (message.kind !== 'objectResponse') return message
    const { objectTypes: types, objectBytes } = message.objectContent
    const objectTypes = [...types]
    const inFiles = objectBytes.map((chunks, at) => {
      const isLarge = types[at] === 'object' && totalBytes(chunks) >= MIN_FILE_BYTES
      if (!isLarge || this.#random.chance(MEMORY_SHARE)) return chunks
      objectTypes[at] = 'file'
      return [this.#put(chunks)]
    })
    if (objectTypes.every((type, at) => type === types[at])) return message
    const objectContent = { ...message.objectContent, objectTypes, objectBytes: inFiles }
    return { ...message, bytes: undefined, objectContent }
  }

  owns(chunk: Uint8Array): boolean {
    return this.#files.has(fileOf([chunk])?.path ?? '')
  }

  remove(chunk: Uint8Array): void {
    this.#files.delete(fileOf([chunk])?.path ?? '')
  }

  soon(callback: () => void): void {
    this.#process.after(0, callback)
  }

  /** The content of a file; undefined: it was removed. */
  read(chunks: readonly Uint8Array[]): Buffer | undefined {
    return this.#files.get(fileOf(chunks)?.path ?? '')
  }
}

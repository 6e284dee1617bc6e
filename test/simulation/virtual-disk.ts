// The disk of a scheduler of the simulated world: content moves there, and responses with it are sent
// later, like in src/scheduler/disk-store.ts and file-responses.ts.

import type { Identity } from '#src/base/ids.js'
import type { SchedulerAction, SchedulerEvent } from '#src/core/scheduler/events.js'
import type { ObjectResponse } from '#src/wire/message.js'
import { fileOf, keepEach } from '#src/wire/object-content.js'
import { totalBytes } from '#src/base/bytes.js'
import type { Random } from './random.js'
import type { VirtualProcess } from './virtual-process.js'

/** How long the disk takes, in milliseconds. */
const [MIN_MS, MAX_MS] = [0.05, 200]

/** What happens after the disk has done its work. */
interface DiskHandler {
  onEvent(event: SchedulerEvent): void
  send(to: Identity, response: ObjectResponse): void
}

/** One disk, which loses nothing as long as its process lives. */
export class VirtualDisk {
  readonly #process: VirtualProcess
  readonly #random: Random
  readonly #handler: DiskHandler
  readonly #files = new Map<string, readonly Uint8Array[]>()

  constructor(process: VirtualProcess, random: Random, handler: DiskHandler) {
    this.#process = process
    this.#random = random
    this.#handler = handler
  }

  /** The number of files that were not removed. */
  get fileCount(): number {
    return this.#files.size
  }

  /** Writes content. */
  write({ move, chunks }: Extract<SchedulerAction, { readonly type: 'moveToDisk' }>): void {
    this.#later(() => {
      const path = `/disk/scaler-ts-${'0'.repeat(32)}/${move.toString(16).padStart(32, '0')}`
      this.#files.set(path, chunks)
      const file = { path, byteLength: totalBytes(chunks) }
      this.#handler.onEvent({ type: 'movedToDisk', move, file })
    })
  }

  remove(path: string): void {
    this.#files.delete(path)
  }

  /** Takes over a response with content that must be read. */
  take(to: Identity, response: ObjectResponse): boolean {
    if (!response.objectContent.objectTypes.includes('file')) return false
    this.#later(() => {
      const { content, missing } = keepEach(response.objectContent, (type, chunks) => {
        if (type !== 'file') return { type, chunks }
        const found = this.#files.get(fileOf(chunks)?.path ?? '')
        return found && { type: 'object', chunks: found }
      })
      if (missing.length > 0) {
        this.#handler.onEvent({ type: 'responseOutdated', peer: to, objectIds: missing })
      }
      if (content.objectIds.length === 0) return
      this.#handler.send(to, { ...response, objectContent: content })
    })
    return true
  }

  #later(work: () => void): void {
    this.#process.after(this.#random.spread(MIN_MS, MAX_MS), work)
  }
}

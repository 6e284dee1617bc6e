// A file that cannot be opened because the system is short of something is not a missing file: what
// needs it waits until it can be opened.

import type { LogFields, Logger } from '../../base/logger.js'
import { messageOf } from '../../base/text.js'
import { codeOf } from '../../transport/address.js'
import { BoundedLog } from '../../transport/bounded-log.js'
import { fileOf } from '../../wire/object-content.js'
import { MAX_FILE_BYTES, openFile, readNow } from '../object-files.js'

/** What passes: no descriptors, no memory, no threads. */
const PASSING: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** The pause before the second attempt, and the longest one. */
const [MIN_DELAY_MS, MAX_DELAY_MS] = [50, 1_000]

/** Whether the same may succeed later: the error says nothing about the file. */
export function isPassing(error: unknown): boolean {
  return PASSING.has(codeOf(error))
}

/** Attempts that are repeated while something is short; the log says so, at a bounded rate. */
export class Shortage {
  readonly #log: BoundedLog<string, LogFields>

  constructor(tell: Logger['warn']) {
    this.#log = new BoundedLog((fields, count) => {
      const isDescriptors = fields['code'] === 'EMFILE' || fields['code'] === 'ENFILE'
      const text = isDescriptors
        ? 'no file descriptors are left for the files of objects (raise the limit of open files)'
        : 'files of objects cannot be opened for now'
      tell(text, { ...fields, count })
    })
  }

  /** An attempt has failed, with an error that passes. */
  note(error: unknown): void {
    const code = codeOf(error) ?? ''
    this.#log.note(code, { code, error: messageOf(error) })
  }

  /** Repeats an attempt while it fails with an error that passes. Throws any other error. */
  async outlast<Value>(attempt: () => Value | Promise<Value>): Promise<Value> {
    for (let delayMs = MIN_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      try {
        return await attempt()
      } catch (error) {
        if (!isPassing(error)) throw error
        this.note(error)
      }
      await new Promise((resolve) => setTimeout(resolve, delayMs).unref())
    }
  }

  /** Opens the file that the chunk names, so that it may be removed; undefined if it is gone. */
  open(chunks: readonly Uint8Array[]): Promise<number | undefined> {
    return this.outlast(() => openFile(fileOf(chunks)?.path ?? '')).catch(() => undefined)
  }

  /**
   * The content of the file that the chunk names; undefined if it is gone. Read at once if that is
   * possible: its owner may remove it.
   */
  read(chunks: readonly Uint8Array[]): Promise<Uint8Array | undefined> {
    const file = fileOf(chunks)
    if (file === undefined || file.byteLength > MAX_FILE_BYTES) return Promise.resolve(undefined)
    return this.outlast(() => readNow(file)).catch(() => undefined)
  }

  /** Logs no more. */
  close(): void {
    this.#log.close()
  }
}

// A directory in memory for large objects that the workers of one agent have fetched from a
// scheduler on another machine: all of their processors read the same files.

import { open } from 'node:fs/promises'
import { totalBytes } from '../../base/bytes.js'
import { ConfigError } from '../../base/errors.js'
import type { Logger } from '../../base/logger.js'
import { messageOf } from '../../base/text.js'
import type { HostStore } from '../../core/worker/host-objects.js'
import { hasRoom, MAX_FILE_BYTES, SHARED_MEMORY } from '../../runtime/object-files.js'
import { OwnDirectory, removeAbandoned, removeLater } from '../../runtime/own-directory.js'
import { fileChunk, fileOf } from '../../wire/object-content.js'

/** The files of one agent. Without a directory, content stays in messages. */
export class AgentStore implements HostStore {
  readonly #logger: Logger
  readonly #base: string
  /** Made for the first content. */
  #directory: OwnDirectory | undefined
  /** Nothing is written: there is no directory, or this is closed. */
  #isOff = false

  /** `wish`: where to make the directory; '' = nowhere. Throws `ConfigError` if that fails. */
  constructor(logger: Logger, wish?: string) {
    this.#logger = logger
    this.#base = wish ?? (process.platform === 'linux' ? SHARED_MEMORY : '')
    this.#isOff = this.#base === ''
    if (this.#isOff || wish === undefined) return
    try {
      this.#directory = new OwnDirectory(this.#base, { onError: () => {} })
    } catch (error) {
      throw new ConfigError(`option objectDirectory: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Removes what agents that were killed have left. */
  tidy(): void {
    if (this.#isOff || this.#directory !== undefined) return
    try {
      removeAbandoned(this.#base)
    } catch {
      // There is no such directory.
    }
  }

  write(chunks: readonly Uint8Array[], onWritten: (chunk: Uint8Array | undefined) => void): void {
    void this.#write(chunks).then(onWritten)
  }

  remove(chunk: Uint8Array): void {
    const path = fileOf([chunk])?.path
    if (path !== undefined) removeLater(path)
  }

  soon(callback: () => void): void {
    queueMicrotask(callback)
  }

  /** Removes everything. */
  close(): void {
    this.#isOff = true
    this.#directory?.close()
  }

  async #write(chunks: readonly Uint8Array[]): Promise<Uint8Array | undefined> {
    const byteLength = totalBytes(chunks)
    if (this.#isOff || byteLength > MAX_FILE_BYTES) return undefined
    let path = ''
    try {
      if (!hasRoom(this.#base, byteLength)) return undefined
      this.#directory ??= new OwnDirectory(this.#base, { onError: () => {} })
      path = this.#directory.newPath()
      const file = await open(path, 'wx', 0o600)
      try {
        for (const chunk of chunks) await file.writeFile(chunk)
      } finally {
        await file.close()
      }
      return fileChunk({ path, byteLength })
    } catch (error) {
      this.#logger.debug('the content of an object is not shared', { error: String(error) })
      if (path !== '') removeLater(path)
      return undefined
    }
  }
}

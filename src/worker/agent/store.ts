// A directory in memory for large objects that the workers of one agent have fetched from other
// machines: all of their processors read the same files.

import { closeSync, openSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { totalBytes } from '../../base/bytes.js'
import type { Logger } from '../../base/logger.js'
import type { HostStore } from '../../core/worker/host-objects.js'
import { directoryError } from '../../runtime/directory-option.js'
import { hasRoom, isInMemory, MAX_FILE_BYTES, SHARED_MEMORY } from '../../runtime/object-files.js'
import { OwnDirectory, removeAbandoned, removeLater } from '../../runtime/own-directory.js'
import type { ArrivalStore, ArrivingContent } from '../../runtime/storage/arrival.js'
import {
  fileChunk,
  fileOf,
  MIN_LARGE_BYTES,
  type ObjectFile,
  type Part,
} from '../../wire/object-content.js'

/** The files of one agent. Without a directory, content stays in messages. */
export class AgentStore implements HostStore, ArrivalStore {
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
      this.#directory = new OwnDirectory(this.#base)
    } catch (error) {
      throw directoryError('objectDirectory', wish, error)
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

  /** Not on a disk, for which this process would have to wait. */
  open(byteLength: number): ArrivingContent | undefined {
    if (byteLength < MIN_LARGE_BYTES) return undefined
    try {
      const path = this.#newPath(byteLength)
      if (path === undefined || !isInMemory(this.#base)) return undefined
      return new StoredArrival({ path, byteLength }, this.#logger)
    } catch (error) {
      this.#tellUnshared(error)
      return undefined
    }
  }

  owns(chunk: Uint8Array): boolean {
    return this.#directory?.has(fileOf([chunk])?.path ?? '') === true
  }

  drop({ type, chunks: [chunk] }: Part): void {
    if (type === 'file' && chunk !== undefined) this.remove(chunk)
  }

  remove(chunk: Uint8Array): void {
    const path = fileOf([chunk])?.path
    if (path !== undefined && this.#directory?.has(path)) removeLater(path)
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
    let path: string | undefined
    try {
      path = this.#newPath(byteLength)
      if (path === undefined) return undefined
      const file = await open(path, 'wx', 0o600)
      try {
        for (const chunk of chunks) await file.writeFile(chunk)
      } finally {
        await file.close()
      }
      return fileChunk({ path, byteLength })
    } catch (error) {
      this.#tellUnshared(error)
      if (path !== undefined) removeLater(path)
      return undefined
    }
  }

  /** For a new file; undefined: there is no room for it. Throws the system's error. */
  #newPath(byteLength: number): string | undefined {
    if (this.#isOff || byteLength > MAX_FILE_BYTES) return undefined
    if (!hasRoom(this.#base, byteLength)) return undefined
    this.#directory ??= new OwnDirectory(this.#base)
    return this.#directory.newPath()
  }

  #tellUnshared(error: unknown): void {
    this.#logger.debug('the content of an object is not shared', { error: String(error) })
  }
}

/** Content that is written as it arrives. */
class StoredArrival implements ArrivingContent {
  readonly #file: ObjectFile
  readonly #logger: Logger
  /** Undefined: it is not written any more. */
  #fd: number | undefined

  /** Throws the system's error. */
  constructor(file: ObjectFile, logger: Logger) {
    this.#file = file
    this.#logger = logger
    this.#fd = openSync(file.path, 'wx', 0o600)
  }

  write(bytes: Uint8Array): void {
    if (this.#fd === undefined) return
    try {
      for (let at = 0; at < bytes.byteLength;) at += writeSync(this.#fd, bytes, at)
    } catch (error) {
      this.#logger.debug('the content of an object is not in a file', { error: String(error) })
      this.drop()
    }
  }

  finish(): Part | undefined {
    if (this.#fd === undefined) return undefined
    closeSync(this.#fd)
    this.#fd = undefined
    return { type: 'file', chunks: [fileChunk(this.#file)] }
  }

  drop(): void {
    if (this.#fd === undefined) return
    closeSync(this.#fd)
    this.#fd = undefined
    removeLater(this.#file.path)
  }
}

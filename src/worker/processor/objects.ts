// The objects that a processor holds for its tasks: functions, arguments, serializers.

import { copyOf } from '../../base/bytes.js'
import { DeserializeError, type StorageFullError } from '../../base/errors.js'
import type { ObjectId } from '../../base/ids.js'
import {
  closeObjectFile,
  fill,
  ObjectFiles,
  openFile,
  readObjectFile,
  readOpenFile,
} from '../../runtime/object-files.js'
import { isMemoryTag, memoryOf } from '../../serializer/bytes/message.js'
import type { AttachmentBytes } from '../../serializer/default-serializer.js'
import { textOf } from '../../serializer/refusal.js'
import { pendingImportOf } from '../../serializer/pending-read.js'
import {
  defaultSerializer,
  deserializeForAll,
  type Serializer,
} from '../../serializer/serializer.js'
import {
  codecFrom,
  codecOf,
  DEFAULT_SERIALIZER_CONTENT,
  defaultCodec,
  isSerializer,
  type TaskCodec,
} from '../../serializer/task-codec.js'
import type { ObjectContent } from '../../wire/message.js'
import { fileOf, joinChunks } from '../../wire/object-content.js'
import { refusedObjectError } from '../../wire/storage-refusal.js'
import { freezeData } from './freeze-data.js'

// The function in a stored object. Each task gets a copy, so that no task sees how another one has
// changed captured variables; an immutable function is deserialized once for all tasks.

/** A function received from a client. */
export type TaskFunction = (...parameters: unknown[]) => unknown

/** A stored function, or an attachment of one. */
export type StoredBytes = AttachmentBytes

interface Reading {
  readonly codec: TaskCodec
  readonly tokens: readonly object[]
  readonly outcome:
    | { readonly fn: TaskFunction; readonly isSteady: boolean }
    | { readonly failure: DeserializeError }
}

/** One function, with its last reading if further tasks can use it. */
export class StoredFunction {
  readonly #object: StoredBytes
  #counted: { readonly codec: TaskCodec; readonly count: number } | undefined
  #reading: Reading | undefined

  constructor(object: StoredBytes) {
    this.#object = object
  }

  /** The function that was read last, if further tasks can use it. */
  get shared(): TaskFunction | undefined {
    const outcome = this.#reading?.outcome
    return outcome !== undefined && 'fn' in outcome ? outcome.fn : undefined
  }

  /** How many attachments the function has. Throws `DeserializeError`. */
  attachmentCount(codec: TaskCodec): number {
    if (this.#counted?.codec !== codec) {
      this.#counted = { codec, count: codec.attachmentCount(this.#object.bytes) }
    }
    return this.#counted.count
  }

  /**
   * The function, for one task: a shared one only if it is immutable, and codec and attachments are
   * the same. Throws `DeserializeError`, always the same one, if it cannot be read, and
   * `PendingImport` if it must wait for an import.
   */
  of(codec: TaskCodec, attachments: readonly StoredBytes[]): TaskFunction {
    const known = this.#reading
    const outcome =
      known !== undefined && isUpToDate(known, codec, attachments)
        ? known.outcome
        : read(this.#object, codec, attachments)
    if ('failure' in outcome || outcome.isSteady) {
      this.#reading = { codec, tokens: attachments.map(({ token }) => token), outcome }
    }
    if ('failure' in outcome) throw outcome.failure
    return outcome.fn
  }
}

function isUpToDate(
  { codec: lastCodec, tokens }: Reading,
  codec: TaskCodec,
  attachments: readonly StoredBytes[],
): boolean {
  if (lastCodec !== codec || tokens.length !== attachments.length) return false
  for (let index = 0; index < tokens.length; index += 1) {
    if (tokens[index] !== attachments[index]?.token) return false
  }
  return true
}

function read(
  object: StoredBytes,
  codec: TaskCodec,
  attachments: readonly StoredBytes[],
): Reading['outcome'] {
  try {
    const { value, isSteady } = codec.deserializeFunction(object.bytes, attachments)
    if (typeof value !== 'function') throw new DeserializeError('the object is not a function')
    return { fn: value as TaskFunction, isSteady }
  } catch (error) {
    const pending = pendingImportOf(error)
    if (pending !== undefined) throw pending
    if (error instanceof DeserializeError) return { failure: error }
    const text = `the function cannot be read: ${textOf(error)}`
    return { failure: new DeserializeError(text, { cause: error }) }
  }
}

/** Smaller chunks are views of a read buffer, which they would keep in memory. */
const LARGE_CHUNK_BYTES = 16 * 1024

interface ClientCodec {
  readonly codec: TaskCodec
  readonly serializer: Serializer
}

/** An open file with the content of an object. */
interface ContentFile {
  readonly fd: number
  readonly byteLength: number
}

/** The most files that are open; the content of further ones is read at once. */
const MAX_OPEN = 256
/** With more tasks that may read it, the content is kept in memory. */
const MAX_READERS = 1_000
/** How much of what is read again and again is kept in memory at most, and for how long. */
const [MAX_COPIED_BYTES, COPIED_MS] = [16 * 1024 ** 2, 1_000]

/** One object. Tasks that need it keep it alive after it is deleted from the store. */
export class StoredObject implements StoredBytes {
  static #openCount = 0
  static #copiedBytes = 0
  readonly token: object = {}
  #chunks: readonly Uint8Array[]
  /** Content that has not been read, or only into the memory of tasks. */
  #file: ContentFile | undefined
  #wasRead = false
  /** The content of the file as well, which is faster to copy from. No task gets this memory. */
  #copied: { readonly bytes: Uint8Array; readonly timer: NodeJS.Timeout } | undefined
  /** The inputs of tasks that may still read it. */
  readonly #readers = new Set<object>()
  /** Its file was closed, or cannot be read, before its content was in memory. */
  #isGone = false
  #function: StoredFunction | undefined
  #shared: { readonly codec: TaskCodec; readonly value: unknown } | undefined
  #codec: ClientCodec | { readonly failure: DeserializeError } | undefined
  /** Why it was not stored, and cannot be used; undefined: it was. */
  refusal: StorageFullError | undefined
  /** If it is a function: how long its last call took; Infinity before the first. */
  lastCallMs: number = Infinity

  constructor(chunks: readonly Uint8Array[], file?: ContentFile) {
    this.#chunks = chunks.map((chunk) =>
      chunk.byteLength < LARGE_CHUNK_BYTES ? copyOf(chunk) : chunk,
    )
    this.#file = file
  }

  /** The object whose content is in a file; undefined if that is gone. */
  static ofFile(chunks: readonly Uint8Array[]): StoredObject | undefined {
    const file = fileOf(chunks)
    if (file === undefined || StoredObject.#openCount >= MAX_OPEN) return ofBytes(chunks)
    try {
      const fd = openFile(file.path)
      StoredObject.#openCount += 1
      return new StoredObject([], { fd, byteLength: file.byteLength })
    } catch {
      return undefined
    }
  }

  /** A task has it among its inputs, and may read it later. */
  expect(reader: object): void {
    if (this.#file === undefined) return
    this.#readers.add(reader)
    // Tasks that were skipped, or that failed, are never heard of again.
    if (this.#readers.size > MAX_READERS) this.#load()
  }

  /** The task has read it. */
  onRead(reader: object): void {
    this.#readers.delete(reader)
  }

  /** It is deleted from the store: only tasks that have not read it need its content. */
  detach(): void {
    if (this.#file === undefined) return
    if (this.#readers.size > 0) return this.#load()
    this.#isGone = true
    this.#close()
  }

  /**
   * The value, for one task. If the file holds only a buffer, it is read directly into the buffer
   * that the task gets. Throws what reading a value throws.
   */
  value(codec: TaskCodec): unknown {
    const file = codec === defaultCodec ? this.#file : undefined
    const copied = file && this.#copyOf(file)
    if (copied !== undefined) return codec.deserialize(copied)
    return (file && memoryIn(file)) ?? codec.deserialize(this.bytes)
  }

  /** The content of a file that is read for the second time, if there is room for it. */
  #copyOf({ fd, byteLength }: ContentFile): Uint8Array | undefined {
    this.#copied?.timer.refresh()
    if (this.#copied !== undefined) return this.#copied.bytes
    const isFirst = !this.#wasRead
    this.#wasRead = true
    if (isFirst || StoredObject.#copiedBytes + byteLength > MAX_COPIED_BYTES) return undefined
    const bytes = readOpenFile(fd, byteLength)
    if (bytes === undefined) return undefined
    StoredObject.#copiedBytes += byteLength
    this.#copied = { bytes, timer: setTimeout(() => this.#dropCopy(), COPIED_MS).unref() }
    return bytes
  }

  #dropCopy(): void {
    if (this.#copied === undefined) return
    clearTimeout(this.#copied.timer)
    StoredObject.#copiedBytes -= this.#copied.bytes.byteLength
    this.#copied = undefined
  }

  /** Does not throw: a file that cannot be read concerns only the tasks that need it. */
  #load(): void {
    const file = this.#file
    if (file === undefined) return
    try {
      const bytes = this.#copied?.bytes ?? readOpenFile(file.fd, file.byteLength)
      if (bytes === undefined) this.#isGone = true
      else this.#chunks = [bytes]
    } catch {
      this.#isGone = true
    }
    this.#close()
  }

  #close(): void {
    if (this.#file === undefined) return
    closeObjectFile(this.#file.fd)
    this.#file = undefined
    this.#dropCopy()
    this.#readers.clear()
    StoredObject.#openCount -= 1
  }

  /** The content. Throws `ProtocolError` if it is longer than a single buffer can be. */
  get bytes(): Uint8Array {
    this.#load()
    if (this.#isGone) throw new DeserializeError('the file of the object is gone')
    const bytes = joinChunks(this.#chunks)
    if (this.#chunks.length > 1) this.#chunks = [bytes]
    return bytes
  }

  /** For a function: how many of a task's last arguments are its attachments. */
  attachmentCount(codec: TaskCodec): number {
    this.#function ??= new StoredFunction(this)
    return this.#function.attachmentCount(codec)
  }

  /** For a function: the function itself. See `StoredFunction`. */
  function(codec: TaskCodec, attachments: readonly StoredBytes[]): TaskFunction {
    this.#function ??= new StoredFunction(this)
    return this.#function.of(codec, attachments)
  }

  /** For a function: the one that was read last, if further tasks can use it. */
  get sharedFunction(): TaskFunction | undefined {
    return this.#function?.shared
  }

  /**
   * For the serializer of a client: the codec that reads its tasks, loaded once. Throws
   * `DeserializeError`, always the same one, if it cannot be read, and `PendingImport` if it must
   * wait for an import.
   */
  codec(): TaskCodec {
    return this.#clientCodec().codec
  }

  /** The client's serializer or a copy of it: always the same one for the same codec. */
  clientSerializer(): Serializer {
    return this.#clientCodec().serializer
  }

  /**
   * For the value of a reference: plain data is created once for all tasks and frozen. Of any other
   * value, each task gets a copy in which plain data is frozen. Throws what reading a value throws.
   */
  shared(codec: TaskCodec): unknown {
    if (this.#shared?.codec === codec) return this.#shared.value
    const value = this.value(codec)
    if (freezeData(value)) this.#shared = { codec, value }
    return value
  }

  /** Whether the content is a pickle, and therefore comes from Python. */
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

/** The object, with its content in memory. */
function ofBytes(chunks: readonly Uint8Array[]): StoredObject | undefined {
  const bytes = readObjectFile(chunks)
  return bytes && new StoredObject([bytes])
}

/** The buffer in a file that holds nothing else; undefined for all else. */
function memoryIn({ fd, byteLength }: ContentFile): unknown {
  const first = Buffer.alloc(1)
  if (!fill(first, fd, 0) || !isMemoryTag(first[0] ?? 0)) return undefined
  const content = Buffer.allocUnsafeSlow(byteLength - 1)
  if (!fill(content, fd, 1)) return undefined
  return memoryOf(first[0] ?? 0, content.buffer)
}

/** Throws what reading a value throws. */
function readClientCodec(content: Uint8Array): ClientCodec {
  if (Buffer.from(content).toString('latin1') === DEFAULT_SERIALIZER_CONTENT) {
    return { codec: defaultCodec, serializer: defaultSerializer }
  }
  const serializer = deserializeForAll(content)
  if (isSerializer(serializer)) return { codec: codecOf(serializer), serializer }
  // Throws, saying what was found instead.
  return { codec: codecFrom(content), serializer: defaultSerializer }
}

/** Objects by id. */
export class ObjectStore {
  /** The files that this process shares with the scheduler. */
  readonly files: ObjectFiles = new ObjectFiles()
  readonly #objects = new Map<ObjectId, StoredObject>()
  /** Objects whose files were gone when they arrived. Invariant: none of them is stored. */
  readonly #lost = new Set<ObjectId>()

  get size(): number {
    return this.#objects.size
  }

  get(id: ObjectId): StoredObject | undefined {
    return this.#objects.get(id)
  }

  /** Whether the file of an object was gone, and the object has not arrived again. */
  isLost(id: ObjectId): boolean {
    return this.#lost.has(id)
  }

  /**
   * Stores all objects of a message. The lists are parallel. Returns those whose files are gone:
   * the scheduler has moved or deleted their content.
   */
  store({ objectIds, objectTypes, objectBytes }: ObjectContent): readonly ObjectId[] {
    const lost: ObjectId[] = []
    for (const [index, id] of objectIds.entries()) {
      const chunks = objectBytes[index] ?? []
      if (objectTypes[index] !== 'file') {
        const stored = new StoredObject(chunks)
        if (objectTypes[index] === 'refused') stored.refusal = refusedObjectError(id, chunks)
        this.#put(id, stored)
        continue
      }
      const object = StoredObject.ofFile(chunks)
      if (object !== undefined) this.#put(id, object)
      else lost.push(id)
    }
    for (const id of lost) {
      this.delete([id])
      this.#lost.add(id)
    }
    return lost
  }

  /** Stores an object that was created here. */
  keep(id: ObjectId, chunks: readonly Uint8Array[]): void {
    this.#put(id, new StoredObject(chunks))
  }

  delete(ids: readonly ObjectId[]): void {
    for (const id of ids) {
      this.#objects.get(id)?.detach()
      this.#objects.delete(id)
      this.#lost.delete(id)
    }
  }

  clear(): void {
    for (const object of this.#objects.values()) object.detach()
    this.#objects.clear()
    this.#lost.clear()
  }

  #put(id: ObjectId, object: StoredObject): void {
    this.#objects.get(id)?.detach()
    this.#lost.delete(id)
    this.#objects.set(id, object)
  }
}

// The references of one client: which are valid, and when their objects can be deleted.

import { inspect } from 'node:util'
import { asBuffer } from '../../base/bytes.js'
import {
  ClientClosedError,
  ConfigError,
  ConnectError,
  MissingObjectError,
  TimeoutError,
} from '../../base/errors.js'
import { idToHex, type ObjectId } from '../../base/ids.js'
import { checkNames } from '../../base/option.js'
import { SharedRegistry } from '../../base/finalization.js'
import type { FiledContent, SharedAnswer, SharedCall } from '../../core/client/events.js'
import type { ObjectFiles } from '../../runtime/object-files.js'
import { memorySize, type PlainMemory, plainMemoryOf } from '../../serializer/bytes/message.js'
import { withPathPrefix } from '../../serializer/refusal.js'
import { isWellFormed } from '../../serializer/value/packed/shapes.js'
import { serializeTo, type TaskCodec } from '../../serializer/task-codec.js'
import { argumentName, fileOf } from '../../wire/object-content.js'
import type { ClientConnection } from '../connection.js'
import type { ObjectIds } from '../ids.js'

// The result of `sendObject`: a value that is stored in the cluster, to be used as an argument.

/** The owner of one client's objects. */
interface ObjectKeeper {
  /** Whether the object of this reference (still) exists. */
  has(reference: ObjectReference<unknown>): boolean
  /** The reference is no longer used. */
  release(reference: ObjectReference<unknown>): void
}

/** The properties of a reference. */
interface ObjectReferenceSetup {
  readonly keeper: ObjectKeeper
  readonly objectId: ObjectId
  readonly name: string
  readonly sizeBytes: number
  /** Another client has its content. */
  readonly isForeign: boolean
}

/**
 * A value in the cluster. It replaces the value as an argument of `submit`, as an input of `map` or
 * `starmap`, and in graphs. The value is deleted when the reference has been released or
 * garbage-collected and no task needs it. Belongs to its client.
 */
export class ObjectReference<T> implements Disposable {
  /** For type inference only: there is no such property. @internal */
  declare readonly valueType?: T
  readonly #setup: ObjectReferenceSetup

  static {
    // What `console.log` shows.
    const value = function (this: ObjectReference<unknown>): string {
      return this.toString()
    }
    Object.defineProperty(this.prototype, inspect.custom, { value })
  }

  /** References are created by `sendObject`. @internal */
  constructor(setup: ObjectReferenceSetup) {
    this.#setup = setup
  }

  /** The properties of a reference, for the library only. @internal */
  static setupOf(reference: ObjectReference<unknown>): ObjectReferenceSetup {
    return reference.#setup
  }

  /** The id of the object, in hex. Equal values have the same one. */
  get id(): string {
    return idToHex(this.#setup.objectId)
  }

  /** As given to `sendObject`; '' without one. */
  get name(): string {
    return this.#setup.name
  }

  /** The size of the serialized value, in bytes. */
  get sizeBytes(): number {
    return this.#setup.sizeBytes
  }

  /**
   * The value is no longer needed. Tasks that were submitted with it still receive it; later ones
   * fail with `MissingObjectError`. May be called repeatedly.
   */
  release(): void {
    this.#setup.keeper.release(this)
  }

  /** The same as `release`. */
  [Symbol.dispose](): void {
    this.release()
  }

  /** The name or the id, and the size, for display. */
  toString(): string {
    const { name, sizeBytes } = this.#setup
    return `ObjectReference { ${name === '' ? this.id : name}, ${sizeBytes} bytes }`
  }
}

/** How an object is stored. */
export interface SendObjectOptions {
  /** For monitors, and for `shared`. At most 1,000 characters. Default: made from its id. */
  readonly name?: string | undefined
  /**
   * True: other clients find it by its name, with `Client.object`, instead of any other object that
   * had the name before. It stays in the cluster after its reference was released, as long as a
   * client has a reference to it, and then for the scheduler's `sharedRetentionMs`. Default: false.
   */
  readonly shared?: boolean | undefined
  /**
   * `all`: all workers fetch the object now, and workers that start later do so when they connect,
   * instead of with the first task that needs it. Default: no worker does.
   */
  readonly replicate?: 'all' | undefined
}

interface CheckedSendOptions {
  readonly name: string
  readonly isShared: boolean
  readonly isReplicated: boolean
}

/** The pin of a reference, separate from it because the reference may be garbage by then. */
interface Pin {
  readonly objectId: ObjectId
  isValid: boolean
}

const NAMES: Record<keyof SendObjectOptions, true> = {
  name: true,
  shared: true,
  replicate: true,
}
const MAX_NAME_LENGTH = 1_000

/** Smaller memories are hashed, like any other value. */
const LARGE_MEMORY_BYTES = 64 * 1024
/** At most this many memories that look alike, and that look different; others are hashed. */
const [MAX_ALIKE, MAX_LOOKS] = [4, 1_000]
/** At most this many are in files. */
const MAX_FILES = 500
/** At most this much is kept of a file that was read. */
const MAX_LAST_BYTES = 16 * 1024 ** 2
/** How many bytes of a memory are looked at first: at its beginning, and all over it. */
const [FIRST_LOOKS, LOOKS] = [64, 512]

/** What was made of a memory. */
export type SentMemory = Uint8Array | FiledContent

/**
 * The large memories that were sent recently. One that was sent before, and has not changed since,
 * is compared with what was sent, which is faster than to copy and hash it again.
 */
export class LargeMemories {
  readonly #ids: ObjectIds
  readonly #files: ObjectFiles
  /** What was made of them, by class, size and some of their bytes. */
  readonly #sent = new Map<string, WeakRef<SentMemory>[]>()
  /** The last one that was found in a file: reading it for each task would take longer. */
  #last: { readonly content: FiledContent; readonly bytes: Uint8Array } | undefined
  /** Files that were written but never became an object. */
  readonly #lost: SharedRegistry<string>

  constructor(ids: ObjectIds, files: ObjectFiles) {
    this.#ids = ids
    this.#files = files
    this.#lost = new SharedRegistry((path) => files.release(path))
  }

  /**
   * The value as bytes, which must not be changed. Throws what the codec throws. `unchanged`: large
   * memories that have not changed since these bytes were made of them; it gets this one as well.
   */
  serialize(value: unknown, codec: TaskCodec, unchanged?: Map<unknown, SentMemory>): SentMemory {
    const known = unchanged?.get(value)
    if (known !== undefined && this.#isHeld(known)) return known
    const content = this.#serialize(value, codec)
    if (memorySize(value) >= LARGE_MEMORY_BYTES) unchanged?.set(value, content)
    return content
  }

  #serialize(value: unknown, codec: TaskCodec): SentMemory {
    const isLarge = codec.isNamed !== undefined && memorySize(value) >= LARGE_MEMORY_BYTES
    const memory = isLarge ? plainMemoryOf(value) : undefined
    if (memory === undefined) return codec.serialize(value)
    const look = lookOf(memory)
    const sent = this.#sent.get(look) ?? []
    for (const each of sent) {
      const content = each.deref()
      if (this.#isHeld(content) && this.#isSame(content, memory.content)) return content
    }
    const content = this.#write(value as object, codec)
    const alike = sent.filter((each) => this.#isHeld(each.deref()))
    if (alike.length < MAX_ALIKE && this.#hasRoom()) {
      this.#ids.give(content)
      this.#sent.set(look, [...alike, new WeakRef(content)])
    }
    return content
  }

  /** Into a file if possible: then the value is copied once, and takes no memory here. */
  #write(value: object, codec: TaskCodec): SentMemory {
    const content = serializeTo(codec, value, (pieces) => {
      return this.#files.heldCount < MAX_FILES ? this.#files.put(pieces) : undefined
    })
    if (content instanceof Uint8Array) return content
    const path = pathOf(content)
    this.#files.hold(path)
    this.#lost.register(content, path)
    return content
  }

  /** Otherwise it was not needed any more, and is gone. */
  #isHeld(content: SentMemory | undefined): content is SentMemory {
    if (content === undefined || content instanceof Uint8Array) return content !== undefined
    return this.#files.holds(pathOf(content))
  }

  #isSame(content: SentMemory, memory: Uint8Array): boolean {
    if (content instanceof Uint8Array) return endsWith(content, memory)
    if (this.#last?.content === content) return endsWith(this.#last.bytes, memory)
    if (!this.#files.endsWith([content.chunk], memory)) return false
    const bytes =
      content.byteLength > MAX_LAST_BYTES ? undefined : this.#files.read([content.chunk])
    this.#last = bytes && { content, bytes }
    return true
  }

  /** What still exists is kept, so that equal values have one id. */
  #hasRoom(): boolean {
    if (this.#sent.size < MAX_LOOKS) return true
    for (const [look, sent] of this.#sent) {
      if (sent.every((each) => each.deref() === undefined)) this.#sent.delete(look)
    }
    return this.#sent.size < MAX_LOOKS
  }
}

function pathOf({ chunk }: FiledContent): string {
  return fileOf([chunk])?.path ?? ''
}

/** Memories that look different are different. */
function lookOf({ kind, content }: PlainMemory): string {
  const { byteLength } = content
  // FNV-1a
  let hash = 0x811c9dc5
  for (let count = -FIRST_LOOKS; count < LOOKS; count += 1) {
    const at =
      count < 0 ? count + FIRST_LOOKS : Math.floor((count * (byteLength - 1)) / (LOOKS - 1))
    hash = Math.imul(hash ^ (content[at] ?? 0), 0x01000193)
  }
  return `${kind} ${byteLength} ${hash}`
}

function endsWith(bytes: Uint8Array, content: Uint8Array): boolean {
  return asBuffer(bytes.subarray(bytes.byteLength - content.byteLength)).equals(content)
}

/** The references of one client. */
export class ObjectReferences implements ObjectKeeper {
  /** What they and the arguments of tasks are made of. */
  readonly memories: LargeMemories
  readonly #connection: ClientConnection
  readonly #pins = new WeakMap<ObjectReference<unknown>, Pin>()
  /** Valid pins. */
  readonly #valid = new Set<Pin>()
  readonly #registry: SharedRegistry<Pin>
  #lastTicket = 0

  constructor(connection: ClientConnection) {
    this.#connection = connection
    this.memories = new LargeMemories(connection.objectIds, connection.files)
    this.#registry = new SharedRegistry((pin) => this.#unpin(pin))
  }

  /** Stores a value. Throws `SerializeError`, `ConfigError`, and as `checkOpen` does. */
  send(value: unknown, options: SendObjectOptions): ObjectReference<unknown> {
    const { name, isShared, isReplicated } = checkOptions(options)
    this.#connection.checkOpen()
    const { serializer, objectIds } = this.#connection
    const content = this.#serialize(value, serializer)
    const isFiled = !(content instanceof Uint8Array)
    const objectId = isFiled ? objectIds.givenTo(content) : objectIds.of(content)
    const stored = { id: objectId, name: argumentName(name, objectId), content }
    const sharedAs = isShared ? name : undefined
    this.#connection.request({ type: 'objectPinned', value: stored, sharedAs, isReplicated })
    return this.#referTo({ objectId, name, sizeBytes: content.byteLength, isForeign: false })
  }

  /**
   * Refers to the object that a client shares by this name. Rejects like `Client.object`.
   */
  async find(name: string): Promise<ObjectReference<unknown>> {
    const { outcome, id: objectId, sizeBytes, isForeign } = await this.#call('find', name)
    if (outcome === 'found') return this.#referTo({ objectId, name, sizeBytes, isForeign })
    throw new MissingObjectError(`no object is shared by the name ${JSON.stringify(name)}`)
  }

  /** No object has this name any more. Whether one had. Rejects like `Client.deleteObject`. */
  async remove(name: string): Promise<boolean> {
    const { outcome } = await this.#call('remove', name)
    return outcome === 'removed'
  }

  async #call(type: SharedCall['type'], name: string): Promise<SharedAnswer> {
    checkSharedName(name)
    const connection = this.#connection
    connection.checkOpen()
    const { sharedCalls, address, settings } = connection
    this.#lastTicket += 1
    const ticket = this.#lastTicket
    connection.retain()
    try {
      const answer = await new Promise<SharedAnswer>((resolve, reject) => {
        const giveUp = (): void => {
          const after = `within ${settings.timeoutMs} ms`
          reject(new TimeoutError(`the scheduler at ${address} did not answer ${after}`))
          sharedCalls.set(ticket, (late) => this.#dropLate(ticket, late))
        }
        const timer = setTimeout(giveUp, settings.timeoutMs)
        sharedCalls.set(ticket, (given) => {
          clearTimeout(timer)
          sharedCalls.delete(ticket)
          resolve(given)
        })
        connection.request({ type: 'sharedCalled', call: { ticket, type, name } })
      })
      if (answer.outcome === 'closed') {
        connection.checkOpen()
        throw new ClientClosedError()
      }
      if (answer.outcome === 'unsupported') throw noNamesError(address)
      if (answer.outcome === 'unstored') throw unstoredError(name)
      return answer
    } finally {
      connection.release()
    }
  }

  /** The answer came after the call had been rejected. */
  #dropLate(ticket: number, { outcome, id }: SharedAnswer): void {
    this.#connection.sharedCalls.delete(ticket)
    if (outcome === 'found') this.#connection.request({ type: 'objectUnpinned', id })
  }

  #referTo(setup: Omit<ObjectReferenceSetup, 'keeper'>): ObjectReference<unknown> {
    const reference = new ObjectReference({ keeper: this, ...setup })
    const pin = { objectId: setup.objectId, isValid: true }
    this.#pins.set(reference, pin)
    this.#valid.add(pin)
    this.#registry.register(reference, pin, pin)
    return reference
  }

  has(reference: ObjectReference<unknown>): boolean {
    return this.#pins.get(reference)?.isValid === true
  }

  release(reference: ObjectReference<unknown>): void {
    const pin = this.#pins.get(reference)
    if (pin === undefined) return
    this.#registry.unregister(pin)
    this.#unpin(pin)
  }

  /** All objects are deleted: no reference is valid. */
  clear(): void {
    for (const pin of this.#valid) pin.isValid = false
    this.#valid.clear()
  }

  #serialize(value: unknown, serializer: ClientConnection['serializer']): SentMemory {
    serializer.check()
    try {
      return this.memories.serialize(value, serializer.codec)
    } catch (error) {
      throw withPathPrefix(error, ['object'])
    }
  }

  #unpin(pin: Pin): void {
    if (!this.#valid.delete(pin)) return
    pin.isValid = false
    this.#connection.request({ type: 'objectUnpinned', id: pin.objectId })
  }
}

function checkOptions(options: SendObjectOptions): CheckedSendOptions {
  checkNames('sendObject', NAMES, options)
  const { name = '', shared: isShared = false, replicate } = options
  if (typeof name !== 'string' || name.length > MAX_NAME_LENGTH) {
    throw new ConfigError(`option name: expected a text of at most ${MAX_NAME_LENGTH} characters`)
  }
  if (typeof isShared !== 'boolean') {
    throw new ConfigError('option shared: expected true or false')
  }
  if (isShared && name === '') {
    throw new ConfigError('option shared: the object needs a name; pass the option name, too')
  }
  if (isShared) checkSharedName(name)
  if (replicate !== undefined && replicate !== 'all') {
    throw new ConfigError("option replicate: expected 'all'")
  }
  return { name, isShared, isReplicated: replicate === 'all' }
}

/** Others must find it by exactly this name, after it was encoded as UTF-8. */
function checkSharedName(name: unknown): void {
  const isText = typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH
  if (isText && isWellFormed(name) && !name.includes('\0')) return
  throw new ConfigError(
    `name of a shared object: expected 1 to ${MAX_NAME_LENGTH} valid characters, and no NUL`,
  )
}

function unstoredError(name: string): MissingObjectError {
  const what = `the object that this client shares by the name ${JSON.stringify(name)}`
  return new MissingObjectError(`${what} is not stored: there is no room for it`)
}

function noNamesError(address: string): ConnectError {
  return new ConnectError(
    `the scheduler at ${address} does not share objects: it is older, or one of Python Scaler`,
  )
}

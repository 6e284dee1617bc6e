// Reads one unit. Objects are created empty when they are found, and filled in that order, so
// cycles are no problem.

import { types } from 'node:util'
import { DeserializeError } from '../../base/errors.js'
import { readBinaryTable } from '../bytes/binary.js'
import type { ByteReader } from '../bytes/reader.js'
import { Cell, MadeCell } from './cell.js'
import { type ClassCodec, type ClassCodecs, deserialized } from '../class/codecs.js'
import type { KnownThings } from '../class/registry.js'
import type { FunctionFactories } from '../function/factory.js'
import type { OriginalMembers } from '../class/originals.js'
import { ContentReader } from './content-reader.js'
import { createError } from './error.js'
import { FunctionReader, type PendingFunction, type ShippedFunctions } from '../function/reader.js'
import { readLeaf, readPrimitive, readReference, readSymbol } from '../bytes/leaf.js'
import { ownValue, type AnyFunction, type NativeNames } from '../module/native.js'
import type { ModuleLoader } from '../module/policy.js'
import { WRAPPED_CLASS } from './kind.js'
import * as tag from '../bytes/tag.js'

// What all messages of a serializer are read with, and what the units of one message share.

/** Shared by all messages. */
export interface ReaderTools {
  readonly natives: NativeNames
  readonly factories: FunctionFactories
  readonly shipped: ShippedFunctions
  readonly codecs: ClassCodecs
  readonly originals: OriginalMembers
  readonly loader: ModuleLoader
  /** The codec of a registered class, from its message. Throws `DeserializeError`. */
  readCodec(bytes: Uint8Array, known: KnownThings): ClassCodec
  /** A message inside this one. Throws `DeserializeError`. */
  readNested(bytes: Uint8Array): unknown
}

/** Shared by the units of a message. */
export interface ReaderContext {
  readonly tools: ReaderTools
  /** Classes and anchors that have arrived where this message is read: in a task, or a process. */
  readonly known: KnownThings
  /** The major version of the Node that wrote it. */
  readonly senderMajor: number
  /** The anchor with this identity. Throws `DeserializeError`. */
  anchor(id: string): object
  /** The value of an attachment. Throws `DeserializeError`. */
  attachment(number: number): unknown
}

/** An arguments object has no more elements than a call can have. */
const MAX_ARGUMENTS = 65_535

/** An object whose content comes later. */
interface Pending {
  readonly object: object
  readonly valueTag: number
  /** The special parts around the content: bits of kind.ts. */
  readonly flags: number
  readonly fn: PendingFunction | undefined
}

/** Reads one unit; a new reader is created for each. */
export class UnitReader {
  readonly reader: ByteReader
  readonly context: ReaderContext
  /** The identities of the anchors that the unit refers to. */
  readonly #anchors: readonly string[]
  readonly #binaries: readonly (ArrayBuffer | ArrayBufferView)[]
  readonly #content: ContentReader
  #functionReader: FunctionReader | undefined
  #binariesRead = 0
  /** Objects by number; a hole for one that is being created. */
  readonly #objects: (object | undefined)[] = []
  readonly #symbols: symbol[] = []
  readonly #codecs: ClassCodec[] = []
  /** Objects to fill. */
  readonly #queue: Pending[] = []
  #filled = 0

  /** `reader` is positioned at the binary table. Throws `DeserializeError`. */
  constructor(reader: ByteReader, context: ReaderContext, anchors: readonly string[]) {
    this.reader = reader
    this.context = context
    this.#anchors = anchors
    this.#binaries = readBinaryTable(reader)
    this.#content = new ContentReader(this)
  }

  /**
   * The first value, without its content. Throws `DeserializeError`, `PendingImport`, or whatever a
   * constructor throws for a wrong argument.
   */
  root(): unknown {
    return this.value()
  }

  /** Adopts the codec of a class, if the unit starts with one; the rest is not read. */
  codec(): void {
    if (this.reader.peek() !== tag.VALUE_REGISTERED) return
    this.reader.skip(1)
    this.context.tools.readCodec(this.#message(), this.context.known)
  }

  /** Reads the contents of all objects that were found. */
  drain(): void {
    for (; this.#filled < this.#queue.length; this.#filled += 1) {
      this.#fill(this.#queue[this.#filled] as Pending)
    }
  }

  /** The same, and the entries of private stores up to the end. */
  drainShipment(): void {
    this.drain()
    while (this.reader.byte() === 1) {
      this.#privateEntry()
      this.drain()
    }
  }

  /** Any value, the objects in it without their content. */
  value(): unknown {
    return this.valueOf(this.reader.byte())
  }

  valueOf(valueTag: number): unknown {
    if (valueTag < tag.VALUE_REFERENCE || valueTag >= tag.SMALL_INTEGER) {
      return readPrimitive(this.reader, valueTag)
    }
    if (valueTag === tag.VALUE_REFERENCE) return this.#reference()
    if (valueTag === tag.VALUE_RECORD) return this.#queued({}, valueTag)
    if (valueTag >= tag.VALUE_ATTACHED_PRIMITIVE) return this.#other(valueTag)
    return this.#numbered(valueTag)
  }

  /** A value that must be a function. */
  functionValue(): AnyFunction {
    const value = this.value()
    if (typeof value === 'function') return value as AnyFunction
    throw new DeserializeError('a function is missing: another value was found')
  }

  /** A primitive of any kind. */
  primitive(): unknown {
    const valueTag = this.reader.byte()
    if (valueTag === tag.VALUE_SYMBOL || valueTag === tag.VALUE_SYMBOL_REFERENCE) {
      return this.#other(valueTag)
    }
    return readPrimitive(this.reader, valueTag)
  }

  symbol(): symbol {
    const value = this.primitive()
    if (typeof value === 'symbol') return value
    throw new DeserializeError('a property key is not a symbol')
  }

  /** Created on demand: most units need none. */
  get #functions(): FunctionReader {
    this.#functionReader ??= new FunctionReader(this, this.#content)
    return this.#functionReader
  }

  #reference(): object {
    const object = this.#objects[this.reader.varint()]
    if (object !== undefined) return object
    throw new DeserializeError('the value refers to an object that it does not contain')
  }

  #queued(object: object, valueTag: number): object {
    this.#objects.push(object)
    this.#queue.push({ object, valueTag, flags: 0, fn: undefined })
    return object
  }

  /** Numbers follow the order in which objects are found, not that in which they are completed. */
  #numbered(valueTag: number): object {
    const number = this.#objects.length
    this.#objects.push(undefined)
    const container = this.#container(valueTag)
    if (container !== undefined) {
      this.#objects[number] = container
      this.#queue.push({ object: container, valueTag, flags: 0, fn: undefined })
      return container
    }
    return (this.#objects[number] = this.#complete(valueTag))
  }

  /** An empty object that is filled later. */
  #container(valueTag: number): object | undefined {
    switch (valueTag) {
      case tag.VALUE_RECORD:
        return {}
      case tag.VALUE_NULL_RECORD:
        return Object.create(null) as object
      case tag.VALUE_ARRAY:
        return []
      case tag.VALUE_SPARSE_ARRAY:
        return Object.assign([], { length: this.reader.varint() })
      case tag.VALUE_ARGUMENTS:
        return argumentsOf(this.reader.varint())
      case tag.VALUE_MAP:
        return new Map()
      case tag.VALUE_SET:
        return new Set()
      case tag.VALUE_ERROR:
        return createError(this.reader.text())
      case tag.VALUE_DOM_EXCEPTION:
        return new DOMException(this.reader.text(), this.reader.text())
      case tag.VALUE_CELL:
        return new Cell()
      case tag.VALUE_MADE:
        return new MadeCell()
      default:
        return undefined
    }
  }

  /** An object that is complete, or queues itself. */
  #complete(valueTag: number): object {
    switch (valueTag) {
      case tag.VALUE_WRAPPED:
        return this.#wrapped()
      case tag.VALUE_CLOSURE:
        return this.#closure()
      case tag.VALUE_BOUND:
        return this.#bound()
      case tag.VALUE_MEMBER:
        return this.#functions.member()
      case tag.VALUE_NATIVE:
        return this.#native()
      case tag.VALUE_EXPORT_FUNCTION:
        return this.#exported()
      case tag.VALUE_RUNTIME:
        return this.#functions.runtime(this.reader.byte() === 1 ? 'require' : 'import')
      case tag.VALUE_ANCHOR:
        return this.context.anchor(this.#anchorId())
      case tag.VALUE_STORE:
        return this.#store()
      case tag.VALUE_PROTOTYPE:
        return prototypeOfClass(this.functionValue())
      case tag.VALUE_CODED:
        return this.#coded()
      case tag.VALUE_ATTACHMENT:
        return needObject(this.context.attachment(this.reader.varint()))
      default:
        return this.#leaf(valueTag)
    }
  }

  #leaf(valueTag: number): object {
    if (valueTag === tag.VALUE_BINARY) return this.#binary()
    if (valueTag === tag.VALUE_BOXED) return box(this.primitive())
    const leaf = readLeaf(this.reader, valueTag)
    if (leaf !== undefined) return leaf
    throw new DeserializeError(
      `the value has a part (${valueTag}) that this version does not support`,
    )
  }

  #other(valueTag: number): unknown {
    switch (valueTag) {
      case tag.VALUE_ATTACHED_PRIMITIVE:
        return this.context.attachment(this.reader.varint())
      case tag.VALUE_EXPORT:
        return this.context.tools.loader.load(readReference(this.reader))
      case tag.VALUE_SYMBOL: {
        const symbol = readSymbol(this.reader, this.context.known)
        this.#symbols.push(symbol)
        return symbol
      }
      case tag.VALUE_REGISTERED:
        this.context.tools.readCodec(this.#message(), this.context.known)
        return this.functionValue()
      case tag.VALUE_SYMBOL_REFERENCE: {
        const symbol = this.#symbols[this.reader.varint()]
        if (symbol !== undefined) return symbol
        throw new DeserializeError('the value refers to a symbol that it does not contain')
      }
      default:
        throw new DeserializeError(
          `the value has a part (${valueTag}) that this version does not support`,
        )
    }
  }

  /** Only an object that was just created can be given another prototype. */
  #wrapped(): object {
    const flags = this.reader.byte()
    const prototype =
      (flags & WRAPPED_CLASS) === 0 ? undefined : prototypeOfClass(this.functionValue())
    const valueTag = this.reader.byte()
    const isRecord = valueTag === tag.VALUE_RECORD
    const object =
      prototype !== undefined && isRecord
        ? (Object.create(prototype) as object)
        : (this.#container(valueTag) ?? this.#leaf(valueTag))
    if (prototype !== undefined && !isRecord) Object.setPrototypeOf(object, prototype)
    this.#queue.push({ object, valueTag, flags, fn: undefined })
    return object
  }

  #closure(): AnyFunction {
    const fn = this.#functions.header()
    this.#queue.push({ object: fn.fn, valueTag: tag.VALUE_CLOSURE, flags: 0, fn })
    return fn.fn
  }

  #bound(): AnyFunction {
    const flags = this.reader.byte()
    const fn = this.#functions.bound()
    this.#queue.push({ object: fn, valueTag: tag.VALUE_BOUND, flags, fn: undefined })
    return fn
  }

  #native(): object {
    const name = this.reader.text()
    const object = this.context.tools.natives.find(name)
    if (object !== undefined) return object
    throw new DeserializeError(`Node ${process.versions.node} has no ${name}`)
  }

  #exported(): object {
    const reference = readReference(this.reader)
    const value = needObject(this.context.tools.loader.load(reference))
    if (typeof value === 'function') {
      this.context.tools.shipped.addParts(value as AnyFunction, { kind: 'reference', reference })
    }
    return value
  }

  #anchorId(): string {
    const id = this.#anchors[this.reader.varint()]
    if (id !== undefined) return id
    throw new DeserializeError('the value refers to a class that it does not contain')
  }

  #store(): object {
    const { known } = this.context
    const id = this.reader.text()
    const isSet = this.reader.byte() === 1
    const found = known.find(id)
    if (isSet ? types.isWeakSet(found) : types.isWeakMap(found)) return found as object
    const store = isSet ? new WeakSet() : new WeakMap()
    known.adopt(id, store)
    return store
  }

  /** In the process that gave the store its identity, existing entries stay. */
  #privateEntry(): void {
    const store = this.value()
    const key = needObject(this.value())
    const value = this.value()
    if (types.isWeakMap(store)) {
      if (!(this.#isOwn(store) && store.has(key))) store.set(key, value)
    } else if (types.isWeakSet(store)) {
      store.add(key)
    } else {
      throw new DeserializeError('a private field has no object')
    }
  }

  #isOwn(store: object): boolean {
    const { known } = this.context
    return known.isOwnId(known.idOf(store))
  }

  #coded(): object {
    const number = this.reader.varint()
    const { tools, known } = this.context
    if (number === 0) this.#codecs.push(tools.readCodec(this.#message(), known))
    const travelled = number === 0 ? this.#codecs.at(-1) : this.#codecs[number - 1]
    if (travelled === undefined) throw new DeserializeError('an instance has no codec')
    const codec = tools.codecs.ofClass(travelled.constructor) ?? travelled
    return deserialized(codec, tools.readNested(this.#message()))
  }

  #message(): Uint8Array {
    return this.reader.raw(this.reader.count(1))
  }

  #binary(): object {
    const binary = this.#binaries[this.#binariesRead++]
    if (binary !== undefined) return binary
    throw new DeserializeError('the value refers to more buffers than it contains')
  }

  #fill({ object, valueTag, flags, fn }: Pending): void {
    switch (valueTag) {
      case tag.VALUE_CLOSURE:
        if (fn !== undefined) this.#functions.content(fn)
        break
      case tag.VALUE_CELL:
        ;(object as Cell).fill(this.value())
        break
      case tag.VALUE_MADE:
        ;(object as MadeCell).fill(this.functionValue())
        break
      default:
        this.#content.fill(object, valueTag)
    }
    if (flags !== 0) this.#content.around(object, flags)
  }
}

function argumentsOf(length: number): object {
  if (length > MAX_ARGUMENTS) throw new DeserializeError('an arguments object is too long')
  return Reflect.apply(
    function (): object {
      return arguments
    },
    undefined,
    new Array(length),
  )
}

function box(primitive: unknown): object {
  if (primitive !== undefined && primitive !== null) return Object(primitive) as object
  throw new DeserializeError('undefined or null cannot be boxed')
}

function prototypeOfClass(constructor: AnyFunction): object {
  const prototype = ownValue(constructor, 'prototype')
  if (typeof prototype === 'object' && prototype !== null) return prototype
  // The prototype of `Function` is a function.
  if (typeof prototype === 'function') return prototype
  throw new DeserializeError('a class is missing: a function without a prototype was found')
}

function needObject(value: unknown): object {
  if ((typeof value === 'object' && value !== null) || typeof value === 'function') return value
  throw new DeserializeError('an object is missing: another value was found')
}

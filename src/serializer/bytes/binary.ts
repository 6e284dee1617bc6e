// Buffers and views of a value. They travel in a table before the graph, their bytes behind it, so
// that each byte is copied once each way and what shares memory here shares memory there:
//
//   count of memories: { byteLength, maxByteLength + 1 or 0 if fixed }
//   count of binaries: { kind, memory, and for a view: byteOffset, byteLength, 1 if it tracks }
//   … the graph …
//   the bytes of all memories, in order
//
// A view brings the bytes that it shows and no others: it often is a small part of its buffer, or
// of a pool that holds the secrets of others. Views that overlap travel as one memory and overlap
// in the same way afterwards. Only an ArrayBuffer that is itself part of the value travels whole,
// and all views of it stay at their places in it.

import { types } from 'node:util'
import { DeserializeError } from '../../base/errors.js'
import type { ByteReader } from './reader.js'
import type { ByteWriter } from './writer.js'

// Facts about buffers and views that TypeScript's library does not know or that take some care.

/** What ES2024 adds to `ArrayBuffer`; Node has had it since 20. */
interface ResizableArrayBuffer extends ArrayBuffer {
  readonly resizable: boolean
  readonly maxByteLength: number
  resize(byteLength: number): void
}

type ArrayBufferFactory = new (
  byteLength: number,
  options?: { readonly maxByteLength: number },
) => ArrayBuffer

/** The memory behind a view, whatever the view inherits from. */
export function bufferOf(view: ArrayBufferView): ArrayBufferLike {
  return Reflect.get(viewPrototype(view), 'buffer', view) as ArrayBufferLike
}

/** Where a view begins in its memory, whatever it inherits from. */
function byteOffsetOf(view: ArrayBufferView): number {
  return Reflect.get(viewPrototype(view), 'byteOffset', view) as number
}

/** The size of a buffer or view, whatever it inherits from. */
export function byteLengthOf(binary: ArrayBuffer | ArrayBufferView): number {
  const prototype = ArrayBuffer.isView(binary) ? viewPrototype(binary) : ArrayBuffer.prototype
  return Reflect.get(prototype, 'byteLength', binary) as number
}

function viewPrototype(view: ArrayBufferView): object {
  return types.isDataView(view) ? DataView.prototype : TYPED_ARRAY
}

const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object

/** The largest size that the buffer may be given, or undefined when its size is fixed. */
export function maxByteLengthOf(buffer: ArrayBuffer): number | undefined {
  const isResizable = Reflect.get(ArrayBuffer.prototype, 'resizable', buffer) as boolean
  if (!isResizable) return undefined
  return Reflect.get(ArrayBuffer.prototype, 'maxByteLength', buffer) as number
}

/** The bytes in an ArrayBuffer of their own, which neither a pool nor other code uses. One copy. */
export function copyToArrayBuffer(bytes: Uint8Array, maxByteLength?: number): ArrayBuffer {
  if (maxByteLength === undefined) {
    const copy = Buffer.allocUnsafeSlow(bytes.byteLength)
    copy.set(bytes)
    return copy.buffer
  }
  const buffer = new (ArrayBuffer as ArrayBufferFactory)(bytes.byteLength, { maxByteLength })
  new Uint8Array(buffer).set(bytes)
  return buffer
}

/** Whether the memory was given away by a transfer. */
export function isDetached(buffer: ArrayBuffer): boolean {
  if (byteLengthOf(buffer) > 0) return false
  try {
    new Uint8Array(buffer)
    return false
  } catch {
    return true
  }
}

/** Whether the length of the view follows the size of its buffer. */
function tracksLength(view: ArrayBufferView): boolean {
  const maxByteLength = maxByteLengthOf(bufferOf(view) as ArrayBuffer)
  // One that tracks reaches to the end (if it misses the end by a part of an element, it could not
  // be made anew), but others may, too.
  if (maxByteLength === undefined) return false
  const end = byteOffsetOf(view) + byteLengthOf(view)
  if (end !== byteLengthOf(bufferOf(view) as ArrayBuffer)) return false
  // There is no question for it: of the two, only the one that tracks survives the loss of its last
  // byte, or grows from nothing.
  const clone = structuredClone(view)
  const buffer = clone.buffer as ResizableArrayBuffer
  if (clone.byteLength > 0) {
    buffer.resize(buffer.byteLength - 1)
    return !isOutOfBounds(clone)
  }
  buffer.resize(Math.min(buffer.byteLength + LARGEST_ELEMENT, maxByteLength))
  return clone.byteLength > 0
}

const LARGEST_ELEMENT = 8

function isOutOfBounds(view: ArrayBufferView): boolean {
  try {
    if (view instanceof DataView) return view.byteLength < 0
    ;(view as Uint8Array).at(0)
    return false
  } catch {
    return true
  }
}

type ViewFactory = new (memory: ArrayBuffer, byteOffset: number, length?: number) => ArrayBufferView

/** Append only, like the tags: the position is what travels. */
const KINDS = [
  'ArrayBuffer',
  'Buffer',
  'DataView',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'Float16Array',
] as const

type Kind = (typeof KINDS)[number]

/** A part of an ArrayBuffer that travels, as an ArrayBuffer of its own. */
interface Memory {
  /** Where it begins in the source. */
  readonly start: number
  end: number
  /** The size of the elements of the views in it, in bytes. */
  elementBytes: number
  isTracked: boolean
  /** Unused bytes before it, so that each view begins at a multiple of its elements. */
  padding: number
  index: number
}

interface Binary {
  readonly kind: Kind
  readonly source: ArrayBuffer
  readonly byteOffset: number
  readonly byteLength: number
  readonly elementBytes: number
  readonly isTracking: boolean
  memory: Memory | undefined
}

interface MemoryHeader {
  readonly byteLength: number
  readonly maxByteLength: number | undefined
}

/** Collects the buffers and views of one value. */
export class BinaryTableWriter {
  readonly #bySource = new Map<ArrayBuffer, Binary[]>()
  readonly #binaries: Binary[] = []

  /** Adds an entry. The memory behind it must be neither shared nor detached. */
  add(value: ArrayBuffer | ArrayBufferView): void {
    const isView = ArrayBuffer.isView(value)
    const source = isView ? (bufferOf(value) as ArrayBuffer) : value
    const kind = kindOf(value)
    const binary: Binary = {
      kind,
      source,
      byteOffset: isView ? byteOffsetOf(value) : 0,
      byteLength: byteLengthOf(value),
      elementBytes: elementBytesOf(kind),
      isTracking: isView && tracksLength(value),
      memory: undefined,
    }
    this.#binaries.push(binary)
    const others = this.#bySource.get(source)
    if (others === undefined) this.#bySource.set(source, [binary])
    else others.push(binary)
  }

  /** Writes the table. Returns the bytes that must follow the graph, in this order. */
  finish(writer: ByteWriter): readonly Uint8Array[] {
    const pieces: Uint8Array[] = []
    const header: MemoryHeader[] = []
    for (const [source, binaries] of this.#bySource) {
      for (const memory of cut(source, binaries)) {
        memory.index = header.length
        header.push(headerOf(source, memory))
        if (memory.padding > 0) pieces.push(new Uint8Array(memory.padding))
        pieces.push(new Uint8Array(source, memory.start, memory.end - memory.start))
      }
    }
    writer.varint(header.length)
    for (const { byteLength, maxByteLength } of header) {
      writer.varint(byteLength)
      writer.varint(maxByteLength === undefined ? 0 : maxByteLength + 1)
    }
    writer.varint(this.#binaries.length)
    for (const binary of this.#binaries) writeBinary(writer, binary)
    return pieces
  }
}

/** Decides which parts of one ArrayBuffer travel and tells each binary which one holds it. */
function cut(source: ArrayBuffer, binaries: readonly Binary[]): readonly Memory[] {
  const isWhole = binaries.some(({ kind }) => kind === 'ArrayBuffer')
  const memories: Memory[] = []
  for (const binary of inOrder(binaries)) {
    const start = isWhole ? 0 : binary.byteOffset
    const end = isWhole || binary.isTracking ? byteLengthOf(source) : start + binary.byteLength
    let memory = memories.at(-1)
    if (memory === undefined || (start >= memory.end && !isWhole)) {
      memory = { start, end, elementBytes: 1, isTracked: isWhole, padding: 0, index: 0 }
      memories.push(memory)
    }
    memory.end = Math.max(memory.end, end)
    memory.elementBytes = Math.max(memory.elementBytes, binary.elementBytes)
    memory.isTracked ||= binary.isTracking
    binary.memory = memory
  }
  for (const memory of memories) memory.padding = memory.start % memory.elementBytes
  return memories
}

function inOrder(binaries: readonly Binary[]): readonly Binary[] {
  if (binaries.length === 1) return binaries
  return binaries.toSorted((a, b) => a.byteOffset - b.byteOffset)
}

/** Only what a view follows to its end keeps a size that may change. */
function headerOf(source: ArrayBuffer, { start, end, padding, isTracked }: Memory): MemoryHeader {
  const maxByteLength = isTracked ? maxByteLengthOf(source) : undefined
  return {
    byteLength: padding + end - start,
    maxByteLength: maxByteLength === undefined ? undefined : padding + maxByteLength - start,
  }
}

function writeBinary(writer: ByteWriter, binary: Binary): void {
  const { kind, byteOffset, byteLength, isTracking, memory } = binary
  writer.byte(KINDS.indexOf(kind))
  writer.varint(memory?.index ?? 0)
  if (kind === 'ArrayBuffer') return
  writer.varint(memory === undefined ? 0 : memory.padding + byteOffset - memory.start)
  writer.varint(byteLength)
  writer.byte(isTracking ? 1 : 0)
}

/** Reads the table and takes the bytes of its memories off the end. Throws `DeserializeError`. */
export function readBinaryTable(reader: ByteReader): (ArrayBuffer | ArrayBufferView)[] {
  const header: MemoryHeader[] = []
  let totalBytes = 0
  for (let left = reader.count(2); left > 0; left -= 1) {
    const byteLength = reader.varint()
    const maxByteLength = reader.varint()
    header.push({ byteLength, maxByteLength: maxByteLength === 0 ? undefined : maxByteLength - 1 })
    totalBytes += byteLength
  }
  let content = reader.rawFromEnd(totalBytes)
  const memories = header.map(({ byteLength, maxByteLength }) => {
    const memory = copyToArrayBuffer(content.subarray(0, byteLength), maxByteLength)
    content = content.subarray(byteLength)
    return memory
  })
  const binaries: (ArrayBuffer | ArrayBufferView)[] = []
  for (let left = reader.count(2); left > 0; left -= 1) binaries.push(readBinary(reader, memories))
  return binaries
}

function readBinary(
  reader: ByteReader,
  memories: readonly ArrayBuffer[],
): ArrayBuffer | ArrayBufferView {
  const kind = KINDS[reader.byte()]
  const memory = memories[reader.varint()]
  if (kind === undefined || memory === undefined) {
    throw new DeserializeError('the value has a kind of buffer that this version does not know')
  }
  if (kind === 'ArrayBuffer') return memory
  const byteOffset = reader.varint()
  const byteLength = reader.varint()
  const isTracking = reader.byte() === 1
  if (byteOffset + byteLength > memory.byteLength) {
    throw new DeserializeError('a view reaches beyond its buffer')
  }
  if (kind === 'Buffer') return Buffer.from(memory, byteOffset, byteLength)
  const factory = (globalThis as Readonly<Record<string, unknown>>)[kind] as ViewFactory | undefined
  if (factory === undefined) throw new DeserializeError(`this version of Node has no ${kind}`)
  if (isTracking) return new factory(memory, byteOffset)
  return new factory(memory, byteOffset, byteLength / elementBytesOf(kind))
}

function elementBytesOf(kind: Kind): number {
  const { BYTES_PER_ELEMENT: bytes } = globalThis[kind as 'Uint8Array'] as {
    BYTES_PER_ELEMENT?: number
  }
  return bytes ?? 1
}

const typedArrayTag = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)

function kindOf(value: ArrayBuffer | ArrayBufferView): Kind {
  if (Buffer.isBuffer(value)) return 'Buffer'
  if (!ArrayBuffer.isView(value)) return 'ArrayBuffer'
  // The built-in class behind any subclass and realm; a DataView has no such tag.
  const name = typedArrayTag?.get?.call(value) as Kind | undefined
  return name ?? 'DataView'
}

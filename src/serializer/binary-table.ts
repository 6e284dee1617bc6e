// Buffers and views of a value. They travel in a table before the graph, their bytes behind it, so
// that each byte is copied once each way and what shares memory here shares memory there:
//
//   count of memories: { byteLength, maxByteLength + 1 or 0 if fixed }
//   count of binaries: { kind, memory, and for a view: byteOffset, byteLength, 1 if it tracks }
//   … the graph …
//   the bytes of all memories, in order
//
// As with structuredClone a view brings its whole ArrayBuffer. A Node `Buffer` brings only its own
// bytes (it often is a slice of a pool that holds the secrets of others) unless its ArrayBuffer
// travels anyway; Buffers that overlap still do so afterwards.

import { DeserializeError } from '../base/errors.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import { copyToArrayBuffer, maxByteLengthOf, tracksLength } from './memory.js'

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
  readonly start: number
  end: number
  readonly index: number
}

interface Binary {
  readonly kind: Kind
  readonly source: ArrayBuffer
  readonly byteOffset: number
  readonly byteLength: number
  readonly isTracking: boolean
  memory: Memory | undefined
}

/** Collects the buffers and views of one value. */
export class BinaryTableWriter {
  readonly #bySource = new Map<ArrayBuffer, Binary[]>()
  readonly #binaries: Binary[] = []

  /** Adds an entry. The memory behind it must be neither shared nor detached. */
  add(value: ArrayBuffer | ArrayBufferView): void {
    const isView = ArrayBuffer.isView(value)
    const source = isView ? (value.buffer as ArrayBuffer) : value
    const binary: Binary = {
      kind: kindOf(value),
      source,
      byteOffset: isView ? value.byteOffset : 0,
      byteLength: value.byteLength,
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
    const header: { byteLength: number; maxByteLength: number | undefined }[] = []
    for (const [source, binaries] of this.#bySource) {
      for (const { start, end } of cut(source, binaries, pieces.length)) {
        pieces.push(new Uint8Array(source, start, end - start))
        header.push({ byteLength: end - start, maxByteLength: maxByteLengthOf(source) })
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
function cut(source: ArrayBuffer, binaries: readonly Binary[], firstIndex: number): Memory[] {
  if (binaries.some(({ kind }) => kind !== 'Buffer') || maxByteLengthOf(source) !== undefined) {
    const whole: Memory = { start: 0, end: source.byteLength, index: firstIndex }
    for (const binary of binaries) binary.memory = whole
    return [whole]
  }
  const memories: Memory[] = []
  for (const binary of binaries.toSorted((a, b) => a.byteOffset - b.byteOffset)) {
    const end = binary.byteOffset + binary.byteLength
    let last = memories.at(-1)
    if (last === undefined || binary.byteOffset >= last.end) {
      last = { start: binary.byteOffset, end, index: firstIndex + memories.length }
      memories.push(last)
    }
    last.end = Math.max(last.end, end)
    binary.memory = last
  }
  return memories
}

function writeBinary(writer: ByteWriter, binary: Binary): void {
  const { kind, byteOffset, byteLength, isTracking, memory } = binary
  writer.byte(KINDS.indexOf(kind))
  writer.varint(memory?.index ?? 0)
  if (kind === 'ArrayBuffer') return
  writer.varint(byteOffset - (memory?.start ?? 0))
  writer.varint(byteLength)
  writer.byte(isTracking ? 1 : 0)
}

/** Reads the table and takes the bytes of its memories off the end. Throws `DeserializeError`. */
export function readBinaryTable(reader: ByteReader): (ArrayBuffer | ArrayBufferView)[] {
  const header: { byteLength: number; maxByteLength: number | undefined }[] = []
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
  const { BYTES_PER_ELEMENT: elementBytes = 1 } = factory as { BYTES_PER_ELEMENT?: number }
  return new factory(memory, byteOffset, byteLength / elementBytes)
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

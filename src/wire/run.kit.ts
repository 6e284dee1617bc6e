// For tests: packed values from entries, and back. Programs write and read them with the serializer.

import { asBuffer } from '../base/bytes.js'
import { layoutOf } from './run.js'

const OFFSET_BYTES = 4

/** Packs entries that share `head`. */
export function pack(entries: readonly Uint8Array[], head: Uint8Array = new Uint8Array()): Buffer {
  const headEnd = OFFSET_BYTES + head.byteLength
  let offset = 0
  for (const entry of entries) offset += entry.byteLength
  const entriesAt = headEnd + OFFSET_BYTES * (entries.length + 1)
  const packed = Buffer.allocUnsafe(entriesAt + offset)
  packed.writeUInt32LE(head.byteLength, 0)
  packed.set(head, OFFSET_BYTES)
  offset = 0
  for (const [index, entry] of entries.entries()) {
    packed.writeUInt32LE(offset, headEnd + OFFSET_BYTES * index)
    packed.set(entry, entriesAt + offset)
    offset += entry.byteLength
  }
  packed.writeUInt32LE(offset, headEnd + OFFSET_BYTES * entries.length)
  return packed
}

/** The entries of packed bytes, as views. Throws `ProtocolError` for malformed ones. */
export function unpack(packed: Uint8Array, count: number): readonly Uint8Array[] {
  const bytes = asBuffer(packed)
  const { headEnd, entriesAt } = layoutOf(bytes, count)
  const start = entriesAt - bytes.readUInt32LE(headEnd)
  const entries: Uint8Array[] = []
  for (let index = 0; index < count; index += 1) {
    const at = headEnd + OFFSET_BYTES * index
    const from = start + bytes.readUInt32LE(at)
    entries.push(bytes.subarray(from, start + bytes.readUInt32LE(at + OFFSET_BYTES)))
  }
  return entries
}

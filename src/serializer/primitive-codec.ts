// Primitives inside a graph: one tag byte, then what it needs.

import { DeserializeError } from '../base/errors.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import * as tag from './tag.js'

/** Every primitive but a symbol. */
export type Primitive = string | number | boolean | bigint | undefined | null

/** Integers below this size take fewer bytes than a float64. */
const MAX_VARINT = 2 ** 40

/** Appends the tag and the value. */
export function writePrimitive(writer: ByteWriter, value: Primitive): void {
  if (typeof value === 'string') {
    writer.byte(tag.VALUE_TEXT)
    writer.text(value)
  } else if (typeof value === 'number') {
    writeNumber(writer, value)
  } else if (typeof value === 'boolean') {
    writer.byte(value ? tag.VALUE_TRUE : tag.VALUE_FALSE)
  } else if (typeof value === 'bigint') {
    writer.byte(tag.VALUE_BIGINT)
    writer.byte(value < 0n ? 1 : 0)
    writer.text((value < 0n ? -value : value).toString(16))
  } else {
    writer.byte(value === undefined ? tag.VALUE_UNDEFINED : tag.VALUE_NULL)
  }
}

function writeNumber(writer: ByteWriter, value: number): void {
  const isInteger = Number.isInteger(value) && !Object.is(value, -0)
  if (isInteger && value >= 0 && value < tag.SMALL_INTEGER) {
    writer.byte(tag.SMALL_INTEGER | value)
  } else if (isInteger && Math.abs(value) < MAX_VARINT) {
    writer.byte(tag.VALUE_INTEGER)
    writer.varint(value < 0 ? -2 * value - 1 : 2 * value)
  } else {
    writer.byte(tag.VALUE_FLOAT64)
    writer.float64(value)
  }
}

/** Reads the value behind a tag. Throws `DeserializeError` for a tag that is not of this file. */
export function readPrimitive(reader: ByteReader, valueTag: number): Primitive {
  if (valueTag >= tag.SMALL_INTEGER) return valueTag - tag.SMALL_INTEGER
  switch (valueTag) {
    case tag.VALUE_UNDEFINED:
      return undefined
    case tag.VALUE_NULL:
      return null
    case tag.VALUE_TRUE:
      return true
    case tag.VALUE_FALSE:
      return false
    case tag.VALUE_INTEGER:
      return readInteger(reader)
    case tag.VALUE_FLOAT64:
      return reader.float64()
    case tag.VALUE_TEXT:
      return reader.text()
    case tag.VALUE_BIGINT:
      return readBigint(reader)
    default:
      throw new DeserializeError(
        `the value has a part (${valueTag}) that this version does not know`,
      )
  }
}

function readInteger(reader: ByteReader): number {
  const zigzag = reader.varint()
  return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
}

function readBigint(reader: ByteReader): bigint {
  const isNegative = reader.byte() === 1
  const digits = reader.text()
  if (!/^[\da-f]+$/.test(digits)) throw new DeserializeError('a bigint is not a number')
  const size = BigInt(`0x${digits}`)
  return isNegative ? -size : size
}

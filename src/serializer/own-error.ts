// Writes the errors that an agent makes, byte for byte as the serializer would. Agents do not load
// the serializer, because they never handle the values of users.

import * as tag from './bytes/tag.js'
import { ByteWriter } from './bytes/writer.js'

/** The bytes of an error of this package whose properties are texts, counts or `undefined`. */
export function ownErrorToBytes(error: Error): Uint8Array {
  const writer = new ByteWriter()
  writer.byte(tag.MESSAGE_GRAPH)
  // No binary values, and no other objects.
  writer.varint(0)
  writer.varint(0)
  writer.byte(tag.VALUE_ERROR)
  writer.text(error.constructor.name)
  const properties = Object.entries(Object.getOwnPropertyDescriptors(error))
  writer.varint(properties.length)
  for (const [key, { value, enumerable }] of properties) {
    writer.byte(KEY_TEXT)
    writer.text(key)
    writer.byte(enumerable === true ? 1 : 0)
    writeValue(writer, value)
  }
  return writer.written
}

/** A key that is not a symbol. */
const KEY_TEXT = 0

function writeValue(writer: ByteWriter, value: unknown): void {
  if (typeof value === 'string') {
    writer.byte(tag.VALUE_TEXT)
    writer.text(value)
  } else if (typeof value !== 'number') {
    writer.byte(tag.VALUE_UNDEFINED)
  } else if (value < tag.SMALL_INTEGER) {
    writer.byte(tag.SMALL_INTEGER | value)
  } else {
    writer.byte(tag.VALUE_INTEGER)
    // Zigzag: the lowest bit is the sign.
    writer.varint(value * 2)
  }
}

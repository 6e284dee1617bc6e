// How many words the parts of a message take, so that the writer can have the right room from the
// start. Also where values are refused that the format cannot express.

import { ProtocolError } from '../base/errors.js'
import { MAX_DATA_BYTES, MAX_LIST_LENGTH, MAX_TEXT_BYTES } from './limits.js'

/** Words of a byte string; none where it is referenced, from `referenceFrom` bytes on. */
export function dataWords(value: Uint8Array, referenceFrom: number): number {
  const length = value.byteLength
  if (length > MAX_DATA_BYTES) throw tooLong('byte string', length, MAX_DATA_BYTES)
  return length >= referenceFrom ? 0 : (length + 7) >>> 3
}

/** Words of an id. */
export function idWords(value: string): number {
  const length = value.length
  if (length > MAX_TEXT_BYTES) throw tooLong('id', length, MAX_TEXT_BYTES)
  return (length + 7) >>> 3
}

/** Words of a text, with the zero byte at its end. */
export function textWords(value: string): number {
  const length = Buffer.byteLength(value, 'utf8') + 1
  if (length > MAX_TEXT_BYTES) throw tooLong('text', length, MAX_TEXT_BYTES)
  return (length + 7) >>> 3
}

/** Words of a list of byte strings. */
export function dataListWords(values: readonly Uint8Array[], referenceFrom: number): number {
  let words = elementWords(values.length)
  for (const value of values) words += dataWords(value, referenceFrom)
  return words
}

/** Words of a list of lists of byte strings. */
export function dataListListWords(
  values: readonly (readonly Uint8Array[])[],
  referenceFrom: number,
): number {
  let words = elementWords(values.length)
  for (const value of values) words += dataListWords(value, referenceFrom)
  return words
}

/** Words of a list of ids. */
export function idListWords(values: readonly string[]): number {
  let words = elementWords(values.length)
  for (const value of values) words += idWords(value)
  return words
}

/** Words of a list of enumerants. */
export function enumListWords(values: readonly string[]): number {
  return Math.ceil(elementWords(values.length) / 4)
}

/** Words of the elements of a list of structs, with their tag. */
export function structListWords(count: number, wordsPerElement: number): number {
  return 1 + elementWords(count * wordsPerElement)
}

function elementWords(words: number): number {
  if (words > MAX_LIST_LENGTH) {
    throw new ProtocolError(`list of ${words} words: longer than ${MAX_LIST_LENGTH}`)
  }
  return words
}

function tooLong(what: string, bytes: number, limit: number): ProtocolError {
  return new ProtocolError(`${what} of ${bytes} bytes: longer than ${limit}`)
}

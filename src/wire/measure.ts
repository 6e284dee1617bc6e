// How many words the parts of a message take, so that the writer can allocate the right size up
// front. Also refuses values that the format cannot express.

import { ProtocolError } from '../base/errors.js'
import { MAX_DATA_BYTES, MAX_LIST_LENGTH, MAX_TEXT_BYTES } from './limits.js'
import { NO_ELEMENTS, type Reader } from './reader.js'

// Enumerants are numbers on the wire and names in memory; a list of names in numeric order maps one
// to the other.

/** The name with this number. Throws a `ProtocolError` that names the `field` it came from. */
export function nameOf<Name extends string>(
  names: readonly Name[],
  code: number,
  field: string,
): Name {
  const name = names[code]
  if (name === undefined) {
    throw new ProtocolError(`${field}: unknown value ${code}, known are 0 to ${names.length - 1}`)
  }
  return name
}

/** The number of a name. Throws a `ProtocolError` that names the `field` it is for. */
export function codeOf<Name extends string>(
  names: readonly Name[],
  name: Name,
  field: string,
): number {
  // Faster than `indexOf` for lists this short.
  for (let code = 0; code < names.length; code += 1) if (names[code] === name) return code
  throw new ProtocolError(`${field}: unknown value ${String(name)}`)
}

// Reads the lists whose elements are not structs; lists of structs have generated readers. The
// length of a list was checked when the list was entered, so it can be trusted.

const WORD = 8

/** The list of byte strings behind a pointer: views of the message. */
export function readDataList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly Uint8Array[] {
  const count = reader.enterPointerList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride } = reader
  const list: Uint8Array[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(reader.data(at, at + WORD))
  }
  return list
}

/** The list of lists of byte strings behind a pointer. */
export function readDataListList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly (readonly Uint8Array[])[] {
  const count = reader.enterPointerList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride } = reader
  const list: (readonly Uint8Array[])[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(readDataList(reader, at, at + WORD))
  }
  return list
}

/** The list of ids behind a pointer: byte strings with one character per byte. */
export function readIdList(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly string[] {
  const count = reader.enterPointerList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride } = reader
  const list: string[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(reader.id(at, at + WORD))
  }
  return list
}

/** Reads the enumerants of the list entered last; `field` is for the error message. */
export function readEnumerants<Name extends string>(
  reader: Reader,
  count: number,
  names: readonly Name[],
  field: string,
): readonly Name[] {
  if (count === 0) return NO_ELEMENTS
  const { stride } = reader
  const list: Name[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(nameOf(names, reader.uint16(at, at + 2), field))
  }
  return list
}

/** Words of a byte string; 0 if it is referenced, from `referenceFrom` bytes on. */
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
  const length = utf8Length(value) + 1
  if (length > MAX_TEXT_BYTES) throw tooLong('text', length, MAX_TEXT_BYTES)
  return (length + 7) >>> 3
}

/** A text up to this length is handled in JavaScript: four times as fast as a call of Node's. */
export const MAX_SHORT_TEXT = 40

/** The length of a text in UTF-8. */
export function utf8Length(value: string): number {
  if (value.length > MAX_SHORT_TEXT) return Buffer.byteLength(value, 'utf8')
  let bits = 0
  for (let index = 0; index < value.length; index += 1) bits |= value.charCodeAt(index)
  return bits < 0x80 ? value.length : Buffer.byteLength(value, 'utf8')
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

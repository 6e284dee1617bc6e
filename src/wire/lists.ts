// Reads the lists whose elements are not structs; those of structs have generated readers. The
// length of a list has been paid for when it is entered, so it can be trusted.

import { nameOf } from './enumerant.js'
import { NO_ELEMENTS, type Reader } from './reader.js'

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

/** Reads the enumerants of the list that was entered last; `field` is for the error message. */
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

// Objects that hold no other objects: they are complete at once, without a place in the queue.

import { unreachable } from '../base/assert.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import { type Remade, remadeOf, remake } from './remade-native.js'
import * as tag from './tag.js'

/** The kinds of `ObjectKind` that are written here. */
export type LeafKind = 'date' | 'regexp' | 'url' | 'urlSearchParams' | 'remade'

/** Appends the tag and the object. May throw what a getter of a subclass throws. */
export function writeLeaf(writer: ByteWriter, object: object, kind: LeafKind): void {
  switch (kind) {
    case 'date':
      writer.byte(tag.VALUE_DATE)
      writer.float64(Date.prototype.getTime.call(object))
      break
    case 'regexp':
      writer.byte(tag.VALUE_REGEXP)
      writer.text(String(Reflect.get(RegExp.prototype, 'source', object)))
      writer.text(flagsOf(object))
      break
    case 'url':
      writer.byte(tag.VALUE_URL)
      writer.text(String(Reflect.get(URL.prototype, 'href', object)))
      break
    case 'urlSearchParams':
      writer.byte(tag.VALUE_URL_SEARCH_PARAMS)
      writer.text(URLSearchParams.prototype.toString.call(object))
      break
    case 'remade': {
      const { className, told } = remadeOf(object) as Remade
      writer.byte(tag.VALUE_REMADE)
      writer.text(className)
      writer.text(told)
      break
    }
    default:
      unreachable(kind)
  }
}

/** Whatever it inherits from. */
function flagsOf(regexp: object): string {
  return FLAGS.map(([flag, key]) => (Reflect.get(RegExp.prototype, key, regexp) ? flag : '')).join(
    '',
  )
}

const FLAGS = [
  ['d', 'hasIndices'],
  ['g', 'global'],
  ['i', 'ignoreCase'],
  ['m', 'multiline'],
  ['s', 'dotAll'],
  ['u', 'unicode'],
  ['v', 'unicodeSets'],
  ['y', 'sticky'],
] as const

/** Appends numbers eight bytes each, and their count. */
export function writeNumbers(writer: ByteWriter, numbers: readonly number[]): void {
  writer.byte(tag.VALUE_NUMBER_ARRAY)
  writer.varint(numbers.length)
  writer.float64s(numbers)
}

/** Reads the object behind a tag, or undefined if the tag is not one of this file. */
export function readLeaf(reader: ByteReader, valueTag: number): object | undefined {
  switch (valueTag) {
    case tag.VALUE_DATE:
      return new Date(reader.float64())
    case tag.VALUE_REGEXP:
      return new RegExp(reader.text(), reader.text())
    case tag.VALUE_URL:
      return new URL(reader.text())
    case tag.VALUE_URL_SEARCH_PARAMS:
      return new URLSearchParams(reader.text())
    case tag.VALUE_REMADE:
      return remake({ className: reader.text(), told: reader.text() })
    case tag.VALUE_NUMBER_ARRAY:
      return reader.float64s()
    default:
      return undefined
  }
}

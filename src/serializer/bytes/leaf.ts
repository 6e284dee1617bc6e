// Primitives inside a graph: one tag byte, then what it needs.

import { unreachable } from '../../base/assert.js'
import { DeserializeError } from '../../base/errors.js'
import type { Identities, KnownThings } from '../class/registry.js'
import type { ExportReference, ModuleReference } from '../module/policy.js'
import { type Remade, remadeOf, remake } from '../value/remade-native.js'
import type { ByteReader } from './reader.js'
import * as tag from './tag.js'
import type { ByteWriter } from './writer.js'

// Objects that hold no other objects: they are complete at once, without a place in the queue.

/** The kinds of `ObjectKind` that are written here. */
type LeafKind = 'date' | 'regexp' | 'url' | 'urlSearchParams' | 'remade'

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
      const { className, description } = remadeOf(object) as Remade
      writer.byte(tag.VALUE_REMADE)
      writer.text(className)
      writer.text(description)
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
      return remake({ className: reader.text(), description: reader.text() })
    case tag.VALUE_NUMBER_ARRAY:
      return reader.float64s()
    default:
      return undefined
  }
}

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

// References to what modules export, as bytes.

// Append only.
const MODULE_BUILTIN = 0
const MODULE_SPECIFIER = 1
const MODULE_PACKAGE_FILE = 2
const MODULE_OWN = 3

/** Appends the reference. */
export function writeReference(writer: ByteWriter, reference: ExportReference): void {
  writeModule(writer, reference.module)
  writer.byte(reference.form === 'require' ? 1 : 0)
  writer.varint(reference.path.length)
  for (const step of reference.path) writer.text(step)
}

function writeModule(writer: ByteWriter, module: ModuleReference): void {
  switch (module.kind) {
    case 'builtin':
      writer.byte(MODULE_BUILTIN)
      writer.text(module.id)
      break
    case 'specifier':
      writer.byte(MODULE_SPECIFIER)
      writer.text(module.specifier)
      writer.text(module.parent)
      break
    case 'packageFile':
      writer.byte(MODULE_PACKAGE_FILE)
      writer.text(module.packageName)
      writer.text(module.file)
      writer.text(module.parent)
      break
    default:
      writer.byte(MODULE_OWN)
      writer.text(module.file)
  }
}

/** The reference. Throws `DeserializeError`. */
export function readReference(reader: ByteReader): ExportReference {
  const module = readModule(reader)
  const form = reader.byte() === 1 ? 'require' : 'import'
  const path: string[] = []
  for (let left = reader.count(1); left > 0; left -= 1) path.push(reader.text())
  return { module, form, path }
}

function readModule(reader: ByteReader): ModuleReference {
  const kind = reader.byte()
  const text = reader.text()
  switch (kind) {
    case MODULE_BUILTIN:
      return { kind: 'builtin', id: text }
    case MODULE_SPECIFIER:
      return { kind: 'specifier', specifier: text, parent: reader.text() }
    case MODULE_PACKAGE_FILE:
      return {
        kind: 'packageFile',
        packageName: text,
        file: reader.text(),
        parent: reader.text(),
      }
    case MODULE_OWN:
      return { kind: 'own', file: text }
    default:
      throw new DeserializeError('a module is named in a way that this version does not know')
  }
}

// Symbols: well-known ones by name, registered ones by key, all others by identity, so that one
// that comes again, or comes back, is the same.

const KIND_WELL_KNOWN = 0
const KIND_REGISTERED = 1
const KIND_OWN = 2
const KIND_OWN_WITHOUT_TEXT = 3

const WELL_KNOWN: ReadonlyMap<symbol, string> = new Map(
  Object.getOwnPropertyNames(Symbol)
    .map((name) => [(Symbol as unknown as Record<string, unknown>)[name], name] as const)
    .filter((entry): entry is [symbol, string] => typeof entry[0] === 'symbol'),
)

/** Appends what tells the symbol from all others. */
export function writeSymbol(writer: ByteWriter, symbol: symbol, identities: Identities): void {
  const name = WELL_KNOWN.get(symbol)
  const key = Symbol.keyFor(symbol)
  if (name !== undefined) {
    writer.byte(KIND_WELL_KNOWN)
    writer.text(name)
  } else if (key !== undefined) {
    writer.byte(KIND_REGISTERED)
    writer.text(key)
  } else {
    const { description } = symbol
    writer.byte(description === undefined ? KIND_OWN_WITHOUT_TEXT : KIND_OWN)
    writer.text(identities.idOf(symbol))
    if (description !== undefined) writer.text(description)
  }
}

/** The symbol. Throws `DeserializeError`. */
export function readSymbol(reader: ByteReader, known: KnownThings): symbol {
  const kind = reader.byte()
  const text = reader.text()
  switch (kind) {
    case KIND_WELL_KNOWN:
      return wellKnown(text)
    case KIND_REGISTERED:
      return Symbol.for(text)
    case KIND_OWN:
      return ownSymbol(text, reader.text(), known)
    case KIND_OWN_WITHOUT_TEXT:
      return ownSymbol(text, undefined, known)
    default:
      throw new DeserializeError('the value has a kind of symbol that this version does not know')
  }
}

function wellKnown(name: string): symbol {
  for (const [symbol, known] of WELL_KNOWN) if (known === name) return symbol
  throw new DeserializeError(`Node ${process.versions.node} has no Symbol.${name}`)
}

function ownSymbol(id: string, description: string | undefined, known: KnownThings): symbol {
  const found = known.find(id)
  if (typeof found === 'symbol') return found
  const symbol = Symbol(description)
  known.adopt(id, symbol)
  return symbol
}

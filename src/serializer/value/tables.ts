// The keys, shapes, symbols and codes of a unit, by number, so that each is written once.

import type { ByteWriter } from '../bytes/writer.js'
import type { Identities } from '../class/registry.js'
import { type Primitive, writePrimitive, writeSymbol } from '../bytes/leaf.js'
import {
  areTelling,
  MAX_SHAPE_KEYS,
  type RecordKeys,
  SHAPE_FIRST,
  SHAPE_NEW,
  SHAPE_ONCE,
  ShapeTable,
} from './shape.js'
import type { FunctionCode } from '../source/sites.js'
import * as tag from '../bytes/tag.js'

/** A text follows, and gets the next number. */
export const KEY_TEXT = 0
/** A symbol follows. */
export const KEY_SYMBOL = 1
/** Plus the number of a text. */
export const KEY_FIRST = 2

/** The tables of one unit. */
export class UnitTables {
  readonly #bytes: ByteWriter
  readonly #identities: Identities
  #keys = new Map<string, number>()
  readonly #shapes = new ShapeTable()
  readonly #symbols = new Map<symbol, number>()
  readonly #codes = new Map<FunctionCode, number>()

  constructor(bytes: ByteWriter, identities: Identities) {
    this.#bytes = bytes
    this.#identities = identities
  }

  /** Clears all tables. */
  clear(): void {
    if (this.#keys.size > 0) this.#keys = new Map()
    if (this.#shapes.count > 0) this.#shapes.clear()
    if (this.#symbols.size > 0) this.#symbols.clear()
    if (this.#codes.size > 0) this.#codes.clear()
  }

  /** Appends a primitive of any kind. */
  primitive(value: unknown): void {
    if (typeof value === 'symbol') this.symbol(value)
    else writePrimitive(this.#bytes, value as Primitive)
  }

  /** Appends a symbol as a value. */
  symbol(symbol: symbol): void {
    const number = this.#symbols.get(symbol)
    if (number !== undefined) {
      this.#bytes.byte(tag.VALUE_SYMBOL_REFERENCE)
      this.#bytes.varint(number)
      return
    }
    this.#symbols.set(symbol, this.#symbols.size)
    this.#bytes.byte(tag.VALUE_SYMBOL)
    writeSymbol(this.#bytes, symbol, this.#identities)
  }

  /** Appends a key by itself. */
  key(key: string | symbol): void {
    if (typeof key === 'symbol') {
      this.#bytes.varint(KEY_SYMBOL)
      this.symbol(key)
      return
    }
    const number = this.#keys.get(key)
    this.#bytes.varint(number === undefined ? KEY_TEXT : number + KEY_FIRST)
    if (number !== undefined) return
    this.#keys.set(key, this.#keys.size)
    this.#bytes.text(key)
  }

  /** Appends the shape of a record. Returns whether its keys are those of special objects. */
  shape(keys: RecordKeys): boolean {
    if (keys.length > MAX_SHAPE_KEYS) {
      this.#bytes.varint(SHAPE_ONCE)
      this.#shapeKeys(keys, (key) => this.#bytes.text(key))
      return areTelling(keys)
    }
    const known = this.#shapes.find(keys)
    if (known !== undefined) {
      this.#bytes.varint(known.number + SHAPE_FIRST)
      return known.isTelling
    }
    this.#bytes.varint(SHAPE_NEW)
    this.#shapeKeys(keys, (key) => this.key(key))
    return this.#shapes.add(keys).isTelling
  }

  #shapeKeys(keys: RecordKeys, writeText: (key: string) => void): void {
    const firstSymbol = keys.findIndex((key) => typeof key === 'symbol')
    const textCount = firstSymbol < 0 ? keys.length : firstSymbol
    this.#bytes.varint(textCount)
    for (let index = 0; index < textCount; index += 1) writeText(keys[index] as string)
    this.#bytes.varint(keys.length - textCount)
    for (let index = textCount; index < keys.length; index += 1) this.symbol(keys[index] as symbol)
  }

  /**
   * The number of a code that was written before; undefined for a new one, which gets the next
   * number.
   */
  codeNumber(code: FunctionCode): number | undefined {
    const number = this.#codes.get(code)
    if (number === undefined) this.#codes.set(code, this.#codes.size)
    return number
  }
}

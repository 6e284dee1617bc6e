// Reads what graph-writer.ts wrote. Objects are made empty when they are met, and filled in that
// order, so that cycles are no trouble.

import { DeserializeError } from '../base/errors.js'
import { readBinaryTable } from './binary-table.js'
import type { ByteReader } from './byte-reader.js'
import { createError } from './error-class.js'
import type { FunctionCodec } from './function-codec.js'
import { readLeaf } from './leaf-codec.js'
import { readPrimitive } from './primitive-codec.js'
import * as tag from './tag.js'

type Fields = Record<string, unknown>

/** Reads one value; made anew for each. */
export class GraphReader {
  readonly #reader: ByteReader
  readonly #functions: FunctionCodec
  readonly #binaries: readonly (ArrayBuffer | ArrayBufferView)[]
  #binariesRead = 0
  /** Objects by number. */
  readonly #objects: object[] = []
  /** Property keys by number. */
  readonly #keys: string[] = []
  /** Objects to fill, and their tags. */
  readonly #queue: object[] = []
  readonly #tags: number[] = []

  /** `reader` stands behind `MESSAGE_GRAPH`. Throws `DeserializeError`. */
  constructor(reader: ByteReader, functions: FunctionCodec) {
    this.#reader = reader
    this.#functions = functions
    this.#binaries = readBinaryTable(reader)
  }

  /** The value. Throws `DeserializeError`, or whatever a constructor throws at a wrong argument. */
  read(): unknown {
    const root = this.#value()
    for (let place = 0; place < this.#queue.length; place += 1) {
      this.#fill(this.#queue[place] as object, this.#tags[place] as number)
    }
    if (this.#reader.remaining > 0) throw new DeserializeError('the value has too many bytes')
    return root
  }

  #value(): unknown {
    const valueTag = this.#reader.byte()
    if (valueTag < tag.VALUE_REFERENCE || valueTag >= tag.SMALL_INTEGER) {
      return readPrimitive(this.#reader, valueTag)
    }
    if (valueTag === tag.VALUE_REFERENCE) return this.#reference()
    const container = this.#container(valueTag)
    if (container !== undefined) {
      this.#queue.push(container)
      this.#tags.push(valueTag)
    }
    const object = container ?? this.#leaf(valueTag)
    this.#objects.push(object)
    return object
  }

  #reference(): object {
    const object = this.#objects[this.#reader.varint()]
    if (object !== undefined) return object
    throw new DeserializeError('the value refers to an object that it does not have')
  }

  #container(valueTag: number): object | undefined {
    switch (valueTag) {
      case tag.VALUE_OBJECT:
        return {}
      case tag.VALUE_ARRAY:
        return []
      case tag.VALUE_SPARSE_ARRAY:
        return sparseArray(this.#reader.varint())
      case tag.VALUE_MAP:
        return new Map()
      case tag.VALUE_SET:
        return new Set()
      case tag.VALUE_ERROR:
        return createError(this.#reader.text())
      case tag.VALUE_DOM_EXCEPTION:
        return new DOMException(this.#reader.text(), this.#reader.text())
      default:
        return undefined
    }
  }

  #leaf(valueTag: number): object {
    if (valueTag === tag.VALUE_BINARY) return this.#binary()
    if (valueTag === tag.VALUE_FUNCTION) return this.#functions.decode(this.#reader)
    const leaf = readLeaf(this.#reader, valueTag)
    if (leaf !== undefined) return leaf
    throw new DeserializeError(`the value has a part (${valueTag}) that this version does not know`)
  }

  #binary(): object {
    const binary = this.#binaries[this.#binariesRead++]
    if (binary !== undefined) return binary
    throw new DeserializeError('the value has more buffers than it brought')
  }

  #fill(object: object, valueTag: number): void {
    switch (valueTag) {
      case tag.VALUE_ARRAY:
        this.#fillArray(object as unknown[])
        break
      case tag.VALUE_MAP:
        this.#fillMap(object as Map<unknown, unknown>)
        break
      case tag.VALUE_SET:
        this.#fillSet(object as Set<unknown>)
        break
      case tag.VALUE_ERROR:
      case tag.VALUE_DOM_EXCEPTION:
        this.#fillError(object)
        break
      default:
        this.#fillObject(object as Fields)
    }
  }

  #fillArray(array: unknown[]): void {
    for (let left = this.#reader.count(1); left > 0; left -= 1) array.push(this.#value())
  }

  #fillMap(map: Map<unknown, unknown>): void {
    for (let left = this.#reader.count(2); left > 0; left -= 1)
      map.set(this.#value(), this.#value())
  }

  #fillSet(set: Set<unknown>): void {
    for (let left = this.#reader.count(1); left > 0; left -= 1) set.add(this.#value())
  }

  #fillObject(object: Fields): void {
    for (let left = this.#reader.count(2); left > 0; left -= 1) {
      const key = this.#key()
      const value = this.#value()
      // Assigning to `__proto__` would not make a property.
      if (key === '__proto__') define(object, key, value, true)
      else object[key] = value
    }
  }

  #fillError(error: object): void {
    for (let left = this.#reader.count(3); left > 0; left -= 1) {
      const key = this.#key()
      const isEnumerable = this.#reader.byte() === 1
      define(error, key, this.#value(), isEnumerable)
    }
  }

  #key(): string {
    const number = this.#reader.varint()
    if (number > 0) return this.#keyNumbered(number - 1)
    const key = this.#reader.text()
    this.#keys.push(key)
    return key
  }

  #keyNumbered(number: number): string {
    const key = this.#keys[number]
    if (key !== undefined) return key
    throw new DeserializeError('the value refers to a key that it does not have')
  }
}

function sparseArray(length: number): unknown[] {
  const array: unknown[] = []
  array.length = length
  return array
}

function define(object: object, key: string, value: unknown, isEnumerable: boolean): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: isEnumerable,
    configurable: true,
    writable: true,
  })
}

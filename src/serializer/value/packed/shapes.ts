// The shapes of a run while it is written: lists of keys, which are written once. Also decides, as
// quickly as possible, whether an object is plain: the engine answers for objects that are like one
// that was examined.

import { types } from 'node:util'
import { isBare } from '../kind.js'
import { literalFactory } from './reader.js'
import { engineShapes, MAX_SHAPE_KEYS } from '../shape.js'

const MAX_SHAPES = 256
const MAX_KEY_LENGTH = 255
const MAX_KNOWN_FACTORIES = 512
/** How many examples an object is compared with before it is examined. */
const MAX_COMPARED = 4
/** How often to try to make an object that is like the others of a shape. */
const MAX_ATTEMPTS = 4
/** The most properties that an object is certain to keep in its hidden class when assigned. */
const MAX_ASSIGNED = 12
/** Keys that make an object's elements, which come before its other properties. */
const INDEX_KEY = /^\d{1,16}$/

type Fields = Readonly<Record<string, unknown>>
type Factory = ReturnType<typeof literalFactory>

/** Objects with the same keys in the same order. */
interface WrittenShape {
  readonly keys: readonly string[]
  /**
   * An unchanged object of our own with the same hidden class as the last object of
   * this shape: another object with that class is as plain as this one.
   */
  example: object | undefined
  attempts: number
}

const factories = new Map<string, Factory>()

/** The shapes of one run at a time. */
export class WrittenShapes {
  readonly #isNamed: (object: object) => boolean
  readonly #shapes: WrittenShape[] = []
  #headBytes = 0
  /** The number of the shape that was used last. */
  #last = 0

  /** `isNamed`: whether an object is sent by its name, whatever it consists of. */
  constructor(isNamed: (object: object) => boolean) {
    this.#isNamed = isNamed
  }

  /** The number of shapes. */
  get count(): number {
    return this.#shapes.length
  }

  /** The size of all shapes, in bytes. */
  get headBytes(): number {
    return this.#headBytes
  }

  keysOf(number: number): readonly string[] {
    return (this.#shapes[number] as WrittenShape).keys
  }

  /** The number of the shape of a plain object; -1 if it is not one. Calls no code of it. */
  of(object: object): number {
    const shapes = this.#shapes
    const { length } = shapes
    let number = this.#last
    for (let left = Math.min(length, MAX_COMPARED); left > 0; left -= 1) {
      const { example, keys } = shapes[number] as WrittenShape
      // The hidden class says nothing about elements, but their keys come first.
      const isIt = example !== undefined && engineShapes.areAlike(object, example)
      if (isIt && firstKey(object) === keys[0]) return (this.#last = number)
      number = number + 1 === length ? 0 : number + 1
    }
    return this.#examine(object)
  }

  /** Removes all shapes but the first `count`. */
  drop(count: number): void {
    const shapes = this.#shapes
    if (shapes.length <= count) return
    for (const { keys } of shapes.splice(count)) this.#headBytes -= headBytesOf(keys)
    this.#last = 0
  }

  /** Writes all shapes. */
  write(head: Buffer, start: number): void {
    let at = start
    for (const { keys } of this.#shapes) {
      head[at] = keys.length
      at += 1
      for (const key of keys) {
        const length = head.write(key, at + 2, 'utf8')
        head.writeUInt16LE(length, at)
        at += 2 + length
      }
    }
  }

  #examine(object: object): number {
    const keys = plainKeys(object)
    if (keys === undefined || this.#isNamed(object)) return -1
    const shapes = this.#shapes
    const number = shapes.findIndex((shape) => areSame(shape.keys, keys))
    if (number >= 0) {
      learnFrom(shapes[number] as WrittenShape, object)
      return (this.#last = number)
    }
    if (shapes.length === MAX_SHAPES || !keys.every(isUsualKey)) return -1
    this.#headBytes += headBytesOf(keys)
    return (this.#last = shapes.push({ keys, example: undefined, attempts: 0 }) - 1)
  }
}

function firstKey(object: object): string | undefined {
  for (const key in object) return key
  return undefined
}

/** Whether a text has no lone surrogates. The compiler's library does not have the method yet. */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed()
}

/** The keys of an object that has ordinary properties and nothing else. Calls no code of it. */
function plainKeys(object: object): readonly string[] | undefined {
  if (types.isProxy(object) || Object.getPrototypeOf(object) !== Object.prototype) return undefined
  if (!Object.isExtensible(object) || !isBare(object)) return undefined
  if (Object.getOwnPropertySymbols(object).length > 0) return undefined
  const keys = Object.getOwnPropertyNames(object)
  if (keys.length > MAX_SHAPE_KEYS) return undefined
  for (const key of keys) {
    const found = Object.getOwnPropertyDescriptor(object, key)
    if (found?.writable !== true || !found.enumerable || found.configurable !== true) {
      return undefined
    }
  }
  return keys
}

/** Whether a literal with this key has the same property. */
function isUsualKey(key: string): boolean {
  if (key.length > MAX_KEY_LENGTH || key === '__proto__' || INDEX_KEY.test(key)) return false
  return isWellFormed(key)
}

/** Makes an object that is like this one, which has the shape. */
function learnFrom(shape: WrittenShape, object: object): void {
  if (shape.attempts === MAX_ATTEMPTS) return
  shape.attempts += 1
  const { keys } = shape
  let index = 0
  const literal = factoryOf(keys)(() => (object as Fields)[keys[index++] as string])
  if (engineShapes.areAlike(object, literal)) {
    shape.example = literal
    return
  }
  // With more, its properties would be in a dictionary, of which the hidden class says nothing.
  if (keys.length > MAX_ASSIGNED) return
  const filled: Record<string, unknown> = {}
  for (const key of keys) filled[key] = (object as Fields)[key]
  if (engineShapes.areAlike(object, filled)) shape.example = filled
}

function factoryOf(keys: readonly string[]): Factory {
  const name = JSON.stringify(keys)
  let factory = factories.get(name)
  if (factory === undefined) {
    factory = literalFactory(keys)
    if (factories.size >= MAX_KNOWN_FACTORIES) factories.clear()
    factories.set(name, factory)
  }
  return factory
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false
  for (let index = 0; index < some.length; index += 1) {
    if (some[index] !== others[index]) return false
  }
  return true
}

function headBytesOf(keys: readonly string[]): number {
  let bytes = 1
  for (const key of keys) bytes += 2 + Buffer.byteLength(key)
  return bytes
}

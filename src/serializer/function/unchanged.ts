// Whether a function can have changed since it was written. Most functions that are submitted
// repeatedly captured only constants: for these, checking a few facts replaces writing them again
// and comparing the bytes.

import { types } from 'node:util'
import { hasOwnPrototype, hasPlainName } from '../class/member.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { Refusal } from '../refusal.js'
import { isBare } from '../value/kind.js'
import { prototypeOf } from '../class/prototype-chain.js'
import { engineShapes } from '../value/shape.js'
import type { FunctionParts, SourceParts } from './parts.js'
import { isExtended } from './writer.js'

/** A function with its code, as it was written. */
interface WrittenFunction {
  readonly fn: AnyFunction
  readonly parts: SourceParts
  readonly name: unknown
  readonly length: unknown
}

/** The facts on which the bytes of one function depend. */
export class UnchangedCheck {
  readonly #version: number
  readonly #functions: readonly WrittenFunction[]

  private constructor(version: number, functions: readonly WrittenFunction[]) {
    this.#version = version
    this.#functions = functions
  }

  /**
   * The check for a message that was just written and consists of these functions. Undefined if it
   * depends on anything else that can change. `version`: of all registrations; `isConstant`:
   * whether the parts of a function stay the same with that version.
   */
  static of(
    functions: ReadonlyMap<AnyFunction, FunctionParts | Refusal>,
    version: number,
    isConstant: (fn: AnyFunction) => boolean,
  ): UnchangedCheck | undefined {
    const written: WrittenFunction[] = []
    for (const [fn, parts] of functions) {
      if (parts instanceof Refusal || parts.kind === 'bound') return undefined
      // A member comes with its class, about which there is no such check.
      if (parts.kind === 'member') return undefined
      if (parts.kind !== 'source') continue
      const name = ownValue(fn, 'name')
      const one = { fn, parts, name, length: ownValue(fn, 'length') }
      if (!isConstant(fn) || !hasFixedCaptures(parts) || !isAsWritten(one)) return undefined
      written.push(one)
    }
    return new UnchangedCheck(version, written)
  }

  /** Whether the functions would give the same bytes again. */
  passes(version: number): boolean {
    return version === this.#version && this.#functions.every(isAsWritten)
  }
}

/** Unchanged functions of our own, without `prototype`. */
const UNTOUCHED: readonly AnyFunction[] = [() => {}, async () => {}]

/** The text of a function and its captures are constant; the function object is not. */
function isAsWritten({ fn, parts, name, length }: WrittenFunction): boolean {
  // Its hidden class shows that it has its original properties and no others.
  if (UNTOUCHED.some((known) => engineShapes.areAlike(fn, known))) return true
  return (
    Object.isExtensible(fn) &&
    hasPlainName(fn) &&
    ownValue(fn, 'name') === name &&
    ownValue(fn, 'length') === length &&
    !hasOwnPrototype(fn) &&
    !isExtended({ fn, parts, isClass: false, late: [] })
  )
}

/** Whether the captured values are deeply constant, except other functions. */
function hasFixedCaptures({ captures, classParts }: SourceParts): boolean {
  if (classParts !== undefined) return false
  return captures.every(({ content }) => {
    if (content.kind === 'reference') return true
    if (content.kind !== 'value') return false
    return typeof content.value === 'function' || isFixed(content.value)
  })
}

/** Whether a value is a primitive, or frozen data down to its leaves. */
function isFixed(value: unknown): boolean {
  const queue: unknown[] = [value]
  const seen = new Set<object>()
  // The queue grows meanwhile.
  for (const next of queue) {
    if (typeof next === 'function') return false
    if (typeof next !== 'object' || next === null || seen.has(next)) continue
    seen.add(next)
    if (!isFrozenData(next)) return false
    for (const key of Reflect.ownKeys(next)) {
      const property = Object.getOwnPropertyDescriptor(next, key)
      if (property === undefined || !('value' in property)) return false
      queue.push(property.value)
    }
  }
  return true
}

function isFrozenData(object: object): boolean {
  if (types.isProxy(object) || !Object.isFrozen(object)) return false
  const prototype = prototypeOf(object)
  if (Array.isArray(object)) return prototype === Array.prototype
  return (prototype === Object.prototype || prototype === null) && isBare(object)
}

// The methods and accessors that the text of a class defines, where something else has taken their
// place: a decorator calls the method that it replaces. One that uses private names of its class,
// or `super`, means nothing without the class, and travels as its place in that.
//
// Whoever creates a class from its text has them all before anything is replaced; in the process
// where the class was written, they are those that were found when it was sent.

import type { ClassMember, FunctionAnalyst, FunctionParts } from '../function/parts.js'
import type { AnyFunction } from '../module/native.js'
import type { Refusal } from '../refusal.js'
import { holderOf, isOfText, isUntouched, membersOf } from './member.js'

/** The functions of a class by name, for the class itself and for its prototype. */
type Functions = Readonly<Record<Side, Map<string | symbol, Partial<Record<Slot, AnyFunction>>>>>

type Side = 'own' | 'prototype'
type Slot = ClassMember['slot']

/** The members of the classes of a process. */
export class OriginalMembers {
  readonly #analyst: Pick<FunctionAnalyst, 'memberOf'>
  readonly #places = new WeakMap<AnyFunction, ClassMember>()
  readonly #functions = new WeakMap<AnyFunction, Functions>()

  constructor(analyst: Pick<FunctionAnalyst, 'memberOf'>) {
    this.#analyst = analyst
  }

  /** Takes in a class that has just been created from this text. */
  addClass(owner: AnyFunction, text: string): void {
    if (!text.includes('#') && !text.includes('super')) return
    for (const { fn, ...place } of membersOf(owner)) this.#add(fn, { owner, ...place })
  }

  /**
   * A function that cannot travel on its own, as a member of its class: one of those that the
   * message has so far, or another one. Undefined if it is not a member.
   */
  partsOf(
    fn: AnyFunction,
    message: ReadonlyMap<AnyFunction, FunctionParts | Refusal>,
  ): FunctionParts | undefined {
    const member = this.#places.get(fn) ?? this.#analyst.memberOf(fn, classesIn(message))
    if (member === undefined || !isUntouched(fn, member)) return undefined
    this.#add(fn, member)
    return { kind: 'member', ...member }
  }

  /** The function that the text of a class defines in a place; undefined if it is not there. */
  find(member: ClassMember): AnyFunction | undefined {
    const { owner, key, slot } = member
    const side = member.isStatic ? 'own' : 'prototype'
    const known = this.#functions.get(owner)?.[side].get(key)?.[slot]
    if (known !== undefined) return known
    const present = functionIn(holderOf(owner, member.isStatic), key, slot)
    return present !== undefined && isOfText(present, member) ? present : undefined
  }

  #add(fn: AnyFunction, member: ClassMember): void {
    const { owner, key, isStatic, slot } = member
    if (this.#places.has(fn)) return
    this.#places.set(fn, member)
    const functions: Functions = this.#functions.get(owner) ?? {
      own: new Map(),
      prototype: new Map(),
    }
    this.#functions.set(owner, functions)
    const side = functions[isStatic ? 'own' : 'prototype']
    side.set(key, { ...side.get(key), [slot]: fn })
  }
}

function* classesIn(
  message: ReadonlyMap<AnyFunction, FunctionParts | Refusal>,
): Generator<AnyFunction> {
  for (const [fn, parts] of message) {
    if ('kind' in parts && parts.kind === 'source' && parts.classParts !== undefined) yield fn
  }
}

function functionIn(
  holder: object | undefined,
  key: string | symbol,
  slot: Slot,
): AnyFunction | undefined {
  const descriptor = holder && Object.getOwnPropertyDescriptor(holder, key)
  const found: unknown = descriptor?.[slot]
  return typeof found === 'function' ? (found as AnyFunction) : undefined
}

// What an object inherits from, for those who must know which classes made it.

import { types } from 'node:util'
import { ownValue, type AnyFunction } from '../module/native.js'

/** The object itself, then what it inherits from, up to the end. Proxies may throw. */
export function* prototypesFrom(object: object): Generator<object> {
  for (let next: object | null = object; next !== null; next = prototypeOf(next)) yield next
}

/** Whether the object is a proxy or inherits from one. Asks no proxy. */
export function leadsToProxy(object: object): boolean {
  for (const link of prototypesFrom(object)) if (types.isProxy(link)) return true
  return false
}

/** The next object that this one inherits from. */
export function prototypeOf(object: object): object | null {
  return Object.getPrototypeOf(object) as object | null
}

/** The function or class whose `prototype` this object is, if it says so itself. */
export function constructorOf(prototype: object): AnyFunction | undefined {
  const constructor = ownValue(prototype, 'constructor')
  if (typeof constructor !== 'function') return undefined
  const isItsOwn = ownValue(constructor, 'prototype') === prototype
  return isItsOwn ? (constructor as AnyFunction) : undefined
}

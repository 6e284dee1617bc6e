// The prototypes of objects, to find the classes that created them.

import { types } from 'node:util'
import { ownValue, type AnyFunction } from '../module/native.js'

/** The object itself, then its prototypes, up to the end. Proxies may throw. */
export function* prototypesFrom(object: object): Generator<object> {
  for (let next: object | null = object; next !== null; next = prototypeOf(next)) yield next
}

/** Whether the object is a proxy or inherits from one. Calls no code of a proxy. */
export function leadsToProxy(object: object): boolean {
  for (const link of prototypesFrom(object)) if (types.isProxy(link)) return true
  return false
}

/** The prototype of an object, or null. */
export function prototypeOf(object: object): object | null {
  return Object.getPrototypeOf(object) as object | null
}

/** The function or class whose `prototype` this object is, according to its own `constructor`. */
export function constructorOf(prototype: object): AnyFunction | undefined {
  const constructor = ownValue(prototype, 'constructor')
  if (typeof constructor !== 'function') return undefined
  const isItsOwn = ownValue(constructor, 'prototype') === prototype
  return isItsOwn ? (constructor as AnyFunction) : undefined
}

// What an object inherits from, for those who must know which classes made it.

import { ownValue, type AnyFunction } from './native-names.js'

/** The object itself, then what it inherits from, up to the end. Proxies may throw. */
export function* prototypesFrom(object: object): Generator<object> {
  for (let next: object | null = object; next !== null; next = prototypeOf(next)) yield next
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

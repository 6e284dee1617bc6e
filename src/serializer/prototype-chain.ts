// What an object inherits from, for those who must know which classes made it.

/** The object itself, then what it inherits from, up to the end. Proxies may throw. */
export function* prototypesFrom(object: object): Generator<object> {
  for (let next: object | null = object; next !== null; next = prototypeOf(next)) yield next
}

/** The next object that this one inherits from. */
export function prototypeOf(object: object): object | null {
  return Object.getPrototypeOf(object) as object | null
}

// Why a function cannot travel, for its user: what, why, and a way out.

import { ownValue, type AnyFunction } from '../native-names.js'
import { Refusal } from '../refusal.js'
import type { FreeName, FunctionSite, Obstacle } from '../source/function-site.js'

const TEXTS: Readonly<Record<Obstacle, readonly [why: string, wayOut: string]>> = {
  this: [
    'it uses the `this` of what surrounds it',
    'make it a method, write `const self = this` before it and use that, or pass what it needs',
  ],
  'new.target': ['it uses the `new.target` of what surrounds it', 'keep that in a constant'],
  super: [
    'it uses `super`, which it has only as a part of its object or class',
    'pass the class or the object, and call its method in a function of your own',
  ],
  'private name': [
    'it uses private names of its class',
    'pass the class or an object of it, and call its method in a function of your own',
  ],
  eval: [
    'it calls `eval`, whose text could use anything',
    'use `new Function`, or the indirect `(0, eval)(text)`',
  ],
  'class definition': [
    'its definition calls something for the name of a member',
    'compute the name in a constant before the class',
  ],
}

/** A function whose text means nothing elsewhere; without obstacle: that cannot be read. */
export function refuseObstacle(
  fn: AnyFunction,
  obstacle: FunctionSite['obstacles'][number] | undefined,
  url: string,
): Refusal {
  if (obstacle === undefined) {
    return new Refusal(titleOf(fn), 'its text cannot be read', 'write it as an ordinary function')
  }
  const [why, wayOut] = TEXTS[obstacle.kind]
  const file = url.slice(url.lastIndexOf('/') + 1)
  const place = file === '' ? '' : ` (${file}:${obstacle.line + 1})`
  return new Refusal(titleOf(fn), `${why}${place}`, wayOut)
}

/** Native code that has no name. */
export function refuseNative(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'its code is native and nothing names it',
    'call it inside a function of your own',
  )
}

/** A function that a module of Node has made. */
export function refuseBuiltIn(fn: AnyFunction, url: string): Refusal {
  return new Refusal(
    titleOf(fn),
    `${url} has made it, and nothing names it`,
    'make it inside the function, or wrap it in a function of your own',
  )
}

/** A class whose prototypes were set by hand. */
export function refuseTorn(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'what it inherits from was changed after it was defined',
    'define it with the class that it extends',
  )
}

/** What a function uses cannot be seen. */
export function refuseWithoutInspector(fn: AnyFunction, names: readonly FreeName[]): Refusal {
  const list = names.map(({ name }) => name).join(', ')
  const example = names[0]?.name ?? 'name'
  return new Refusal(
    titleOf(fn),
    `it uses ${list || 'what surrounds it'}, and this process has no inspector to see that`,
    `give them, submit(task(fn, { captures: { ${example} } })), or name the module, ` +
      "submit(task(import.meta.url, 'exportName'))",
  )
}

function titleOf(fn: AnyFunction): string {
  const name = ownValue(fn, 'name')
  if (typeof name !== 'string' || name === '') return 'this function'
  return /^class\b/.test(Function.prototype.toString.call(fn))
    ? `class ${name}`
    : `function ${name}`
}

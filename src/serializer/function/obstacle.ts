// Why a function cannot travel, for its user: what, why, and a way out.

import { promisify } from 'node:util'
import { compileFunction } from 'node:vm'
import type { FunctionView } from '../inspect/inspector.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { Refusal } from '../refusal.js'
import type { FreeName, FunctionSite, Obstacle } from '../source/sites.js'
import type { GivenCaptures } from './explicit.js'

const TEXTS: Readonly<Record<Obstacle, readonly [why: string, wayOut: string]>> = {
  this: [
    'it uses the `this` of what surrounds it',
    'make it a method, write `const self = this` before it and use that, or pass what it needs',
  ],
  'new.target': ['it uses the `new.target` of what surrounds it', 'keep that in a constant'],
  super: [
    'it uses `super`, which it has only as a part of its object or class',
    'pass an instance of its class, and call the method in a function of your own; if it belongs ' +
      'to an object literal, create that inside the function, or write a class instead',
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
  place: string | undefined,
): Refusal {
  if (obstacle === undefined) {
    return new Refusal(titleOf(fn), 'its text cannot be read', 'write it as an ordinary function')
  }
  const [why, wayOut] = TEXTS[obstacle.kind]
  return new Refusal(titleOf(fn), place === undefined ? why : `${why} (${place})`, wayOut)
}

/** Native code that has no name. */
export function refuseNative(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'its code is native and nothing names it',
    'call it inside a function of your own',
  )
}

/** What `bind` has made, where nobody sees of what. */
export function refuseBound(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    '`bind` has made it, and this process has no inspector to see of what',
    'write an arrow function that calls the other one, and give both with task(…, { captures })',
  )
}

/** A function that a module of Node has made. */
export function refuseBuiltIn(fn: AnyFunction, url: string): Refusal {
  return new Refusal(
    titleOf(fn),
    `${url} has made it, and nothing names it`,
    'make it inside the function, or wrap it in a function of your own',
    true,
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

/** A function or class that inherits from a proxy. */
export function refuseBehindProxy(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'it inherits from a Proxy, so that what it has captured cannot be seen',
    'let it inherit from what the Proxy stands for',
  )
}

/** A class with a private static field whose value nobody sees. */
export function refusePrivateStatic(fn: AnyFunction, name: string): Refusal {
  return new Refusal(
    titleOf(fn),
    `it has the private static field ${name}, and this process has no inspector to see it`,
    'keep what that holds in a variable before the class, or in a static field that is not private',
  )
}

/** What a function uses is not known. `isGiven`: its user has said what it uses, but not that. */
export function refuseMissing(
  fn: AnyFunction,
  names: readonly FreeName[],
  isGiven: boolean,
): Refusal {
  const list = names.map(({ name }) => name).join(', ')
  const example = names[0]?.name ?? 'name'
  const why = isGiven
    ? 'that is not among the captures that were given for it'
    : 'this process has no inspector to see that'
  return new Refusal(
    titleOf(fn),
    `it uses ${list}, and ${why}`,
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

// What `util.promisify` has made: its text belongs to Node and means nothing elsewhere, but V8 says
// of what it was made. It travels as a function that does the same.

/** The script of Node that has `promisify`. */
const SCRIPT_URL = 'node:internal/util'

/** A function by its text and what that uses. */
interface Remade {
  readonly fn: AnyFunction
  readonly captures: GivenCaptures
}

/** Knows what it has made. */
export class PromisifiedFunctions {
  readonly #known = new WeakMap<AnyFunction, Remade>()

  /** The same function in a form that can travel; undefined if `promisify` has not made it. */
  remade(fn: AnyFunction, url: string, view: FunctionView): Remade | undefined {
    const known = this.#known.get(fn)
    if (known !== undefined) return known
    const original = originalOf(fn, url, view)
    if (original === undefined) return undefined
    const remade = { fn: callerOf(original), captures: { promisify, original } }
    this.#known.set(fn, remade)
    return remade
  }
}

function originalOf(fn: AnyFunction, url: string, { scopes }: FunctionView): unknown {
  if (url !== SCRIPT_URL || ownSymbol(fn) !== fn) return undefined
  const scope = scopes.find(({ variables }) => typeof variables['original'] === 'function')
  return scope?.variables['original']
}

function ownSymbol(fn: AnyFunction): unknown {
  const property: { readonly value?: unknown } | undefined = Object.getOwnPropertyDescriptor(
    fn,
    promisify.custom,
  )
  return property?.value
}

/**
 * Its text is what travels, and names what it uses: so it is one that no compiler or bundler of
 * this package has changed.
 */
const CALLER = `return function (...parameters) {
  return Reflect.apply(promisify(original), this, parameters)
}`

function callerOf(original: unknown): AnyFunction {
  const make = compileFunction(CALLER, ['promisify', 'original']) as (
    ...variables: unknown[]
  ) => AnyFunction
  return make(promisify, original)
}

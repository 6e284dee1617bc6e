// Why a function cannot be sent, for its user: what, why, and a remedy.

import { promisify, types } from 'node:util'
import { compileFunction } from 'node:vm'
import { constructorOf, prototypeOf } from '../class/prototype-chain.js'
import type { FunctionView } from '../inspect/inspector.js'
import { type AnyFunction, isNative, ownValue } from '../module/native.js'
import { Refusal } from '../refusal.js'
import type { FreeName, FunctionSite, Obstacle } from '../source/sites.js'
import type { GivenCaptures } from './explicit.js'

const TEXTS: Readonly<Record<Obstacle, readonly [why: string, wayOut: string]>> = {
  this: [
    'it uses the `this` of the surrounding code',
    'make it a method, write `const self = this` before it and use that, or pass what it needs',
  ],
  'new.target': ['it uses the `new.target` of the surrounding code', 'keep that in a constant'],
  super: [
    'it uses `super`, which works only inside its object or class',
    'pass an instance of its class, and call the method in a function of your own; if it belongs ' +
      'to an object literal, create that inside the function, or write a class instead',
  ],
  'private name': [
    'it uses private names of its class',
    'pass the class or an object of it, and call its method in a function of your own; if other ' +
      'functions have replaced its methods, define it at the top of a file',
  ],
  eval: [
    'it calls `eval`, whose text could use anything',
    'use `new Function`, or the indirect `(0, eval)(text)`',
  ],
  'class definition': [
    'its definition computes the name of a member, which may have changed since',
    'compute the name in a constant before the class',
  ],
}

/**
 * A function whose text has no meaning elsewhere; without an obstacle: whose text cannot be read.
 */
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

/** The runtime functions that webpack hangs on the one that loads modules. */
const OF_WEBPACK = ['d', 'o', 'r']

/** Webpack's `__webpack_require__`, under any name: all modules of the bundle hang on it. */
export function refuseLoader(fn: AnyFunction): Refusal | undefined {
  if (!OF_WEBPACK.every((key) => typeof ownValue(fn, key) === 'function')) return undefined
  return new Refusal(
    'the module loader of webpack',
    'all modules of the bundle would travel with it',
    "import the module at the top of the file instead of with `import('…')` in the function, or " +
      'make it external to the bundle',
  )
}

/** Native code without a name. */
export function refuseNative(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'it is native code without a name',
    'call it inside a function of your own',
  )
}

/** The result of `bind` when its target cannot be seen. */
export function refuseBound(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'it was created by `bind`, and this process has no inspector to see its target',
    'write an arrow function that calls the other one, and give both with task(…, { captures })',
  )
}

/** A function whose prototype is built in, but not into this context; undefined for any other. */
export function refuseOtherContext(fn: AnyFunction): Refusal | undefined {
  const prototype = prototypeOf(fn)
  if (prototype === null || prototype === Function.prototype) return undefined
  if (types.isProxy(prototype) || STANDARD_PROTOTYPES.has(prototype)) return undefined
  if (prototype === OF_NODE || prototypeOf(prototype) === OF_NODE) return undefined
  const constructor = constructorOf(prototype)
  if (constructor === undefined || types.isProxy(constructor) || !isNative(constructor)) {
    return undefined
  }
  if (!KIND.test(String(ownValue(constructor, 'name')))) return undefined
  return new Refusal(
    titleOf(fn),
    'it comes from another vm context, whose globals exist only there',
    'create it in this one',
  )
}

/** What functions of Node inherit from, which travels by its place: test runners have another. */
const OF_NODE = prototypeOf(compileFunction)

/** The constructors of all kinds of functions. */
const KIND = /^(?:Async)?(?:Generator)?Function$/

/** The default prototypes of all kinds of functions. */
export const STANDARD_PROTOTYPES: ReadonlySet<object | null> = new Set(
  [function () {}, async () => {}, function* () {}, async function* () {}].map(
    (fn) => Object.getPrototypeOf(fn) as object,
  ),
)

/** A function that was created by a module of Node. */
export function refuseBuiltIn(fn: AnyFunction, url: string): Refusal {
  return new Refusal(
    titleOf(fn),
    `it was created by ${url} and has no name there`,
    'create it inside the function, or wrap it in a function of your own',
    true,
  )
}

/** A class whose prototypes were changed. */
export function refuseTorn(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'its prototype was changed after it was defined',
    'define it with the class that it extends',
  )
}

/** A function or class that inherits from a proxy. */
export function refuseBehindProxy(fn: AnyFunction): Refusal {
  return new Refusal(
    titleOf(fn),
    'it inherits from a Proxy, so its captured variables cannot be seen',
    'let it inherit from the target of the Proxy',
  )
}

/** A class with a private static field whose value cannot be seen. */
export function refusePrivateStatic(fn: AnyFunction, name: string): Refusal {
  return new Refusal(
    titleOf(fn),
    `it has the private static field ${name}, and this process has no inspector to see it`,
    'keep that value in a variable before the class, or in a static field that is not private',
  )
}

/**
 * The values that a function uses are unknown. `isGiven`: the user has listed captures, but not
 * these.
 */
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
    `give ${names.length > 1 ? 'them' : 'it'}, submit(task(fn, { captures: { ${example} } })), ` +
      "or name the module, submit(task(import.meta.url, 'exportName'))",
  )
}

// Variables.

/** A variable before its declaration has run. */
export function refuseUninitialized(name: string): Refusal {
  return new Refusal(
    `the variable ${name}`,
    'it is not initialized yet',
    'submit the function after the line that declares it',
  )
}

/**
 * V8 does not show everything: for example, not the name of a function expression to functions
 * inside it (`isOwnName`).
 */
export function refuseHidden(name: string, isEarly: boolean, isOwnName = false): Refusal {
  const advice = isOwnName
    ? `declare the function in a statement, \`function ${name}() {}\``
    : 'give it to the function in another way: as an argument, or as a property of an object'
  return new Refusal(
    `the variable ${name}`,
    'V8 does not show its value',
    isEarly ? `use it in the class once more, for example in \`static { ${name} }\`` : advice,
  )
}

/** `module` leads to everything that the process has loaded. */
export function refuseOwnModule(): Refusal {
  return new Refusal(
    'the `module` of a CommonJS file',
    'it belongs to the modules that this process has loaded',
    'use only what the function needs of it, such as `module.exports` or `module.filename`',
  )
}

/** A variable that is assigned, of a function without a script. */
export function refuseUnknownVariable({ name }: FreeName): Refusal {
  return new Refusal(
    `the variable ${name}`,
    'the function changes it, and the text around the function cannot be read',
    'keep it in an object',
  )
}

function titleOf(fn: AnyFunction): string {
  const name = ownValue(fn, 'name')
  if (typeof name !== 'string' || name === '') return 'this function'
  return /^class\b/.test(Function.prototype.toString.call(fn))
    ? `class ${name}`
    : `function ${name}`
}

// The result of `util.promisify`: its text belongs to Node and has no meaning elsewhere, but V8
// shows the original function. It is sent as a function that does the same.

/** The script of Node that contains `promisify`. */
const SCRIPT_URL = 'node:internal/util'

/** A function, as its text and the values used there. */
interface Remade {
  readonly fn: AnyFunction
  readonly captures: GivenCaptures
}

/** Recognises such functions and creates their replacements. */
export class PromisifiedFunctions {
  readonly #known = new WeakMap<AnyFunction, Remade>()

  /** An equivalent function that can be sent; undefined if `promisify` did not create it. */
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
 * The text is sent and names the values that it uses, so it is a string that no compiler or bundler
 * of this package has changed.
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

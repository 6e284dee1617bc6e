// Functions that compilers write into a file for themselves. What they keep is about the process
// that they run in, and is large or cannot travel: they go as functions that do the same anew.

import { compileFunction } from 'node:vm'
import { ownValue, type AnyFunction } from '../module/native.js'
import { COVERAGE } from '../source/remaking.js'

interface Known {
  readonly name: RegExp
  /** What its text has. */
  readonly word: RegExp
  /**
   * Its text is what travels: so it is one that no compiler or bundler of this package has changed.
   */
  readonly text: string
}

const IMPORT_ALL = `return function (module, isOfNode) {
  if (!isOfNode && module && module.__esModule) return module
  const namespace = { __proto__: null, default: module }
  const isOpen = typeof module === 'object' ? module !== null : typeof module === 'function'
  for (const key of isOpen ? Object.keys(module) : []) {
    if (key === 'default') continue
    Object.defineProperty(namespace, key, Object.getOwnPropertyDescriptor(module, key))
  }
  return namespace
}`

/** `import * as` for CommonJS by Babel: it remembers in a `WeakMap` what it has made. */
const OF_BABEL: Known = {
  name: /^_interopRequireWildcard\d*$/,
  word: /\b__esModule\b/,
  text: IMPORT_ALL,
}

/** The same by TypeScript: it assigns a variable of its own. */
const OF_TYPESCRIPT: Known = {
  name: /^$/,
  word: /^function \(mod\) \{\s*if \(mod && mod\.__esModule\) return mod;/,
  text: IMPORT_ALL,
}

/** The counters of Istanbul, which tests with coverage have: those of a worker go nowhere. */
const COUNTERS: Known = {
  name: COVERAGE,
  word: /\bactualCoverage\b/,
  text: `return function () {
  const branches = new Proxy({}, { get: () => ({}) })
  return { s: {}, f: {}, b: branches, bT: branches }
}`,
}

/** Knows what it has made. */
export class CompilerFunctions {
  readonly #made = new Map<Known, AnyFunction>()

  /** What goes in the place of the function; undefined if it is none of a compiler. */
  remade(fn: AnyFunction): AnyFunction | undefined {
    const name = ownValue(fn, 'name')
    if (typeof name !== 'string') return undefined
    const known = [OF_BABEL, OF_TYPESCRIPT, COUNTERS].find((each) => each.name.test(name))
    if (known === undefined) return undefined
    if (!known.word.test(Function.prototype.toString.call(fn))) return undefined
    return this.#make(known)
  }

  /** What stands for the counters of a script that nobody sees. */
  counters(): AnyFunction {
    return this.#make(COUNTERS)
  }

  #make(known: Known): AnyFunction {
    const made =
      this.#made.get(known) ??
      (Reflect.apply(compileFunction(known.text), undefined, []) as AnyFunction)
    this.#made.set(known, made)
    return made
  }
}

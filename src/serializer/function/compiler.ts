// Helper functions that compilers write into a file. Their state is about the current process, and
// is large or cannot be sent: they are replaced by functions that start with new state.

import { compileFunction } from 'node:vm'
import { ownValue, type AnyFunction } from '../module/native.js'
import { COVERAGE } from '../source/remaking.js'

interface Known {
  readonly name: RegExp
  /** A pattern in its text. */
  readonly word: RegExp
  /**
   * The text that is sent instead, written as a string so that no compiler or bundler changes it.
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

/** `import * as` for CommonJS by Babel and by swc: they cache results in a `WeakMap`. */
const OF_BABEL: Known = {
  name: /^_interop(?:RequireWildcard|_require_wildcard)\d*$/,
  word: /\b__esModule\b/,
  text: IMPORT_ALL,
}

/** The same by TypeScript: it assigns its own variable. */
const OF_TYPESCRIPT: Known = {
  name: /^$/,
  word: /^function \(mod\) \{\s*if \(mod && mod\.__esModule\) return mod;/,
  text: IMPORT_ALL,
}

/** The counters of Istanbul, for tests with coverage: those of a worker are not collected. */
const COUNTERS: Known = {
  name: COVERAGE,
  word: /\bactualCoverage\b/,
  text: `return function () {
  const branches = new Proxy({}, { get: () => ({}) })
  return { s: {}, f: {}, b: branches, bT: branches }
}`,
}

/** Recognises such functions and creates their replacements. */
export class CompilerFunctions {
  readonly #made = new Map<Known, AnyFunction>()

  /** The replacement of a function; undefined if it is not such a helper. */
  remade(fn: AnyFunction): AnyFunction | undefined {
    const name = ownValue(fn, 'name')
    if (typeof name !== 'string') return undefined
    const known = [OF_BABEL, OF_TYPESCRIPT, COUNTERS].find((each) => each.name.test(name))
    if (known === undefined) return undefined
    if (!known.word.test(Function.prototype.toString.call(fn))) return undefined
    return this.#make(known)
  }

  /** The replacement for the counters of a script that cannot be seen. */
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

// From the text of a function to an expression that makes the function anew. `toString` gives the
// exact text, but for a method that is no expression: `{ f() {} }.f` has the text `f() {}`.

import { compileFunction, constants } from 'node:vm'
import type { AnyFunction } from './native-names.js'

/** An expression whose value is the function, and how it must be evaluated. */
export interface FunctionSource {
  readonly expression: string
  readonly isStrict: boolean
}

/** What stands between two words: white space and comments. */
const GAP = String.raw`(?:\s|/\*[^]*?\*/|//.*\n)*`
const IDENTIFIER = String.raw`#?[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*`
const QUOTED = String.raw`'[^'\n]*'|"[^"\n]*"`
const KEY = String.raw`(?:${IDENTIFIER}|[\d.]\w*|${QUOTED}|\[[^\][]*\])`
const METHOD = new RegExp(
  `^(?:(?:get|set|static)\\b(?!${GAP}\\()${GAP})?` +
    `(?:(?<async>async)\\b(?!${GAP}\\()${GAP})?(?<star>\\*)?${GAP}${KEY}${GAP}(?=\\()`,
  'u',
)

/**
 * Reads the text of a function that is neither native nor a class.
 * Throws `SyntaxError` where the text means nothing outside of the place that it comes from.
 */
export function functionSource(fn: AnyFunction): FunctionSource {
  const text = Function.prototype.toString.call(fn)
  const expression = expressionOf(text)
  if (isSloppy(fn)) return { expression, isStrict: false }
  try {
    check({ expression, isStrict: true })
    return { expression, isStrict: true }
  } catch (error) {
    // Arrows and methods of a CommonJS file do not show whether they are strict.
    const source = { expression, isStrict: false }
    if (!compiles(source)) throw error
    return source
  }
}

/** Whether the text is that of a class. A method may have the name `class`. */
export function isClass(fn: AnyFunction): boolean {
  return /^class(?![\w$\u0080-\uffff]|\s*\()/.test(Function.prototype.toString.call(fn))
}

/** The text as an expression. A method becomes a function without a name that it could call. */
function expressionOf(text: string): string {
  if (compiles({ expression: text, isStrict: false })) return text
  const head = METHOD.exec(text)
  if (head === null) return text
  const { async: asyncWord = '', star = '' } = head.groups ?? {}
  return `${asyncWord} function${star} ${text.slice(head[0].length)}`
}

/** Plain functions show it: only sloppy ones have these properties of old. */
function isSloppy(fn: AnyFunction): boolean {
  return Object.hasOwn(fn, 'caller') && Object.hasOwn(fn, 'arguments')
}

function compiles(source: FunctionSource): boolean {
  try {
    check(source)
    return true
  } catch {
    return false
  }
}

/** Throws `SyntaxError` if the expression is none. */
function check(source: FunctionSource): void {
  compileFunction(prefixOf(source) + source.expression + SUFFIX)
}

/**
 * Makes the function anew. Stacks show it as `<task NAME>`, with the lines of its own text, and
 * `import()` inside resolves from the working directory. Throws what the expression throws.
 */
export function evaluate(source: FunctionSource, name: string): unknown {
  const { expression } = source
  const prefix = prefixOf(source)
  const usesImport = /\bimport\b/.test(expression)
  if (usesImport) silenceImports()
  const parameters = expression.includes('__name') ? ['__name'] : []
  const make = compileFunction(prefix + expression + SUFFIX, parameters, {
    filename: `<task ${oneLine(name)}>`,
    columnOffset: -prefix.length,
    ...(usesImport ? DYNAMIC_IMPORT : {}),
  })
  return Reflect.apply(make, undefined, [keepName]) as unknown
}

function prefixOf(source: FunctionSource): string {
  return source.isStrict ? "'use strict';return(" : 'return('
}

const SUFFIX = '\n)'

const DYNAMIC_IMPORT = {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
} as const

/** esbuild, and so tsx, wraps functions inside functions in calls of this with `keepNames`. */
function keepName(target: object, value: string): object {
  return Object.defineProperty(target, 'name', { value, configurable: true })
}

/**
 * Node warns that its default loader is experimental: nothing that users of ours could act on. It
 * does so once in a process, when the first `import()` runs: so that is one of no consequence.
 */
function silenceImports(): void {
  const emitWarning: unknown = Reflect.get(process, 'emitWarning')
  process.emitWarning = () => {}
  try {
    const load = compileFunction("return import('node:vm')", [], DYNAMIC_IMPORT)
    void (load as () => Promise<unknown>)()
  } finally {
    Reflect.set(process, 'emitWarning', emitWarning)
  }
}

/** Names of methods can be any text. */
function oneLine(name: string): string {
  return name.replaceAll(/\s+/g, ' ').slice(0, 100)
}

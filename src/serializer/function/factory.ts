// Creates functions from their code. Compiling costs far more than calling, so compiled code is
// cached: a factory creates a new function for each set of captured variables.

import { compileFunction, constants } from 'node:vm'
import { DeserializeError } from '../../base/errors.js'
import { codeOf, type ShippedCode } from '../bytes/code.js'
import { CAPTURE_CONSTANT, CAPTURE_EARLY, CAPTURE_LATE } from './writer.js'
import { nodeMajor } from '../bytes/message.js'
import { quietly } from '../module/place.js'
import type { AnyFunction } from '../module/native.js'
import { textOf } from '../refusal.js'

/** The most codes that are cached. The oldest is removed first. */
const MAX_CODES = 1_000

/** The maximum indentation of a function's first line. In minified code it can be any number. */
const MAX_INDENT = 200

/** The end of each compiled text: it shows that the script is not the file that it is named for. */
export const MADE_HERE = '/* scaler-ts */'

/** A private static field of a class: accessors from outside. */
export interface StaticPrivate {
  readonly name: string
  readonly get: () => unknown
  readonly set: (value: unknown) => void
}

/** A created function, and the variables that are set later. */
export interface FunctionInstance {
  readonly fn: AnyFunction
  readonly setLate: (values: readonly unknown[]) => void
  /** Their current values. */
  readonly getLate: () => readonly unknown[]
  readonly privates: readonly StaticPrivate[]
}

/** The inputs of a function; see `FunctionCode`. */
export interface FunctionInputs {
  /** The constants, in the order of the names. */
  readonly constants: readonly unknown[]
  /** The early values, in the order of the names. */
  readonly early: readonly unknown[]
  /** In the order of `code.runtime`. */
  readonly runtime: readonly unknown[]
  readonly parent: unknown
  /** For messages. */
  readonly title: string
  /** The major version of the Node that wrote it. */
  readonly senderMajor: number
}

/** The result of `compileFunction`: the value of the expression, and access to late variables. */
type Compiled = (
  ...parameters: unknown[]
) => [unknown, (values: readonly unknown[]) => void, () => readonly unknown[]]

/** One code with one way of passing each of its variables. */
export class FunctionFactory {
  readonly shipped: ShippedCode
  /** How each variable is passed. */
  readonly captures: readonly number[]
  /** Different for different code or captures. */
  readonly key: string
  #compiled: Compiled | undefined

  constructor(shipped: ShippedCode, captures: readonly number[], key: string) {
    this.shipped = shipped
    this.captures = captures
    this.key = key
  }

  /** Creates a function. Throws `DeserializeError`. */
  make(inputs: FunctionInputs): FunctionInstance {
    const privates: StaticPrivate[] = []
    const parameters = [...inputs.constants, ...inputs.runtime]
    const { code } = this.shipped
    if (code.parentName !== undefined) parameters.push(inputs.parent)
    if (code.adoptName !== undefined) parameters.push((one: StaticPrivate) => privates.push(one))
    parameters.push(inputs.early)
    let value: unknown
    let setLate: FunctionInstance['setLate']
    let getLate: FunctionInstance['getLate']
    try {
      this.#compiled ??= this.#compile()
      ;[value, setLate, getLate] = this.#compiled(...parameters)
    } catch (error) {
      throw failure(inputs, error)
    }
    const fn = memberOf(value, code.form)
    if (typeof fn !== 'function') throw new DeserializeError(`${inputs.title} is not a function`)
    return { fn: fn as AnyFunction, setLate, getLate, privates }
  }

  #compile(): Compiled {
    const { code, url } = this.shipped
    const names = this.#constantNames
    for (const { name } of code.runtime) names.push(name)
    const parameters = this.#parametersFor(names)
    if (code.parentName !== undefined) parameters.push(code.parentName)
    if (code.adoptName !== undefined) parameters.push(code.adoptName)
    const given = this.#freeWord('given', parameters)
    parameters.push(given)
    const renamed = names.flatMap((name, index) => {
      const parameter = parameters[index] ?? name
      return parameter === name ? [] : [`${name}=${parameter}`]
    })
    const prefix = this.#prefix(given, renamed)
    // Node shows the line of an uncaught error: it should be the user's line, without added code.
    const isApart = code.column >= 0 && code.column <= MAX_INDENT
    const start = isApart ? `${prefix}\n${' '.repeat(code.column)}` : prefix
    const text = `${start}${code.expression}\n)${this.#suffix(given)}]${MADE_HERE}`
    const usesImport = code.runtime.length === 0 && /\bimport\b/.test(code.expression)
    if (usesImport) importOnce()
    return compileFunction(text, parameters, {
      filename: url,
      lineOffset: isApart ? code.line - 1 : code.line,
      columnOffset: isApart ? 0 : code.column - prefix.length,
      ...(usesImport ? DYNAMIC_IMPORT : {}),
    }) as Compiled
  }

  /** Node 20 to 24 crash if a parameter's name has a character outside of the basic plane. */
  #parametersFor(names: readonly string[]): string[] {
    const parameters = names.filter((name) => !ASTRAL.test(name))
    return names.map((name) => {
      if (!ASTRAL.test(name)) return name
      const parameter = this.#freeWord('astral', parameters)
      parameters.push(parameter)
      return parameter
    })
  }

  /** `renamed`: variables that are passed under another name. */
  #prefix(given: string, renamed: readonly string[]): string {
    const { code } = this.shipped
    let earlyCount = 0
    const declarations = code.names.flatMap(({ name }, index) => {
      if (this.captures[index] === CAPTURE_LATE) return [name]
      if (this.captures[index] !== CAPTURE_EARLY) return []
      earlyCount += 1
      return [`${name}=${given}[${earlyCount - 1}]`]
    })
    const late = declarations.length === 0 ? '' : `var ${declarations.join(',')};`
    const named = renamed.length === 0 ? '' : `const ${renamed.join(',')};`
    return `${code.isStrict ? "'use strict';" : ''}${named}${late}return[(`
  }

  #suffix(given: string): string {
    const names = [...this.#lateNames()]
    const assignments = names.map((name, index) => `${name}=${given}[${index}]`)
    return `,(${given})=>{${assignments.join(';')}},()=>[${names.join(',')}]`
  }

  *#lateNames(): Generator<string> {
    for (const [index, { name }] of this.shipped.code.names.entries()) {
      const capture = this.captures[index]
      if (capture === CAPTURE_LATE || capture === CAPTURE_EARLY) yield name
    }
  }

  get #constantNames(): string[] {
    return this.shipped.code.names
      .filter((_, index) => this.captures[index] === CAPTURE_CONSTANT)
      .map(({ name }) => name)
  }

  /** A name that is not used for anything else. */
  #freeWord(word: string, taken: readonly string[]): string {
    const { expression, names } = this.shipped.code
    let free = `$${word}`
    const isTaken = (): boolean =>
      expression.includes(free) || taken.includes(free) || names.some(({ name }) => name === free)
    while (isTaken()) free += '_'
    return free
  }
}

function failure({ title, senderMajor }: FunctionInputs, error: unknown): DeserializeError {
  const here = nodeMajor()
  const isForeign = error instanceof SyntaxError && senderMajor !== here
  const versions = isForeign ? ` (sent by Node ${senderMajor}, this is Node ${here})` : ''
  const text = `${title} cannot be evaluated here: ${textOf(error)}${versions}`
  return new DeserializeError(text, { cause: error })
}

/** The factories of a process. */
export class FunctionFactories {
  readonly #codes = new Map<
    string,
    { shipped: ShippedCode; factories: Map<string, FunctionFactory> }
  >()

  /** The code for a text (serializer/bytes/code.ts). Throws `DeserializeError`. */
  shippedCode(key: string): ShippedCode {
    return this.#entry(key).shipped
  }

  /** The factory for a code and the way each variable is passed. */
  get(codeKey: string, captures: readonly number[]): FunctionFactory {
    const { shipped, factories } = this.#entry(codeKey)
    const captureKey = captures.join('')
    let factory = factories.get(captureKey)
    if (factory === undefined) {
      const key = `${captureKey}:${codeKey}`
      factory = new FunctionFactory(shipped, captures, key)
      factories.set(captureKey, factory)
    }
    return factory
  }

  #entry(key: string): { shipped: ShippedCode; factories: Map<string, FunctionFactory> } {
    const known = this.#codes.get(key)
    if (known !== undefined) return known
    const entry = { shipped: codeOf(key), factories: new Map<string, FunctionFactory>() }
    this.#codes.set(key, entry)
    if (this.#codes.size > MAX_CODES) {
      for (const oldest of this.#codes.keys()) {
        this.#codes.delete(oldest)
        break
      }
    }
    return entry
  }
}

const ASTRAL = /[\u{10000}-\u{10ffff}]/u

const PLACES = { getter: 'get', setter: 'set', method: 'value' } as const

/** The function in the value of the expression; see `FunctionCode.form`. */
function memberOf(value: unknown, form: ShippedCode['code']['form']): unknown {
  if (form === 'value' || typeof value !== 'object' || value === null) return value
  const descriptor = Object.getOwnPropertyDescriptor(value, 'm')
  return descriptor?.[PLACES[form]]
}

const DYNAMIC_IMPORT = {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
} as const

/** Node warns once per process, at the first `import()`: this one has no other effect. */
function importOnce(): void {
  const load = compileFunction("return import('node:vm')", [], DYNAMIC_IMPORT)
  quietly(() => void (load as () => Promise<unknown>)())
}

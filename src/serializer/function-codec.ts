// Functions as bytes: the name of a native one, else the source text. A function may use its
// arguments, globals, and what it imports itself.
//
//   form (1 byte), name (text), and for the forms with source: the expression (text)

import { types } from 'node:util'
import { DeserializeError } from '../base/errors.js'
import type { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { evaluate, functionSource, isClass } from './function-source.js'
import { isNative, ownValue, type AnyFunction, type NativeNames } from './native-names.js'
import { textOf } from './path.js'
import { Refusal, refuseClass } from './refusal.js'
import { MESSAGE_FUNCTION } from './tag.js'

// Append only.
const FORM_NATIVE = 1
const FORM_STRICT = 2
const FORM_SLOPPY = 3

/** How many functions are known by their text. */
const MAX_KNOWN_TEXTS = 1_000

/** Turns functions into bytes and back, the same function always into the same bytes. */
export class FunctionCodec {
  readonly #natives: NativeNames
  readonly #encoded = new WeakMap<AnyFunction, Uint8Array>()
  /**
   * By name and text: a function expression in a loop is a new function each time, but the same
   * text. The oldest goes first.
   */
  readonly #byText = new Map<string, Uint8Array>()

  constructor(natives: NativeNames) {
    this.#natives = natives
  }

  /**
   * The shipped form behind `MESSAGE_FUNCTION`: the same instance for the same function, so nobody
   * may change it. A `Refusal` when the function cannot travel.
   */
  encode(fn: AnyFunction): Uint8Array | Refusal {
    const known = this.#encoded.get(fn)
    if (known !== undefined) return known
    const bytes = types.isProxy(fn) ? refuseClass('Proxy') : this.#encodeByText(fn)
    if (bytes instanceof Uint8Array) this.#encoded.set(fn, bytes)
    return bytes
  }

  /** The function again. Throws `DeserializeError`. */
  decode(reader: ByteReader): AnyFunction {
    const form = reader.byte()
    const name = reader.text()
    if (form === FORM_NATIVE) return this.#resolve(name)
    if (form !== FORM_STRICT && form !== FORM_SLOPPY) {
      throw new DeserializeError('the function has a form that this version does not know')
    }
    return make(reader.text(), form === FORM_STRICT, name)
  }

  #encodeByText(fn: AnyFunction): Uint8Array | Refusal {
    const key = this.#textKeyOf(fn)
    const known = key === undefined ? undefined : this.#byText.get(key)
    if (known !== undefined) return known
    const writer = new ByteWriter()
    writer.byte(MESSAGE_FUNCTION)
    const refusal = this.#write(fn, writer)
    if (refusal !== undefined) return refusal
    const bytes = Buffer.from(writer.written)
    if (key !== undefined) this.#remember(key, bytes)
    return bytes
  }

  /** Undefined for a function that the text does not tell from others: one that goes by name. */
  #textKeyOf(fn: AnyFunction): string | undefined {
    if (isNative(fn) || this.#natives.nameOf(fn) !== undefined) return undefined
    return `${nameOf(fn)}\0${Function.prototype.toString.call(fn)}`
  }

  #remember(key: string, bytes: Uint8Array): void {
    this.#byText.set(key, bytes)
    if (this.#byText.size <= MAX_KNOWN_TEXTS) return
    for (const oldest of this.#byText.keys()) {
      this.#byText.delete(oldest)
      break
    }
  }

  #resolve(name: string): AnyFunction {
    const fn = this.#natives.resolve(name)
    if (fn !== undefined) return fn
    throw new DeserializeError(`Node ${process.versions.node} has no function ${name}`)
  }

  #write(fn: AnyFunction, writer: ByteWriter): Refusal | undefined {
    const native = this.#natives.nameOf(fn)
    if (native !== undefined) {
      writer.byte(FORM_NATIVE)
      writer.text(native)
      return undefined
    }
    const refusal = refusalOf(fn)
    if (refusal !== undefined) return refusal
    try {
      const { expression, isStrict } = functionSource(fn)
      writer.byte(isStrict ? FORM_STRICT : FORM_SLOPPY)
      writer.text(nameOf(fn))
      writer.text(expression)
      return undefined
    } catch (error) {
      return refuseSyntax(fn, error)
    }
  }
}

function make(expression: string, isStrict: boolean, name: string): AnyFunction {
  let fn: unknown
  try {
    fn = evaluate({ expression, isStrict }, name)
  } catch (error) {
    const text = `${titleOf(name)} cannot be evaluated here: ${textOf(error)}`
    throw new DeserializeError(text, { cause: error })
  }
  if (typeof fn !== 'function') throw new DeserializeError(`${titleOf(name)} is not a function`)
  if (fn.name !== name) Object.defineProperty(fn, 'name', { value: name, configurable: true })
  return fn as AnyFunction
}

/** The name that the function shows, if that is one. */
function nameOf(fn: AnyFunction): string {
  const name = ownValue(fn, 'name')
  return typeof name === 'string' ? name : ''
}

function titleOf(name: string): string {
  return name === '' ? 'this function' : `function ${name}`
}

function refusalOf(fn: AnyFunction): Refusal | undefined {
  if (isClass(fn)) {
    const wayOut = 'import or declare it inside the function that uses it'
    return new Refusal(`class ${nameOf(fn)}`.trim(), 'only functions do', wayOut)
  }
  if (!isNative(fn)) return undefined
  const name = nameOf(fn)
  return name.startsWith('bound ')
    ? new Refusal(titleOf(name), 'what it is bound to cannot be seen', WRAP_BOUND)
    : new Refusal(titleOf(name), 'its code is native', WRAP_NATIVE)
}

const WRAP_BOUND = 'pass a function that takes the object as an argument and calls its method'
const WRAP_NATIVE = 'call it inside a function of your own'

function refuseSyntax(fn: AnyFunction, error: unknown): Refusal {
  return new Refusal(
    titleOf(nameOf(fn)),
    `its text means nothing outside of its file (${textOf(error)})`,
    'write it as a function of its own that takes what it needs as arguments',
  )
}

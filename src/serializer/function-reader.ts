// Makes functions again: the other half of function-writer.ts.

import { DeserializeError } from '../base/errors.js'
import type { ByteReader } from './byte-reader.js'
import { readCodeKey } from './code-codec.js'
import { readEarly } from './early-value.js'
import type { FunctionFactory, FunctionInputs, StaticPrivate } from './function/function-factory.js'
import {
  CAPTURE_ABSENT,
  CAPTURE_CONSTANT,
  CAPTURE_EARLY,
  CAPTURE_LATE,
  FUNCTION_INTEGRITY,
  FUNCTION_MEMBERS,
  FUNCTION_OTHER_PROTOTYPE,
  FUNCTION_PARENT_MEMBERS,
  FUNCTION_PROPERTIES,
  FUNCTION_PROTOTYPE,
} from './function-writer.js'
import { applyIntegrity } from './integrity.js'
import type { ExportReference } from './module/reference.js'
import { ownValue, type AnyFunction } from './native-names.js'
import type { ReaderContext } from './reader-tools.js'
import { readReference } from './reference-codec.js'
import type { MadeFunction } from './shipped-functions.js'
import type { FunctionCode, RuntimeName } from './source/function-site.js'
import * as tag from './tag.js'

/** What is needed of the unit. */
export interface FunctionSource {
  readonly reader: ByteReader
  readonly context: ReaderContext
  value(): unknown
  primitive(): unknown
  functionValue(): AnyFunction
}

/** What is needed to read properties. */
export interface PropertySource {
  define(object: object): unknown
  prototype(): object | null
}

/** A function that is there, but for its late variables and properties. */
export interface PendingFunction {
  readonly fn: AnyFunction
  readonly made: MadeFunction
}

/** Reads the functions of one unit. */
export class FunctionReader {
  readonly #source: FunctionSource
  readonly #properties: PropertySource
  /** Codes by number. */
  readonly #codes: string[] = []

  constructor(source: FunctionSource, properties: PropertySource) {
    this.#source = source
    this.#properties = properties
  }

  /** A function without its content. */
  header(): PendingFunction {
    const { reader, context } = this.#source
    const codeKey = this.#codeKey()
    const name = reader.byte() === 1 ? reader.text() : undefined
    const length = reader.varint()
    const { code } = context.tools.factories.shippedCode(codeKey)
    const { captures, ...given } = this.#captures(code)
    const parent = code.parentName === undefined ? undefined : this.#parent()
    const factory = context.tools.factories.get(codeKey, captures)
    const runtime = code.runtime.map(({ kind }) => this.#runtimeValue(kind, factory))
    const { senderMajor } = context
    const title = name === undefined || name === '' ? 'this function' : `function ${name}`
    const instance = factory.make({ ...given, runtime, parent, title, senderMajor })
    const { fn } = instance
    if (name !== undefined) redefine(fn, 'name', name)
    redefine(fn, 'length', length)
    const { constants, references } = given
    const made = { factory, instance, constants, references }
    context.tools.shipped.add(fn, made)
    return { fn, made }
  }

  /** Reads what the function did not have from the beginning. */
  content({ fn, made }: PendingFunction): void {
    const { factory, instance } = made
    const late = factory.captures.filter((capture) => isLate(capture))
    instance.setLate(late.map(() => this.#source.value()))
    if (factory.shipped.code.adoptName !== undefined) this.#staticPrivates(instance.privates)
    const flags = this.#source.reader.byte()
    if ((flags & FUNCTION_PROTOTYPE) !== 0) Object.setPrototypeOf(fn, this.#properties.prototype())
    if ((flags & FUNCTION_PROPERTIES) !== 0) this.#properties.define(fn)
    const prototype = ownValue(fn, 'prototype')
    if ((flags & FUNCTION_MEMBERS) !== 0) this.#defineMembers(prototype)
    if ((flags & FUNCTION_PARENT_MEMBERS) !== 0) {
      Object.setPrototypeOf(prototype, this.#properties.prototype())
    }
    if ((flags & FUNCTION_OTHER_PROTOTYPE) !== 0) {
      Object.defineProperty(fn, 'prototype', { value: this.#source.value() })
    }
    if ((flags & FUNCTION_INTEGRITY) !== 0) applyIntegrity(fn, this.#source.reader.byte())
  }

  /** A bound function, behind its flags. */
  bound(): AnyFunction {
    const target = this.#source.functionValue()
    const self = this.#source.value()
    const parameters: unknown[] = []
    for (let left = this.#source.reader.count(1); left > 0; left -= 1) {
      parameters.push(this.#source.value())
    }
    const fn = Function.prototype.bind.call(target, self, ...parameters) as AnyFunction
    this.#source.context.tools.shipped.addParts(fn, { kind: 'bound', target, self, parameters })
    return fn
  }

  /** What stands for `import` or `require` in a file. */
  runtime(role: 'import' | 'require'): AnyFunction {
    const url = this.#source.reader.text()
    const { loader, shipped } = this.#source.context.tools
    const fn = role === 'import' ? loader.importOf(url) : loader.requireOf(url)
    shipped.addParts(fn, { kind: 'runtime', role, url })
    return fn
  }

  #codeKey(): string {
    const { reader } = this.#source
    const number = reader.varint()
    if (number === 0) {
      const key = readCodeKey(reader)
      this.#codes.push(key)
      return key
    }
    const key = this.#codes[number - 1]
    if (key !== undefined) return key
    throw new DeserializeError('the value refers to a code that it does not have')
  }

  #captures({ names }: FunctionCode): Given & { readonly captures: readonly number[] } {
    const captures: number[] = []
    const constants: unknown[] = []
    const early: unknown[] = []
    const references = new Map<number, ExportReference>()
    for (let index = 0; index < names.length; index += 1) {
      const capture = this.#source.reader.byte()
      captures.push(capture)
      if (capture === CAPTURE_CONSTANT) {
        constants.push(this.#constant(references, index))
      } else if (capture === CAPTURE_EARLY) {
        early.push(readEarly(this.#source.reader, () => this.#source.primitive()))
      } else if (capture !== CAPTURE_LATE && capture !== CAPTURE_ABSENT) {
        throw new DeserializeError('a variable is given in a way that this version does not know')
      }
    }
    return { captures, constants, early, references }
  }

  #constant(references: Map<number, ExportReference>, index: number): unknown {
    const { reader, context } = this.#source
    if (reader.peek() !== tag.VALUE_EXPORT) return this.#source.value()
    reader.skip(1)
    const reference = readReference(reader)
    references.set(index, reference)
    return context.tools.loader.load(reference)
  }

  #parent(): AnyFunction | null {
    return this.#source.reader.byte() === 0 ? null : this.#source.functionValue()
  }

  #runtimeValue(kind: RuntimeName['kind'], { shipped }: FunctionFactory): unknown {
    const { loader, shipped: functions } = this.#source.context.tools
    const { url } = shipped
    if (kind === 'meta') return loader.metaOf(url)
    const fn = kind === 'import' ? loader.importOf(url) : loader.requireOf(url)
    functions.addParts(fn, { kind: 'runtime', role: kind, url })
    return fn
  }

  #staticPrivates(privates: readonly StaticPrivate[]): void {
    const { reader } = this.#source
    for (let left = reader.count(2); left > 0; left -= 1) {
      const name = reader.text()
      const value = this.#source.value()
      privates.find((one) => one.name === name)?.set(value)
    }
  }

  #defineMembers(prototype: unknown): void {
    if (typeof prototype !== 'object' || prototype === null) {
      throw new DeserializeError('a class has members, but nothing to keep them')
    }
    this.#properties.define(prototype)
  }
}

/** What the header gives of the variables. */
interface Given extends Pick<FunctionInputs, 'constants' | 'early'> {
  readonly references: ReadonlyMap<number, ExportReference>
}

function isLate(capture: number): boolean {
  return capture === CAPTURE_LATE || capture === CAPTURE_EARLY
}

function redefine(fn: AnyFunction, key: 'name' | 'length', value: unknown): void {
  if (ownValue(fn, key) !== value) Object.defineProperty(fn, key, { value, configurable: true })
}

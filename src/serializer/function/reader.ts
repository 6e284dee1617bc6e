// Re-creates functions: the counterpart of writer.ts.

import { DeserializeError } from '../../base/errors.js'
import { readCodeKey, type ShippedCode } from '../bytes/code.js'
import { readReference } from '../bytes/leaf.js'
import type { ByteReader } from '../bytes/reader.js'
import * as tag from '../bytes/tag.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import type { ExportReference } from '../module/policy.js'
import { captureText, placeText } from '../refusal.js'
import type { FunctionCode, RuntimeName } from '../source/sites.js'
import { Cell } from '../value/cell.js'
import { prototypeOf } from '../class/prototype-chain.js'
import { applyIntegrity } from '../value/shape.js'
import type { ReaderContext } from '../value/reader.js'
import { readEarly } from './early.js'
import type { FunctionFactory, FunctionInputs, FunctionInstance, StaticPrivate } from './factory.js'
import type { Capture, ClassMember, FunctionParts } from './parts.js'
import {
  CAPTURE_ABSENT,
  CAPTURE_CONSTANT,
  CAPTURE_EARLY,
  CAPTURE_LATE,
  FUNCTION_EXTENDED_MEMBERS,
  FUNCTION_INTEGRITY,
  FUNCTION_MEMBERS,
  FUNCTION_OTHER_PROTOTYPE,
  FUNCTION_PARENT_MEMBERS,
  FUNCTION_PROPERTIES,
  FUNCTION_PROTOTYPE,
  MEMBER_GET,
  MEMBER_SET,
  MEMBER_STATIC,
} from './writer.js'

/** The parts of the unit that are needed here. */
interface FunctionSource {
  readonly reader: ByteReader
  readonly context: ReaderContext
  value(): unknown
  primitive(): unknown
  functionValue(): AnyFunction
}

/** The parts that are needed to read properties. */
interface PropertySource {
  define(object: object): unknown
  prototype(): object | null
}

/** A function that exists, except for its late variables and properties. */
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

  /** Reads a function without its content. */
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
    if (factory.shipped.isClass) context.tools.originals.addClass(fn, code.expression)
    if (name !== undefined) redefine(fn, 'name', name)
    redefine(fn, 'length', length)
    const { constants, references } = given
    const made = { factory, instance, constants, references }
    context.tools.shipped.add(fn, made)
    return { fn, made }
  }

  /** Reads the late parts of a function. */
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
    if ((flags & FUNCTION_EXTENDED_MEMBERS) !== 0) this.#extendMembers(fn)
  }

  /** A bound function, after its flags. */
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

  /** A method or accessor that the text of its class defines. */
  member(): AnyFunction {
    return this.#memberOf(this.#source.functionValue())
  }

  #extendMembers(owner: AnyFunction): void {
    for (let left = this.#source.reader.count(3); left > 0; left -= 1) {
      const fn = this.#memberOf(owner)
      this.#properties.define(fn)
      const integrity = this.#source.reader.byte()
      if (integrity !== 0) applyIntegrity(fn, integrity)
    }
  }

  #memberOf(owner: AnyFunction): AnyFunction {
    const bits = this.#source.reader.byte()
    const slot = MEMBER_SLOTS.get(bits & ~MEMBER_STATIC)
    const key = this.#source.primitive()
    const isKey = typeof key === 'string' || typeof key === 'symbol'
    const isStatic = (bits & MEMBER_STATIC) !== 0
    const { originals } = this.#source.context.tools
    const found = isKey && slot && originals.find({ owner, key, isStatic, slot })
    if (typeof found === 'function') return found
    throw new DeserializeError(`a class does not define ${String(key)}, which is needed`)
  }

  /** `import` or `require` of a file. */
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
    throw new DeserializeError('the value refers to a code that it does not contain')
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
        throw new DeserializeError(
          'a variable is passed in a way that this version does not support',
        )
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
      throw new DeserializeError('a class has members, but no prototype for them')
    }
    this.#properties.define(prototype)
  }
}

const MEMBER_SLOTS: ReadonlyMap<number, ClassMember['slot']> = new Map([
  [0, 'value'],
  [MEMBER_GET, 'get'],
  [MEMBER_SET, 'set'],
])

/** The variables that the header contains. */
interface Given extends Pick<FunctionInputs, 'constants' | 'early'> {
  readonly references: ReadonlyMap<number, ExportReference>
}

function isLate(capture: number): boolean {
  return capture === CAPTURE_LATE || capture === CAPTURE_EARLY
}

function redefine(fn: AnyFunction, key: 'name' | 'length', value: unknown): void {
  if (ownValue(fn, key) !== value) Object.defineProperty(fn, key, { value, configurable: true })
}

// Functions that were created here from received messages. Their parts are known, so they can be
// sent on, or back, without an analysis.

/** A function and how it was created. */
interface MadeFunction {
  readonly factory: FunctionFactory
  readonly instance: FunctionInstance
  /** The constants, in the order of the names. */
  readonly constants: readonly unknown[]
  /** The imported ones among them, by the index of the name. */
  readonly references: ReadonlyMap<number, ExportReference>
}

/** The functions that were created by one reader. */
export class ShippedFunctions {
  readonly #made = new WeakMap<AnyFunction, MadeFunction>()
  readonly #others = new WeakMap<AnyFunction, FunctionParts>()

  /** Records how a function with code was created. */
  add(fn: AnyFunction, made: MadeFunction): void {
    this.#made.set(fn, made)
  }

  /** Records the parts of another function. */
  addParts(fn: AnyFunction, parts: FunctionParts): void {
    this.#others.set(fn, parts)
  }

  /** The current parts of a function; undefined if it was not created here. */
  partsOf(fn: AnyFunction): FunctionParts | undefined {
    const made = this.#made.get(fn)
    if (made === undefined) return this.#others.get(fn)
    const { shipped } = made.factory
    const { code, url, isClass, instancePrivates } = shipped
    const classParts = isClass
      ? { parent: parentOf(fn, shipped), staticPrivates: privatesOf(made), instancePrivates }
      : undefined
    return { kind: 'source', code, url, captures: capturesOf(made), classParts }
  }
}

function parentOf(fn: AnyFunction, { code }: ShippedCode): AnyFunction | null | undefined {
  if (code.parentName === undefined) return undefined
  const parent = prototypeOf(fn)
  return parent === Function.prototype ? null : (parent as AnyFunction)
}

function privatesOf({ instance }: MadeFunction): { name: string; value: unknown }[] {
  return instance.privates.map(({ name, get }) => ({ name, value: get() }))
}

function capturesOf({ factory, instance, constants, references }: MadeFunction): Capture[] {
  const { code, url } = factory.shipped
  const late = instance.getLate()
  const captures: Capture[] = []
  let constantCount = 0
  let lateCount = 0
  for (const [index, name] of code.names.entries()) {
    const kind = factory.captures[index]
    if (kind === CAPTURE_ABSENT) continue
    const value = kind === CAPTURE_CONSTANT ? constants[constantCount] : late[lateCount]
    if (kind === CAPTURE_CONSTANT) constantCount += 1
    else lateCount += 1
    const reference = references.get(index)
    const content: Capture['content'] =
      reference === undefined ? contentOf(value) : { kind: 'reference', reference }
    const step = captureText(name.free.name, placeText(url, name.free.place.line))
    captures.push({ name: name.name, step, content })
  }
  return captures
}

function contentOf(value: unknown): Capture['content'] {
  if (value instanceof Cell) return { kind: 'cell', key: value, value: value.v }
  if (value instanceof WeakMap || value instanceof WeakSet) {
    return { kind: 'privateStore', store: value as WeakMap<object, unknown> }
  }
  return { kind: 'value', value }
}

// Functions that were made here from what came from elsewhere. What they are made of is known, so
// that they can be sent on, or back, without finding it out again.

import type { ShippedCode } from './code-codec.js'
import { Cell } from './cell.js'
import type { Capture, FunctionParts } from './function/function-parts.js'
import type { FunctionFactory, FunctionInstance } from './function/function-factory.js'
import { CAPTURE_ABSENT, CAPTURE_CONSTANT } from './function-writer.js'
import type { ExportReference } from './module/reference.js'
import type { AnyFunction } from './native-names.js'
import { captureText, placeText } from './path.js'
import { prototypeOf } from './prototype-chain.js'

/** A function and how it was made. */
export interface MadeFunction {
  readonly factory: FunctionFactory
  readonly instance: FunctionInstance
  /** In the order of the names, those that are constants. */
  readonly constants: readonly unknown[]
  /** Which of them were imported, by the place of the name. */
  readonly references: ReadonlyMap<number, ExportReference>
}

/** The functions that were made by one reader. */
export class ShippedFunctions {
  readonly #made = new WeakMap<AnyFunction, MadeFunction>()
  readonly #others = new WeakMap<AnyFunction, FunctionParts>()

  /** Remembers how a function with code was made. */
  add(fn: AnyFunction, made: MadeFunction): void {
    this.#made.set(fn, made)
  }

  /** Remembers what another function is. */
  addParts(fn: AnyFunction, parts: FunctionParts): void {
    this.#others.set(fn, parts)
  }

  /** What a function is made of now; undefined if it was not made here. */
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

// Captured constants whose values cannot travel, but can be made again from the expression that
// they are initialised with (source/remaking.ts): objects of packages, as a schema or a logger. In
// their place a function travels that evaluates the expression where, and when, it is needed.

import net from 'node:net'
import { types } from 'node:util'
import { MessagePort, Worker } from 'node:worker_threads'
import type { FunctionView, Inspector } from '../inspect/inspector.js'
import type { AnyFunction } from '../module/native.js'
import type { Binding, FunctionSite, Shape } from '../source/sites.js'
import { MadeCell } from '../value/cell.js'
import { enterable } from './cell-keys.js'
import type { KnownScript } from './scripts.js'

/** A function that makes a value again: what it is made of, though nobody calls it here. */
export interface MakerFunction {
  /** What its variables are looked up with: a function of the same script, or nothing. */
  readonly fn: AnyFunction
  readonly view: FunctionView
  readonly script: KnownScript
  readonly site: FunctionSite
  readonly url: string
}

/** So much of a value is looked at. */
const MAX_LOOKS = 5_000

/** The variables of a process that are made again. */
export class RemadeVariables {
  readonly #cells = new WeakMap<Binding, { readonly cell: MadeCell; readonly shape: Shape }>()
  readonly #makers = new WeakMap<AnyFunction, MakerFunction>()
  #count = 0

  /** Grows with each variable: what was known of functions before may be different now. */
  get version(): number {
    return this.#count
  }

  /** What stands for a variable, if it is one of these. */
  cellOf(variable: Binding): MadeCell | undefined {
    return this.#count === 0 ? undefined : this.#cells.get(variable)?.cell
  }

  /** Whether it must be looked at each time: it may have got something since. */
  isOpen(variable: Binding): boolean {
    return this.#cells.get(variable)?.shape !== undefined
  }

  /** No longer is one of these, if what it holds now looks different. */
  check(variable: Binding, value: unknown): void {
    const known = this.#cells.get(variable)
    if (known !== undefined && !looksLike(value, known.shape)) this.remove(variable)
  }

  /** What a function stands for that is `make` of a cell. */
  makerOf(fn: AnyFunction): MakerFunction | undefined {
    return this.#count === 0 ? undefined : this.#makers.get(fn)
  }

  /** `shape`: of its initializer. */
  add(variable: Binding, maker: MakerFunction, shape: Shape): void {
    const cell = new MadeCell()
    this.#makers.set(cell.make, maker)
    this.#cells.set(variable, { cell, shape })
    this.#count += 1
  }

  remove(variable: Binding): void {
    this.#cells.delete(variable)
    this.#count += 1
  }
}

/** Whether a value still looks like the text that it was made from, as far as that tells. */
export function looksLike(value: unknown, shape: Shape): boolean {
  if (shape === undefined) return true
  if (shape.kind === 'literal') return Object.is(value, shape.value)
  if (!isObject(value) || types.isProxy(value)) return false
  if (shape.kind === 'size') {
    return (types.isMap(value) || types.isSet(value)) && value.size === shape.size
  }
  const properties = new Map<PropertyKey, PropertyDescriptor>()
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key)
    if (property !== undefined && (key !== 'length' || !Array.isArray(value))) {
      properties.set(key, property)
    }
  }
  if (properties.size !== shape.keys.size) return false
  return [...shape.keys].every(([key, inner]) => {
    const property = properties.get(key)
    return property !== undefined && (inner === undefined || looksLike(property.value, inner))
  })
}

/** Whether something in the value is at work in this process: a socket, a server, a thread. */
export function isAtWork(value: unknown): boolean {
  const seen = new Set<unknown>([process, process.stdin, process.stdout, process.stderr])
  const queue: unknown[] = [value]
  for (let at = 0; at < queue.length && at < MAX_LOOKS; at += 1) {
    const object = queue[at]
    if (!isObject(object) || seen.has(object) || types.isProxy(object)) continue
    seen.add(object)
    if (AT_WORK.some((constructor) => object instanceof constructor)) return true
    for (const { value: part } of Object.values(Object.getOwnPropertyDescriptors(object))) {
      queue.push(part)
    }
    for (const key of Object.getOwnPropertySymbols(object)) {
      queue.push(Object.getOwnPropertyDescriptor(object, key)?.value)
    }
    if (types.isMap(object)) queue.push(...object.values())
    if (types.isSet(object)) queue.push(...object)
  }
  return false
}

const AT_WORK: readonly (abstract new (...parameters: never[]) => unknown)[] = [
  net.Socket,
  net.Server,
  Worker,
  MessagePort,
]

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

// Variables that are not initialised yet. Node 20 shows `undefined` for them. Where a variable may
// hold just that, code in the function's place is asked for it, which throws if it is too early.

/** Tells whether they are. */
export class DeadZones {
  readonly #source: Pick<Inspector, 'accessTo'>
  /** What was initialised once stays so: variables of scripts, and those of calls by function. */
  readonly #initialized = new WeakMap<object, Set<Binding>>()

  constructor(source: Pick<Inspector, 'accessTo'>) {
    this.#source = source
  }

  /** Of a variable that shows `undefined` to a function. */
  has(fn: AnyFunction, binding: Binding): boolean {
    const { kind, name, isOnce, isConstant, isNeverUndefined, isInitialized } = binding
    if (kind === 'class') return isConstant
    if ((kind !== 'const' && kind !== 'let') || !isInitialized) return false
    if (isConstant && isNeverUndefined) return true
    const owner = isOnce ? binding : fn
    const known = this.#initialized.get(owner) ?? new Set()
    if (known.has(binding)) return false
    if (this.#throws(fn, name)) return true
    this.#initialized.set(owner, known.add(binding))
    return false
  }

  #throws(fn: AnyFunction, name: string): boolean {
    for (const each of enterable(fn)) {
      const access = this.#source.accessTo(each, name)
      if (access === undefined) continue
      try {
        access.get()
        return false
      } catch (error) {
        return error instanceof ReferenceError
      }
    }
    return false
  }
}

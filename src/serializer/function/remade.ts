// Captured constants whose values cannot be sent, but can be re-created from their initializer
// (source/remaking.ts): objects of packages, such as a schema or a logger. A function is sent
// instead that evaluates the initializer where, and when, it is needed.

import net from 'node:net'
import { types } from 'node:util'
import type { FunctionView, Inspector } from '../inspect/inspector.js'
import type { AnyFunction } from '../module/native.js'
import type { Binding, FunctionSite, Shape } from '../source/sites.js'
import { MadeCell } from '../value/cell.js'
import type { KnownScript } from './scripts.js'

/** A function that re-creates a value: its parts, although it is never called here. */
export interface MakerFunction {
  /** A function of the same script, for looking up variables; or nothing. */
  readonly fn: AnyFunction
  readonly view: FunctionView
  readonly script: KnownScript
  readonly site: FunctionSite
  readonly url: string
}

/** At most this many parts of a value are examined. */
const MAX_PARTS = 5_000

/** The re-created variables of a process. */
export class RemadeVariables {
  readonly #cells = new WeakMap<Binding, { readonly cell: MadeCell; readonly shape: Shape }>()
  readonly #makers = new WeakMap<AnyFunction, MakerFunction>()
  #count = 0

  /** Grows with each variable: earlier results for functions may no longer hold. */
  get version(): number {
    return this.#count
  }

  /** The cell for a variable, if it is re-created. */
  cellOf(variable: Binding): MadeCell | undefined {
    return this.#count === 0 ? undefined : this.#cells.get(variable)?.cell
  }

  /** Whether it must be examined each time because its contents may have changed. */
  isOpen(variable: Binding): boolean {
    return this.#cells.get(variable)?.shape !== undefined
  }

  /** Stops re-creating a variable if its current value looks different. */
  check(variable: Binding, value: unknown): void {
    const known = this.#cells.get(variable)
    if (known !== undefined && !looksLike(value, known.shape)) this.remove(variable)
  }

  /** The maker of a cell whose `make` is this function. */
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

/**
 * Whether a value still looks like the text that it was created from, as far as that can be
 * determined.
 */
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

/** Whether a part of the value is active in this process: a socket, a server, a thread. */
export function isAtWork(value: unknown): boolean {
  const seen = new Set<unknown>([process, process.stdin, process.stdout, process.stderr])
  const queue: unknown[] = [value]
  for (let at = 0; at < queue.length && at < MAX_PARTS; at += 1) {
    const object = queue[at]
    if (!isObject(object) || seen.has(object) || types.isProxy(object)) continue
    seen.add(object)
    if (isHandle(object)) return true
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

function isHandle(object: object): boolean {
  if (object instanceof net.Socket || object instanceof net.Server) return true
  // Loaded when it is needed: all programs load this file.
  const { MessagePort, Worker } = process.getBuiltinModule('node:worker_threads')
  return object instanceof MessagePort || object instanceof Worker
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

// Variables that are not initialized yet. Node 20 shows `undefined` for them. If the value of a
// variable may really be `undefined`, V8 is asked again.

/** Determines whether they are. */
export class DeadZones {
  readonly #source: Pick<Inspector, 'isInitialized'>
  /**
   * An initialized variable stays initialized: variables of scripts, and those of calls by
   * function.
   */
  readonly #initialized = new WeakMap<object, Set<Binding>>()

  constructor(source: Pick<Inspector, 'isInitialized'>) {
    this.#source = source
  }

  /**
   * For a variable that is `undefined` to a function; `scope` is the index of its scope in the
   * function's scopes.
   */
  has(fn: AnyFunction, binding: Binding, scope: number): boolean {
    const { kind, name, isOnce, isConstant, isNeverUndefined, isInitialized } = binding
    if (kind === 'class') return isConstant
    if ((kind !== 'const' && kind !== 'let') || !isInitialized) return false
    if (isConstant && isNeverUndefined) return true
    const owner = isOnce ? binding : fn
    const known = this.#initialized.get(owner) ?? new Set()
    if (known.has(binding)) return false
    if (!this.#source.isInitialized(fn, scope, name)) return true
    this.#initialized.set(owner, known.add(binding))
    return false
  }
}

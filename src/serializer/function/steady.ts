// Whether no task can change a sent function: then a worker creates it once for all of them.
// Decided by the sender, which has the values, from what the text of each function does with its
// variables (read-depth.ts).

import { types } from 'node:util'
import type { Inspector } from '../inspect/inspector.js'
import type { AnyFunction } from '../module/native.js'
import { Refusal } from '../refusal.js'
import { COUNTS } from '../source/methods.js'
import { isPackage } from '../source/remaking.js'
import type { Binding, Changes, CodeName, GivenTo, TextPlace } from '../source/sites.js'
import { arrayForm } from '../value/array-form.js'
import { type Capture, captureOf, type FunctionParts, type SourceParts } from './parts.js'
import type { Declaration, KnownScript, ScriptTable } from './scripts.js'

// Whether a program may have changed the value of a variable in place: in its own script, in
// functions of other modules that receive it, and in modules that import it.

/** A place where a value may be changed. */
export interface ChangePlace extends TextPlace {
  readonly url: string
}

/** Finds such places. */
export class ChangeFinder {
  readonly #scripts: ScriptTable
  readonly #inspector: Pick<Inspector, 'userScripts'>

  constructor(scripts: ScriptTable, inspector: Pick<Inspector, 'userScripts'>) {
    this.#scripts = scripts
    this.#inspector = inspector
  }

  /**
   * The first one found; undefined if there is none. `before`: an offset at the top of the script;
   * what has certainly happened when the script gets there is left out.
   */
  changeOf(declaration: Declaration, before: number = 0): ChangePlace | undefined {
    const { binding, script } = declaration
    const changes = script.analysis?.changesOf(binding.name)
    const own = changes?.own
    const isEarly = own !== undefined && !own.areLate && own.lastAt < before
    const late = isEarly ? changes && { ...changes, own: undefined } : changes
    return this.#within(late, script.script.url, 0) ?? this.#elsewhere(declaration)
  }

  /**
   * `distance`: the number of levels between the value in question and the value that these changes
   * are about.
   */
  #within(
    changes: Changes | undefined,
    url: string,
    distance: number,
    seen: Set<Changes> = new Set(),
  ): ChangePlace | undefined {
    if (changes === undefined || seen.has(changes)) return undefined
    seen.add(changes)
    const { own, givenTo } = changes
    if (own !== undefined && own.level >= distance)
      return { url, line: own.line, column: own.column }
    for (const call of givenTo) {
      const found = this.#byCall(call, url, distance, seen)
      if (found !== undefined) return found
    }
    return undefined
  }

  #byCall(
    { origin, index, distance, line, column, isSuspect }: GivenTo,
    url: string,
    outer: number,
    seen: Set<Changes>,
  ): ChangePlace | undefined {
    // What a package may change was found in the script itself.
    if (isPackage(origin.specifier) && this.#scripts.isOfPackage(origin, url)) return undefined
    const fn = this.#scripts.functionOf(origin, url)
    const parameters = fn?.script.analysis?.changesOf(fn.binding.name)?.parameters
    if (fn === undefined || parameters === undefined)
      return isSuspect ? { url, line, column } : undefined
    for (const each of parameters[Math.min(index, parameters.length - 1)] ?? []) {
      const inner = outer + distance + each.distance
      const found = this.#within(each.changes, fn.script.script.url, inner, seen)
      if (found !== undefined) return found
    }
    return undefined
  }

  #elsewhere(declaration: Declaration): ChangePlace | undefined {
    const { binding } = declaration
    const { script } = declaration.script
    const file = /([^/\\]+?)(?:\.\w+)?$/.exec(script.url)?.[1] ?? script.url
    const name = binding.name.replace(/^exports\./, '')
    for (const { id, url, source } of this.#inspector.userScripts()) {
      if (url === script.url || !(source.includes(name) || source.includes(file))) continue
      const importer = this.#scripts.get(id)
      for (const imported of importer?.analysis?.imports() ?? []) {
        const change = importer && this.#byImport(declaration, name, imported, importer)
        if (change !== undefined) return change
      }
    }
    return undefined
  }

  /** `name`: of the export, in case the whole module is imported. */
  #byImport(
    { binding }: Declaration,
    name: string,
    imported: Binding,
    importer: KnownScript,
  ): ChangePlace | undefined {
    const { origin } = imported
    const { url } = importer.script
    const isWhole = origin === undefined || origin.path.length === 0
    const found = isWhole
      ? this.#scripts.memberOf(imported, importer, name)
      : this.#scripts.declarationOf(origin, url)
    if (found?.binding !== binding) return undefined
    const changes = importer.analysis?.changesOf(imported.name)
    if (!isWhole) return this.#within(changes, url, 0)
    return this.#within(changes, url, 1) ?? this.#within(changes?.members.get(name), url, 0)
  }
}

/** Facts about the functions and objects of a shipment. */
interface SteadySource {
  partsOf(fn: AnyFunction): FunctionParts | Refusal
  /** Whether it is sent as a class. */
  isClass(fn: AnyFunction, parts: SourceParts): boolean
  /** Whether it has own properties or another prototype. */
  isExtended(fn: AnyFunction, parts: SourceParts): boolean
  /** Whether every process has the object, or imports it. */
  isElsewhere(object: object): boolean
}

/** A captured value, and the first level at which the function may change something. */
interface HeldValue {
  readonly value: unknown
  readonly depth: number
  /** See `NameDepth`. */
  readonly isSliced: boolean
}

/** The checks for one shipment. */
export class SteadyCheck {
  readonly #source: SteadySource
  /** Functions that were found; none of them is open to change. */
  readonly #functions = new Set<AnyFunction>()
  /** The function that the task calls, unless other code is known to call it. */
  #root: AnyFunction | undefined

  constructor(source: SteadySource) {
    this.#source = source
  }

  /** Whether no task can change the function that it calls, or anything that this refers to. */
  isSteady(fn: AnyFunction): boolean {
    this.#root = fn
    const isSteady = this.#isSteady(fn)
    if (this.#root !== undefined) return isSteady
    // Other code calls it as well, and may change its result.
    this.#functions.clear()
    return this.#isSteady(fn)
  }

  #isSteady(fn: AnyFunction): boolean {
    if (this.#functions.has(fn)) return true
    this.#functions.add(fn)
    const parts = this.#source.partsOf(fn)
    if (parts instanceof Refusal) return false
    if (parts.kind === 'bound' || parts.kind === 'member') return false
    if (parts.kind !== 'source') return true
    if (this.#source.isClass(fn, parts) || parts.classParts !== undefined) return false
    if (parts.code.exposesItself || this.#source.isExtended(fn, parts)) return false
    const held = heldValues(parts, fn === this.#root)
    return held !== undefined && held.every((one) => this.#isOnlyRead(one))
  }

  /** Whether all of these functions that captured a value only read it. */
  areReading(functions: Iterable<AnyFunction>, value: unknown): boolean {
    for (const fn of functions) {
      const parts = this.#source.partsOf(fn)
      if (parts instanceof Refusal || parts.kind !== 'source') continue
      for (const [index, name] of parts.code.names.entries()) {
        const capture = captureOf(parts, index)
        const held = heldBy(capture, name, false)?.filter((one) => one.value === value)
        if (held === undefined && mayHold(capture, value)) return false
        if (held?.every((one) => this.#isOnlyRead(one)) === false) return false
      }
    }
    return true
  }

  #isOnlyRead({ value, depth, isSliced }: HeldValue): boolean {
    if (typeof value === 'function') {
      if (value === this.#root) this.#root = undefined
      return depth === Infinity && this.#isSteady(value as AnyFunction)
    }
    if (typeof value !== 'object' || value === null) return true
    if (this.#source.isElsewhere(value)) return true
    return isPlain(value, { depth, level: 0, seen: new Map(), isSliced })
  }
}

/**
 * The values that the function refers to; undefined if it assigns a variable, or a value is
 * unknown.
 */
function heldValues(parts: SourceParts, isRoot: boolean): readonly HeldValue[] | undefined {
  const found: HeldValue[] = []
  for (const [index, name] of parts.code.names.entries()) {
    const held = heldBy(captureOf(parts, index), name, isRoot)
    if (held === undefined) return undefined
    found.push(...held)
  }
  return found
}

function heldBy(
  capture: Capture | undefined,
  name: CodeName,
  isRoot: boolean,
): readonly HeldValue[] | undefined {
  if (capture === undefined) return []
  const { content } = capture
  const { moduleDepth, isAssigned, isSliced } = name.free
  const depth = isRoot ? name.free.rootDepth : name.free.depth
  switch (content.kind) {
    case 'reference':
      return []
    case 'value':
      return [{ value: content.value, depth, isSliced }]
    case 'cell':
      return isAssigned ? undefined : [{ value: content.value, depth, isSliced }]
    case 'members': {
      const { module, names } = content
      if (names.some((key) => usesThis((module as Record<string, unknown>)[key]))) return undefined
      return names.map((key) => ({
        value: (module as Record<string, unknown>)[key],
        depth: moduleDepth - 1,
        isSliced,
      }))
    }
    default:
      return undefined
  }
}

/** A function that is called as a member of a module receives the module as `this`. */
function usesThis(member: unknown): boolean {
  return typeof member === 'function' && /\bthis\b/.test(Function.prototype.toString.call(member))
}

function mayHold(capture: Capture | undefined, value: unknown): boolean {
  const content = capture?.content
  if (content?.kind === 'members') return true
  return (content?.kind === 'cell' || content?.kind === 'value') && content.value === value
}

/** A walk through plain data. */
interface Walk {
  /** From this level on, nothing may be open to change. */
  readonly depth: number
  readonly level: number
  /** The deepest level at which each object was found. */
  readonly seen: Map<object, number>
  /** No `Buffer` is certain to be only read. */
  readonly isSliced: boolean
}

/** Whether a value is data that cannot be changed from the given depth on, and contains no code. */
function isPlain(value: unknown, walk: Walk): boolean {
  if (typeof value === 'function') return false
  if (typeof value !== 'object' || value === null) return true
  const { depth, level, seen, isSliced } = walk
  const before = seen.get(value)
  if (before !== undefined && (before >= level || depth === Infinity)) return true
  seen.set(value, level)
  if (types.isProxy(value)) return false
  const prototype = Object.getPrototypeOf(value) as object | null
  const below: Walk = { depth, level: level + 1, seen, isSliced }
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype || !(level < depth || Object.isFrozen(value))) return false
    return arrayForm(value, Object.isExtensible(value)) === 'sparse'
      ? isPlainRecord(value, below)
      : value.every((element) => isPlain(element, below))
  }
  if (prototype === Object.prototype || prototype === null) {
    return (level < depth || Object.isFrozen(value)) && isPlainRecord(value, below)
  }
  return level < depth && isPlainBuiltIn(value, prototype, below)
}

function isPlainRecord(object: object, below: Walk): boolean {
  for (const key of Reflect.ownKeys(object)) {
    const property = Object.getOwnPropertyDescriptor(object, key)
    if (property === undefined || !('value' in property)) return false
    if (!isPlain(property.value, below)) return false
    // Such a property counts as a number wherever it is read.
    const isCount = typeof key === 'string' && COUNTS.has(key)
    if (isCount && typeof property.value === 'object' && property.value !== null) return false
  }
  return true
}

function isPlainBuiltIn(object: object, prototype: object, below: Walk): boolean {
  if (ArrayBuffer.isView(object)) {
    return isPlainView(object, prototype) && !(below.isSliced && prototype === Buffer.prototype)
  }
  if (Reflect.ownKeys(object).length > (types.isRegExp(object) ? 1 : 0)) return false
  if (types.isMap(object) && prototype === Map.prototype) {
    for (const [key, value] of object)
      if (!isPlain(key, below) || !isPlain(value, below)) return false
    return true
  }
  if (types.isSet(object) && prototype === Set.prototype) {
    for (const value of object) if (!isPlain(value, below)) return false
    return true
  }
  if (types.isRegExp(object)) return prototype === RegExp.prototype && !/[gy]/.test(object.flags)
  if (types.isDate(object)) return prototype === Date.prototype
  return types.isArrayBuffer(object) && prototype === ArrayBuffer.prototype
}

/** Listing own properties of a view would list all of its indices: it must not be extensible. */
function isPlainView(view: ArrayBufferView, prototype: object): boolean {
  return VIEW_PROTOTYPES.has(prototype) && types.isArrayBuffer(view.buffer)
}

const VIEW_PROTOTYPES: ReadonlySet<object> = new Set([
  Uint8Array.prototype,
  Int8Array.prototype,
  Uint8ClampedArray.prototype,
  Uint16Array.prototype,
  Int16Array.prototype,
  Uint32Array.prototype,
  Int32Array.prototype,
  Float32Array.prototype,
  Float64Array.prototype,
  BigInt64Array.prototype,
  BigUint64Array.prototype,
  DataView.prototype,
  Buffer.prototype,
])

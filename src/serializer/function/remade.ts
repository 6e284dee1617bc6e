// Captured constants whose values cannot be sent, but can be re-created from their initializer
// (source/remaking.ts): objects of packages, such as a schema or a logger. A function is sent
// instead that evaluates the initializer where, and when, it is needed. At the end of the file:
// functions that are made from their text, because they are not visible.

import net from 'node:net'
import { types } from 'node:util'
import type { FunctionView, Inspector } from '../inspect/inspector.js'
import type { AnyFunction } from '../module/native.js'
import { isObject } from '../module/native-place.js'
import type {
  Binding,
  CodeName,
  FreeName,
  FunctionSite,
  Shape,
  TextPlace,
} from '../source/sites.js'
import { MadeCell } from '../value/cell.js'
import { holdsBytes, isDecoder } from '../value/remade-native.js'
import type { Seen } from './modules.js'
import type { Declaration, KnownScript, ScriptTable } from './scripts.js'
import type { ChangeFinder, ChangePlace } from './steady.js'

/** A function that re-creates a value: its parts, although it is never called here. */
export interface MakerFunction {
  /** A function of the same script, for looking up variables; or nothing. */
  readonly fn: AnyFunction
  readonly view: FunctionView
  readonly script: KnownScript
  readonly site: FunctionSite
  /** URL or path of its file. */
  readonly url: string
  /** The function to be made is not `fn`, but one around it. */
  readonly isStandIn?: boolean
}

/** At most this many parts of a value are examined. */
const MAX_PARTS = 5_000

interface Remade {
  readonly cell: MadeCell
  readonly shape: Shape
  readonly isDecoder: boolean
}

/** The re-created variables of a process. */
export class RemadeVariables {
  readonly #cells = new WeakMap<Binding, Remade>()
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
    const { shape, isDecoder = false } = this.#cells.get(variable) ?? {}
    return shape !== undefined || isDecoder
  }

  /** Stops re-creating a variable if its current value looks different. */
  check(variable: Binding, value: unknown): void {
    const known = this.#cells.get(variable)
    if (known === undefined) return
    const isHolding = known.isDecoder && isDecoder(value) && holdsBytes(value)
    if (isHolding || !looksLike(value, known.shape)) this.remove(variable)
  }

  /** The maker of a cell whose `make` is this function. */
  makerOf(fn: AnyFunction): MakerFunction | undefined {
    return this.#count === 0 ? undefined : this.#makers.get(fn)
  }

  /** `shape`: of its initializer. `isDecoder`: the value is one, and may hold bytes later. */
  add(variable: Binding, maker: MakerFunction, shape: Shape, isDecoder: boolean): void {
    const cell = new MadeCell()
    this.#makers.set(cell.make, maker)
    this.#cells.set(variable, { cell, shape, isDecoder })
    this.#count += 1
  }

  remove(variable: Binding): void {
    this.#cells.delete(variable)
    this.#count += 1
  }
}

/** What a function sees of its variables. */
interface Sight {
  read(
    owner: MakerFunction,
    name: CodeName,
  ): { readonly capture: { readonly content: { readonly kind: string } } } | undefined
  look(owner: MakerFunction, free: FreeName): Seen | 'uninitialized' | undefined
  declarationOf(binding: Binding, owner: MakerFunction): Declaration | undefined
}

/** What a `Remaker` needs. */
interface RemakerParts {
  readonly remade: RemadeVariables
  readonly captures: Sight
  readonly scripts: ScriptTable
  readonly changes: ChangeFinder
  /** A short position: `app.ts:12`. */
  readonly placeOf: (url: string, place: TextPlace) => string | undefined
}

/** Decides which variables are re-created. */
export class Remaker {
  readonly #parts: RemakerParts

  constructor(parts: RemakerParts) {
    this.#parts = parts
  }

  /**
   * Re-creates a variable, and those of its initializer that cannot be sent as well. A text says
   * why that is not possible.
   */
  remake(declared: Declaration, owner: MakerFunction, seen?: Seen): boolean | string {
    const { remade, scripts, changes } = this.#parts
    const { binding, script } = declared
    if (!binding.isOnce || remade.cellOf(binding) !== undefined) return false
    const { analysis } = script
    const site = analysis?.remakingSite(binding.name)
    const initializer = analysis?.initializerOf(binding.name)
    if (site === undefined || initializer === undefined) return false
    if (!scripts.areRemakable(script, initializer)) return false
    const { shape, inputs, start } = initializer
    const trouble = seen && troubleWith(seen.value)
    if (trouble !== undefined) return trouble
    const change = changes.changeOf(declared)
    if (change !== undefined) return `${this.#placeOf(change)} may change it`
    if (seen !== undefined && !looksLike(seen.value, shape)) return 'it has been changed since'
    const { url } = script.script
    const view = script === owner.script ? owner.view : { location: undefined, scopes: [] }
    const maker = { fn: owner.fn, site, script, view, url }
    remade.add(binding, maker, shape, seen !== undefined && isDecoder(seen.value))
    for (const { free } of site.code.names) {
      const before = inputs.has(free.name) ? start : undefined
      const made = this.#isSeen(maker, free)
        ? (this.#changedInput(maker, free, before) ?? true)
        : this.#remakeHidden(maker, free)
      if (made === true) continue
      remade.remove(binding)
      return made
    }
    return true
  }

  #isSeen(maker: MakerFunction, free: FreeName): boolean {
    const name = maker.site.code.names.find((each) => each.free === free)
    if (name === undefined) return true
    return this.#parts.captures.read(maker, name)?.capture.content.kind !== 'refusal'
  }

  /**
   * Why the present value of a variable may differ from the one that the initializer has read;
   * undefined: it does not. `before`: where the initializer is; undefined: it has read nothing.
   */
  #changedInput(maker: MakerFunction, free: FreeName, before?: number): string | undefined {
    const { captures, scripts, changes } = this.#parts
    const { binding, members = [] } = free
    if (binding === undefined || before === undefined) return undefined
    const seen = captures.look(maker, free)
    if (seen !== undefined && seen !== 'uninitialized' && !isData(seen.value)) return undefined
    const own = captures.declarationOf(binding, maker)
    const parts = members.map((name) => scripts.memberOf(binding, maker.script, name))
    for (const each of [own, ...parts]) {
      const isHere = each?.script === maker.script
      const change = each && changes.changeOf(each, isHere ? before : undefined)
      if (change !== undefined) {
        return `${this.#placeOf(change)} may change ${free.name}, which it is made from`
      }
    }
    return undefined
  }

  /** A variable that cannot be seen, or the used exports of a module that cannot be seen. */
  #remakeHidden(maker: MakerFunction, free: FreeName): boolean | string {
    const { captures, scripts } = this.#parts
    const { binding, members = [] } = free
    if (binding === undefined || captures.look(maker, free) === 'uninitialized') return false
    if (scripts.moduleOf(binding, maker.script) === undefined || binding.kind === 'import') {
      const hidden = captures.declarationOf(binding, maker)
      return hidden !== undefined && this.remake(hidden, maker)
    }
    for (const member of members) {
      const hidden = scripts.memberOf(binding, maker.script, member)
      const made = hidden !== undefined && this.remake(hidden, maker)
      if (typeof made === 'string') return made
    }
    return this.#isSeen(maker, free)
  }

  #placeOf(change: ChangePlace): string {
    return this.#parts.placeOf(change.url, change) ?? change.url
  }
}

/** Whether it may have changed in place: what functions capture counts as it is now. */
function isData(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/**
 * Whether a value still looks like the text that it was created from, as far as that can be
 * determined.
 */
export function looksLike(value: unknown, shape: Shape): boolean {
  if (shape === undefined) return true
  if (shape.kind === 'literal') return Object.is(value, shape.value)
  if (!isObject(value) || types.isProxy(value)) return false
  if (shape.kind === 'entries') return hasEntries(value, shape.entries)
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

function hasEntries(value: object, shapes: readonly (readonly Shape[])[]): boolean {
  const isMap = types.isMap(value)
  if (!isMap && !types.isSet(value)) return false
  if (value.size !== shapes.length || Reflect.ownKeys(value).length > 0) return false
  const entries = isMap ? Map.prototype.entries.call(value) : Set.prototype.values.call(value)
  return [...entries].every((entry: unknown, at) => {
    const parts = isMap ? (entry as readonly unknown[]) : [entry]
    return parts.every((part, index) => looksLike(part, shapes[at]?.[index]))
  })
}

/** Whether a part of the value is active here, or holds what its text does not show. */
function troubleWith(value: unknown): string | undefined {
  const seen = new Set<unknown>([process, process.stdin, process.stdout, process.stderr])
  const queue: unknown[] = [value]
  for (let at = 0; at < queue.length && at < MAX_PARTS; at += 1) {
    const object = queue[at]
    if (!isObject(object) || seen.has(object) || types.isProxy(object)) continue
    seen.add(object)
    if (isHandle(object)) return 'a socket or thread of it is at work here'
    if (isDecoder(object) && holdsBytes(object))
      return 'a decoder in it holds a part of a character'
    if (types.isDate(object) && isOfThisRun(object)) return 'it holds the time when it was made'
    for (const { value: part } of Object.values(Object.getOwnPropertyDescriptors(object))) {
      queue.push(part)
    }
    for (const key of Object.getOwnPropertySymbols(object)) {
      queue.push(Object.getOwnPropertyDescriptor(object, key)?.value)
    }
    if (types.isMap(object)) queue.push(...object.values())
    if (types.isSet(object)) queue.push(...object)
  }
  return undefined
}

/** Whether it is between the start of the process and now. */
function isOfThisRun(date: Date): boolean {
  const time = Date.prototype.getTime.call(date)
  return time >= performance.timeOrigin && time <= Date.now()
}

function isHandle(object: object): boolean {
  if (object instanceof net.Socket || object instanceof net.Server) return true
  // Loaded when it is needed: all programs load this file.
  const { MessagePort, Worker } = process.getBuiltinModule('node:worker_threads')
  return object instanceof MessagePort || object instanceof Worker
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

// The name by which a function expression refers to itself, as a function inside it has captured
// it: `curried` in `function curried(…) { return (more) => curried(…) }`. V8 does not show its
// value, but it can only be that function. Its text is known, and its own variables are visible
// around the function inside: another function with the same text and variables takes its place.

/** The function whose captures are read. */
export type CaptureOwner = Pick<MakerFunction, 'fn' | 'view' | 'url' | 'isStandIn'> & {
  readonly script: KnownScript | undefined
}

/** Functions that take the place of those that are not visible. */
export class OwnNames {
  readonly #source: Pick<Inspector, 'functionView'>
  readonly #known = new WeakMap<AnyFunction, Map<Binding, AnyFunction | undefined>>()
  readonly #makers = new WeakMap<AnyFunction, Omit<MakerFunction, 'view'>>()

  constructor(source: Pick<Inspector, 'functionView'>) {
    this.#source = source
  }

  /** The one for a function and the name that it has captured; always the same one. */
  standInFor(inside: CaptureOwner, binding: Binding | undefined): AnyFunction | undefined {
    if (binding?.ownNameAt === undefined) return undefined
    const known = this.#known.get(inside.fn) ?? new Map<Binding, AnyFunction | undefined>()
    this.#known.set(inside.fn, known)
    if (!known.has(binding)) known.set(binding, this.#make(inside, binding.ownNameAt, binding.name))
    return known.get(binding)
  }

  /** What it is made from, with the variables as they are now. */
  makerOf(standIn: AnyFunction): MakerFunction | undefined {
    const maker = this.#makers.get(standIn)
    return maker && { ...maker, view: this.#source.functionView(maker.fn), isStandIn: true }
  }

  #make(
    { fn, view, script, url }: CaptureOwner,
    nameAt: number,
    name: string,
  ): AnyFunction | undefined {
    const site = script?.analysis?.namedFunction(nameAt)
    if (script === undefined || site === undefined || site.obstacles.length > 0) return undefined
    // Otherwise it could be seen that it is another one: it may have properties.
    if (site.code.exposesItself) return undefined
    // Variables are looked up by name: it must not mean another one inside.
    const isClear = ({ name: free }: { readonly name: string }): boolean =>
      view.scopes.filter(({ variables }) => Object.hasOwn(variables, free)).length <= 1
    if (site.hasShadows || !site.freeNames.every(isClear)) return undefined
    const standIn = (): void => {}
    Object.defineProperty(standIn, 'name', { value: name })
    this.#makers.set(standIn, { fn, script, site, url })
    return standIn
  }
}

// Values that are more than one primitive, as a graph of objects written in the order in which they
// are met: first the root, then the content of each object, whose own objects join the end of the
// queue. So nothing is recursive and no value is too deep; an object is written once and then
// referred to by its number, which keeps sharing and cycles; and the bytes mean the same to every
// version of Node (`node:v8` recurses, and an older Node refuses what a newer one wrote). A message
// has one such unit, and one more for each anchor (class/anchors.ts).

import { types } from 'node:util'
import { ByteWriter } from '../bytes/writer.js'
import { ContentWriter } from './content-writer.js'
import type { UsedModule, CellKey } from '../function/parts.js'
import {
  type FunctionPlan,
  type FunctionSink,
  FunctionValues,
  writeFunctionContent,
} from '../function/writer.js'
import type { ExportReference } from '../module/policy.js'
import { ownValue, type AnyFunction } from '../module/native.js'
import { ObjectNumbers, type ObjectSink, ObjectWriter } from './object.js'
import { NamedStep, Refusal, refuseClass, type Step } from '../refusal.js'
import { type Primitive, writePrimitive, writeReference } from '../bytes/leaf.js'
import {
  type Anchor,
  Blame,
  CellValue,
  type ContentKind,
  type NumberedObjects,
  outermostFunction,
  type Place,
  type PrivateStore,
  type QueueItem,
  Stop,
  type Strictness,
  type UnitContext,
} from './sink.js'
import type { RecordKeys } from './shape.js'
import type { FunctionCode } from '../source/sites.js'
import type { SpecialPlan } from './kind.js'
import * as tag from '../bytes/tag.js'
import { UnitTables } from './tables.js'

/** The bytes of one unit. Good until the unit is used again. */
export interface UnitBytes {
  readonly anchors: readonly Anchor[]
  /** The binary table. */
  readonly table: Uint8Array
  readonly body: Uint8Array
  readonly memories: readonly Uint8Array[]
}

const EMPTY_TABLE = Uint8Array.of(0, 0)
const NO_ANCHORS: readonly Anchor[] = []
const NO_MEMORIES: readonly Uint8Array[] = []

/** Writes one unit. */
export class UnitWriter implements FunctionSink, ObjectSink, NumberedObjects {
  readonly bytes: ByteWriter = new ByteWriter()
  readonly isAnchor: boolean
  readonly context: UnitContext
  readonly #tables: UnitTables
  readonly #content: ContentWriter
  readonly #objects: ObjectWriter
  readonly #functions: FunctionValues
  readonly #objectNumbers = new ObjectNumbers()
  #queue: QueueItem[] = []
  #written = 0
  #anchors = new Map<Anchor, number>()
  /** The class of an instance that was written: most likely that of the next one. */
  #lastClass: AnyFunction | undefined
  /** What is being written: what holds it, and the step from there. */
  #holder: QueueItem | undefined
  #step: Step = ''
  readonly #origin: Place | undefined

  /** `origin`: where the anchor was met whose unit this is; undefined for the main one. */
  constructor(context: UnitContext, origin?: Place) {
    this.context = context
    this.#origin = origin
    this.isAnchor = origin !== undefined
    this.#tables = new UnitTables(this.bytes, context.identities)
    this.#content = new ContentWriter(this, this.#tables)
    this.#objects = new ObjectWriter(this)
    this.#functions = new FunctionValues(this)
  }

  get strictness(): Strictness {
    return this.context.strictness
  }

  /** Where the writing is. */
  get place(): Place {
    return { holder: this.#holder, step: this.#step, origin: this.#origin }
  }

  /** Forgets all, for the next message. */
  reset(): void {
    this.bytes.clear()
    this.#tables.clear()
    this.#objects.clear()
    this.#objectNumbers.clear()
    if (this.#queue.length > 0) this.#queue = []
    this.#written = 0
    if (this.#anchors.size > 0) this.#anchors = new Map()
    this.#functions.clear()
    this.#lastClass = undefined
    this.#holder = undefined
    this.#step = ''
  }

  /**
   * Writes the anchor itself, which all others only refer to. `cell`: it is a captured variable.
   */
  root(object: object, isClass: boolean, cell: { readonly value: unknown } | undefined): void {
    this.#objectNumbers.add(object)
    if (cell !== undefined) return this.#cell(object, cell.value)
    if (typeof object !== 'function') return this.#inline(object)
    const fn = object as AnyFunction
    const parts = this.context.partsOf(fn)
    if (parts instanceof Refusal) this.refuseHere(parts)
    else {
      if (isClass) this.#codecOf(fn)
      this.#functions.writeRoot(fn, parts, isClass)
    }
  }

  /** Writes what is waiting. Returns false if nothing was. */
  drain(): boolean {
    if (this.#written === this.#queue.length) return false
    for (; this.#written < this.#queue.length; this.#written += 1) {
      const item = this.#queue[this.#written] as QueueItem
      this.#holder = item
      if (item.kind === 'function') writeFunctionContent(this, item.about as FunctionPlan)
      else this.#content.write(item)
    }
    this.#holder = undefined
    return true
  }

  /** Whether there is a function with its code. */
  get hasCode(): boolean {
    return this.#functions.hasCode
  }

  has(object: object): boolean {
    return this.#objectNumbers.has(object)
  }

  /** How many objects have a number. */
  get size(): number {
    return this.#objectNumbers.size
  }

  /** The objects that have a number, in their order. */
  get objects(): Iterable<object> {
    return this.#objectNumbers.all
  }

  /** What was written. */
  finish(): UnitBytes {
    const anchors = this.#anchors.size === 0 ? NO_ANCHORS : [...this.#anchors.keys()]
    const body = this.bytes.written
    if (!this.#objects.hasBinaries) {
      return { anchors, table: EMPTY_TABLE, body, memories: NO_MEMORIES }
    }
    const table = new ByteWriter()
    const memories = this.#objects.finish(table)
    return { anchors, table: table.written, body, memories }
  }

  at(step: Step): void {
    this.#step = step
  }

  value(value: unknown, step: Step): void {
    this.#step = step
    if (typeof value === 'object' && value !== null) this.#object(value, false)
    else if (typeof value === 'function') this.#function(value as AnyFunction)
    else if (typeof value === 'symbol') this.#tables.symbol(value)
    else writePrimitive(this.bytes, value as Primitive)
  }

  classValue(fn: AnyFunction, step: Step): void {
    this.context.makeClass(fn)
    this.value(fn, step)
  }

  classOf(object: object, constructor: AnyFunction): void {
    if (this.#lastClass === constructor && this.#isReference(constructor)) return
    this.#lastClass = constructor
    const item = this.item(object, 'leaf', undefined)
    this.#holder = item
    this.classValue(constructor, new NamedStep(`class ${String(ownValue(constructor, 'name'))}`))
    this.#leave(item)
  }

  captured(value: unknown, step: Step): void {
    this.#step = step
    const attachment = this.isAnchor ? undefined : this.context.attachmentOf(value)
    if (attachment !== undefined) return this.#attachment(value, attachment)
    this.context.noteCaptured(value)
    if (typeof value !== 'object' || value === null) this.value(value, step)
    else this.#object(value, true)
  }

  cell(key: CellKey, value: unknown, step: Step): void {
    this.#step = step
    if (this.#isReference(key)) return
    const anchor = this.context.anchorOf(key)
    if (anchor !== undefined) this.#anchor(anchor)
    else if (this.isAnchor || this.context.isSeed(key)) this.makeAnchor(key, false, { value })
    else this.#cell(key, value)
  }

  members(used: UsedModule, step: Step): void {
    this.#step = step
    const view = this.context.views.of(used, this)
    if (view === used.module) this.captured(view, step)
    else if (!this.#isReference(view)) this.#inline(view)
  }

  store(store: PrivateStore): void {
    this.context.noteStore(store)
    if (this.#isReference(store)) return
    this.bytes.byte(tag.VALUE_STORE)
    this.bytes.text(this.context.known.idOf(store))
    this.bytes.byte(types.isWeakSet(store) ? 1 : 0)
  }

  reference(reference: ExportReference): void {
    this.bytes.byte(tag.VALUE_EXPORT)
    writeReference(this.bytes, reference)
  }

  primitive(value: unknown): void {
    this.#tables.primitive(value)
  }

  record(object: object, keys: RecordKeys, integrity: number): void {
    this.#content.record(object, keys, integrity)
  }

  codeNumber(code: FunctionCode): number | undefined {
    return this.#tables.codeNumber(code)
  }

  enqueue(object: object, kind: ContentKind, special: SpecialPlan | undefined): void {
    this.#queue.push(this.item(object, kind, special))
  }

  enqueueCell(key: object, value: unknown): void {
    const item = this.item(key, 'cell', undefined)
    item.about = new CellValue(value)
    this.#queue.push(item)
  }

  /** Appends what a private store holds about an object, and all that comes with it. */
  privateEntry(store: PrivateStore, object: object, value: unknown): void {
    this.bytes.byte(1)
    this.store(store)
    this.value(object, '')
    this.value(value, new NamedStep('a private field'))
    this.drain()
  }

  refuse(refusal: Refusal, step: Step): void {
    this.#step = step
    this.refuseHere(refusal)
  }

  refuseHere(refusal: Refusal): void {
    if (this.strictness === 'strict') throw new Stop(refusal)
    const fn = outermostFunction(this.place)
    if (fn !== undefined) throw new Blame(fn.object, refusal)
    if (this.#holder === undefined) throw new Stop(refusal)
    writePrimitive(this.bytes, refusal.substitute)
  }

  /** The same for an object that was just met: a text has no number. */
  refuseObject(object: object, refusal: Refusal): void {
    this.#objectNumbers.remove(object)
    this.refuseHere(refusal)
  }

  #object(object: object, isCaptured: boolean): void {
    if (this.#isReference(object)) return
    if (types.isProxy(object)) return this.refuseObject(object, refuseClass('Proxy'))
    const name = this.context.natives.objectNameOf(object)
    if (name !== undefined) return this.native(name)
    // Cheaper to ask than whether it is a namespace, which always is closed.
    const isNamespace = !Object.isExtensible(object) && types.isModuleNamespaceObject(object)
    if ((isCaptured || isNamespace) && this.#isExport(object)) return
    if (isNamespace) {
      const getters = this.context.gettersOf(object)
      const used = { module: object, names: Object.keys(object), getters }
      return this.#inline(this.context.views.of(used, this))
    }
    if (!this.context.views.isEmpty) this.context.views.noteWhole(object)
    const anchor = this.context.hasAnchors ? this.context.anchorOf(object) : undefined
    if (anchor !== undefined) this.#anchor(anchor)
    else if (this.isAnchor && (isCaptured || this.context.isShared(object))) {
      this.makeAnchor(object, false)
    } else this.#inline(object)
  }

  /** Writes what can be imported instead, if that is so. */
  #isExport(object: object): boolean {
    const reference = this.context.referenceOf(object)
    if (reference === undefined) return false
    this.bytes.byte(tag.VALUE_EXPORT_FUNCTION)
    writeReference(this.bytes, reference)
    return true
  }

  #inline(object: object): void {
    if (this.claim(object)) this.#objects.write(object)
  }

  #function(fn: AnyFunction): void {
    if (this.#isReference(fn)) return
    const anchor = this.context.hasAnchors ? this.context.anchorOf(fn) : undefined
    if (anchor !== undefined) return this.#anchor(anchor)
    const parts = types.isProxy(fn) ? refuseClass('Proxy') : this.context.partsOf(fn)
    if (parts instanceof Refusal) return this.refuseObject(fn, parts)
    // That of a class that travels with its text is with that.
    if (parts.kind !== 'source') this.#codecOf(fn)
    this.#functions.write(fn, parts)
  }

  /** What a registered class makes where it arrives has to be able to come back. */
  #codecOf(fn: AnyFunction): void {
    const codec = this.context.newCodecOf(fn)
    if (codec === undefined) return
    this.bytes.byte(tag.VALUE_REGISTERED)
    this.bytes.varint(codec.byteLength)
    this.bytes.raw(codec)
  }

  /** Writes what comes before an item can be waiting. */
  within(item: QueueItem, write: () => void): void {
    this.#holder = item
    write()
    this.#queue.push(item)
    this.#leave(item)
  }

  #leave({ holder, step }: QueueItem): void {
    this.#holder = holder
    this.#step = step
  }

  item(object: object, kind: ContentKind, special: SpecialPlan | undefined): QueueItem {
    return { object, kind, holder: this.#holder, step: this.#step, about: special }
  }

  #cell(key: CellKey, value: unknown): void {
    this.context.noteCell(key)
    this.claim(key)
    this.bytes.byte(tag.VALUE_CELL)
    this.enqueueCell(key, value)
  }

  native(name: string): void {
    this.bytes.byte(tag.VALUE_NATIVE)
    this.bytes.text(name)
  }

  makeAnchor(object: object, isClass: boolean, cell?: { readonly value: unknown }): void {
    const { place } = this
    const about = { isClass, place, unit: this, ...(cell === undefined ? {} : { cell }) }
    this.#anchor(this.context.makeAnchor(object, about))
  }

  #anchor(anchor: Anchor): void {
    let number = this.#anchors.get(anchor)
    if (number === undefined) {
      number = this.#anchors.size
      this.#anchors.set(anchor, number)
    }
    this.bytes.byte(tag.VALUE_ANCHOR)
    this.bytes.varint(number)
  }

  #attachment(value: unknown, number: number): void {
    const isObject = typeof value === 'object' && value !== null
    if (isObject && this.#isReference(value)) return
    this.bytes.byte(isObject ? tag.VALUE_ATTACHMENT : tag.VALUE_ATTACHED_PRIMITIVE)
    this.bytes.varint(number)
  }

  /** Appends a reference to an object that was met before, or gives it the next number. */
  #isReference(object: object): boolean {
    if (this.#objectNumbers.add(object)) return false
    this.bytes.byte(tag.VALUE_REFERENCE)
    this.bytes.varint(this.#objectNumbers.of(object))
    return true
  }

  /** Says that an object with a new number is this unit's own. */
  claim(object: object): boolean {
    return !this.context.hasAnchors || this.context.claim(object, this)
  }
}

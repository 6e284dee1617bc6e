// A unit of a message while it is written. A value is a primitive or a graph of objects, which are
// written in the order in which they are found: first the root, then the content of each object,
// whose own objects are appended to the queue. Nothing is recursive, so values can have any depth;
// an object is written once and then referred to by its number, which keeps sharing and cycles; and
// the bytes mean the same to every version of Node (`node:v8` recurses, and an older Node refuses
// the output of a newer one). A message has one main unit, and one more for each anchor.
//
//   GraphWriter     message.ts         writes a message, several times if necessary
//   MessageContext  context.ts         shared by the units of one message
//   Unit            here               bytes, numbers and tables of one unit, and its queue
//   writeObject     object.ts          an object where it is found
//   writeContent    content-writer.ts  the content of an object taken from the queue
//   writeFunction   function/writer.ts the same two for functions
//
// The last three are functions over a unit: each writes one kind of value with the methods below.

import { types } from 'node:util'
import type { BinaryTableWriter } from '../bytes/binary.js'
import { type Primitive, writePrimitive, writeReference } from '../bytes/leaf.js'
import * as tag from '../bytes/tag.js'
import { ByteWriter } from '../bytes/writer.js'
import type { Anchor } from '../class/anchors.js'
import type { ClassCodec } from '../class/codecs.js'
import type { Reach } from '../class/reach.js'
import type { CellKey, UsedModule } from '../function/parts.js'
import {
  type FunctionPlan,
  writeFunction,
  writeFunctionContent,
  writeFunctionRoot,
} from '../function/writer.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import type { ExportReference } from '../module/policy.js'
import { NamedStep, Refusal, refuseClass, type Step } from '../refusal.js'
import { writeContent } from './content-writer.js'
import type { MessageContext } from './context.js'
import type { SpecialPlan } from './kind.js'
import { ObjectNumbers, writeObject } from './object.js'
import {
  Blame,
  CellValue,
  type ContentKind,
  outermostFunction,
  type Place,
  type QueueItem,
  Stop,
} from './place.js'
import type { PrivateStore } from './private-entries.js'
import { UnitTables } from './tables.js'

/** The bytes of one unit. Valid until the unit is used again. */
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

/** One unit. Any method that appends may end the writing by throwing. */
export class Unit {
  readonly bytes: ByteWriter = new ByteWriter()
  /** The unit of an anchor, which is the same in every message (class/anchors.ts). */
  readonly isAnchor: boolean
  readonly message: MessageContext
  readonly tables: UnitTables
  /** The numbers of the objects that were found. */
  readonly numbers: ObjectNumbers = new ObjectNumbers()
  /** The codecs in the unit, by number. */
  readonly codecs: Map<ClassCodec, number> = new Map()
  binaries: BinaryTableWriter | undefined
  /** Whether it contains a function with its code. */
  hasCode = false
  /** Set in the pass that only determines which object refers to which. */
  reach: Reach | undefined
  /** The last object that consisted only of its properties: most are like it. */
  lastBare: object | undefined
  /** The class of the last instance, which is likely that of the next one, too. */
  #lastClass: AnyFunction | undefined
  #queue: QueueItem[] = []
  #written = 0
  #anchors = new Map<Anchor, number>()
  /** What is being written: the object that contains it, and the step from there. */
  #holder: QueueItem | undefined
  #step: Step = ''
  /** The object of the private field that is being written. */
  #privateOwner: object | undefined
  readonly #origin: Place | undefined

  /** `origin`: where the anchor of this unit was found; undefined for the main unit. */
  constructor(message: MessageContext, origin?: Place) {
    this.message = message
    this.#origin = origin
    this.isAnchor = origin !== undefined
    this.tables = new UnitTables(this.bytes, message.tools.identities)
  }

  /** The current position of the writing. */
  get place(): Place {
    return { holder: this.#holder, step: this.#step, origin: this.#origin }
  }

  get isStrict(): boolean {
    return this.message.strictness === 'strict'
  }

  /** Clears everything for the next message. */
  reset(): void {
    this.bytes.clear()
    this.tables.clear()
    this.numbers.clear()
    if (this.codecs.size > 0) this.codecs.clear()
    if (this.#queue.length > 0) this.#queue = []
    if (this.#anchors.size > 0) this.#anchors = new Map()
    this.#written = 0
    this.hasCode = false
    this.binaries = undefined
    this.lastBare = undefined
    this.#lastClass = undefined
    this.#holder = undefined
    this.#step = ''
  }

  /**
   * Writes the anchor itself, to which all others only refer. `cell`: it is a captured variable.
   */
  root(object: object, isClass: boolean, cell: { readonly value: unknown } | undefined): void {
    this.numbers.add(object)
    if (isClass) this.reach?.noteClass(object)
    if (cell !== undefined) return this.#cell(object, cell.value)
    if (typeof object !== 'function') return this.#inline(object)
    const fn = object as AnyFunction
    const parts = this.message.partsOf(fn)
    if (parts instanceof Refusal) return this.#refuseHere(parts)
    if (isClass) this.#codecOf(fn)
    writeFunctionRoot(this, fn, parts, isClass)
  }

  /** The same in the first pass, where everything is in one unit. */
  rootAt({ holder, step }: Place, ...about: Parameters<Unit['root']>): void {
    this.#holder = holder
    this.#step = step
    this.root(...about)
    this.#holder = undefined
  }

  /** Writes everything in the queue. Returns false if it was empty. */
  drain(): boolean {
    if (this.#written === this.#queue.length) return false
    for (; this.#written < this.#queue.length; this.#written += 1) {
      const item = this.#queue[this.#written] as QueueItem
      this.#holder = item
      if (item.kind === 'function') writeFunctionContent(this, item.about as FunctionPlan)
      else writeContent(this, item)
    }
    this.#holder = undefined
    return true
  }

  /** The bytes that were written. */
  finish(): UnitBytes {
    const anchors = this.#anchors.size === 0 ? NO_ANCHORS : [...this.#anchors.keys()]
    const body = this.bytes.written
    if (this.binaries === undefined) {
      return { anchors, table: EMPTY_TABLE, body, memories: NO_MEMORIES }
    }
    const table = new ByteWriter()
    const memories = this.binaries.finish(table)
    return { anchors, table: table.written, body, memories }
  }

  /** Sets the step to what is read next, which may throw. */
  at(step: Step): void {
    this.#step = step
  }

  /** Appends any value; `step` leads to it from what is being written. */
  value(value: unknown, step: Step): void {
    this.#step = step
    if (typeof value === 'object' && value !== null) this.#object(value, false)
    else if (typeof value === 'function') this.#function(value as AnyFunction)
    else if (typeof value === 'symbol') this.tables.symbol(value)
    else writePrimitive(this.bytes, value as Primitive)
  }

  /** Appends a function as a class, whatever its text is. */
  classValue(fn: AnyFunction, step: Step): void {
    this.message.makeClass(fn)
    this.value(fn, step)
  }

  /** Appends the class of the object that is being written. */
  classOf(object: object, constructor: AnyFunction): void {
    if (this.#lastClass === constructor && this.#isReference(constructor)) return
    this.#lastClass = constructor
    const item = this.item(object, 'leaf', undefined)
    this.#holder = item
    this.classValue(constructor, new NamedStep(`class ${String(ownValue(constructor, 'name'))}`))
    this.#leave(item)
  }

  /** Appends the class of a member. If it has to be left out, so has the member. */
  ownerOf(member: AnyFunction, owner: AnyFunction): void {
    const item = this.item(member, 'bound', undefined)
    this.#holder = item
    this.value(owner, new NamedStep('its class'))
    this.#leave(item)
  }

  /** Appends the value of a captured variable. */
  captured(value: unknown, step: Step): void {
    this.#step = step
    const attachment = this.isAnchor ? undefined : this.message.attachmentOf(value)
    if (attachment !== undefined && this.reach === undefined) {
      return this.#attachment(value, attachment)
    }
    this.message.noteCaptured(value)
    if (typeof value !== 'object' || value === null) return this.value(value, step)
    if (attachment !== undefined) this.reach?.attach(value)
    this.#object(value, true)
  }

  /** Appends a captured variable that changes. */
  cell(key: CellKey, value: unknown, step: Step): void {
    this.#step = step
    this.reach?.noteCell(key)
    if (this.#isKnown(key, true)) return
    const anchor = this.message.anchorOf(key)
    if (anchor !== undefined) this.#anchor(anchor)
    else if (this.isAnchor || this.message.isSeed(key)) this.makeAnchor(key, false, { value })
    else this.#cell(key, value)
  }

  /** Appends a module with its used exports. */
  members(used: UsedModule, step: Step): void {
    this.#step = step
    const view = this.message.views.of(used, this.numbers)
    if (view === used.module) this.captured(view, step)
    else {
      this.reach?.copy(view)
      if (!this.#isKnown(view, false)) this.#inline(view)
    }
  }

  /** Appends a private store. */
  store(store: PrivateStore): void {
    this.message.stores.add(store)
    if (this.#isReference(store)) return
    this.bytes.byte(tag.VALUE_STORE)
    this.bytes.text(this.message.known.idOf(store))
    this.bytes.byte(types.isWeakSet(store) ? 1 : 0)
  }

  /** Appends an export that is imported where it arrives. */
  reference(reference: ExportReference): void {
    this.bytes.byte(tag.VALUE_EXPORT)
    writeReference(this.bytes, reference)
  }

  /** Appends a built-in that every process has. */
  native(name: string): void {
    this.bytes.byte(tag.VALUE_NATIVE)
    this.bytes.text(name)
  }

  /** Appends an object that becomes a separate unit. `cell`: the value of a variable. */
  makeAnchor(object: object, isClass: boolean, cell?: { readonly value: unknown }): void {
    const { place } = this
    if (this.reach !== undefined) return this.message.putOff({ object, isClass, cell, place })
    this.#anchor(this.message.makeAnchor(object, { isClass, place, unit: this, cell }))
  }

  /** Queues the content of an object. */
  enqueue(object: object, kind: ContentKind, special: SpecialPlan | undefined): void {
    this.#queue.push(this.item(object, kind, special))
  }

  /** The same for a variable. */
  enqueueCell(key: object, value: unknown): void {
    const item = this.item(key, 'cell', undefined)
    item.about = new CellValue(value)
    this.#queue.push(item)
  }

  /** A queue item for what is being written. */
  item(object: object, kind: ContentKind, special: SpecialPlan | undefined): QueueItem {
    return { object, kind, holder: this.#holder, step: this.#step, about: special }
  }

  /** Writes what comes before an item can be queued, and then queues it. */
  within(item: QueueItem, write: () => void): void {
    this.#holder = item
    write()
    this.#queue.push(item)
    this.#leave(item)
  }

  /** Appends the entry of an object in a private store, and everything that it refers to. */
  privateEntry(store: PrivateStore, object: object, value: unknown): void {
    this.bytes.byte(1)
    this.store(store)
    this.#privateOwner = object
    this.value(object, '')
    this.value(value, new NamedStep('a private field'))
    this.#privateOwner = undefined
    this.drain()
  }

  /** Claims an object with a new number for this unit. Returns false if another unit has it. */
  claim(object: object): boolean {
    this.reach?.own(object)
    return !this.message.hasAnchors || this.message.claim(object, this)
  }

  /** Appends a short text, or ends the writing. */
  refuse(refusal: Refusal, step: Step): void {
    this.#step = step
    this.#refuseHere(refusal)
  }

  /** The same for an object that was just found: a text has no number. */
  refuseObject(object: object, refusal: Refusal): void {
    this.numbers.remove(object)
    this.#refuseHere(refusal)
  }

  #refuseHere(refusal: Refusal): void {
    if (this.isStrict) throw new Stop(refusal)
    const fn = outermostFunction(this.place)
    if (fn !== undefined) throw new Blame(fn.object, refusal)
    if (this.#holder === undefined) throw new Stop(refusal)
    writePrimitive(this.bytes, refusal.substitute)
  }

  #object(object: object, isCaptured: boolean): void {
    const { message } = this
    if (this.#isKnown(object, isCaptured || message.isShared(object))) return
    if (types.isProxy(object)) return this.refuseObject(object, refuseClass('Proxy'))
    const name = message.tools.natives.objectNameOf(object)
    if (name !== undefined) return this.native(name)
    // Faster than checking for a namespace, which is never extensible.
    const isNamespace = !Object.isExtensible(object) && types.isModuleNamespaceObject(object)
    const isExport = isCaptured || isNamespace || message.views.isView(this.#holder?.object)
    if (isExport && this.#isExport(object)) return
    if (isNamespace) {
      const getters = message.tools.analyst.gettersOf(object)
      const used = { module: object, names: Object.keys(object), getters }
      const view = message.views.of(used, this.numbers)
      this.#noteCopies(object, view)
      return this.#inline(view)
    }
    if (!message.views.isEmpty) message.views.noteWhole(object)
    const anchor = message.hasAnchors ? message.anchorOf(object) : undefined
    if (anchor !== undefined) this.#anchor(anchor)
    else if (this.isAnchor && (isCaptured || message.isShared(object))) {
      this.makeAnchor(object, false)
    } else this.#inline(object)
  }

  /** Writes the reference to an export if the object is one. */
  #isExport(object: object): boolean {
    const reference = this.message.tools.analyst.referenceOf(object)
    if (reference === undefined) return false
    this.bytes.byte(tag.VALUE_EXPORT_FUNCTION)
    writeReference(this.bytes, reference)
    return true
  }

  #inline(object: object): void {
    if (this.claim(object)) writeObject(this, object)
  }

  #noteCopies(namespace: object, view: object): void {
    this.reach?.copy(namespace)
    this.reach?.copy(view)
    this.reach?.meet(namespace, view, false)
  }

  #function(fn: AnyFunction): void {
    if (this.#isKnown(fn, true)) return
    const anchor = this.message.hasAnchors ? this.message.anchorOf(fn) : undefined
    if (anchor !== undefined) return this.#anchor(anchor)
    const parts = types.isProxy(fn) ? refuseClass('Proxy') : this.message.partsOf(fn)
    if (parts instanceof Refusal) return this.refuseObject(fn, parts)
    // The codec of a class that is sent with its text is sent with that.
    if (parts.kind !== 'source') this.#codecOf(fn)
    writeFunction(this, fn, parts)
  }

  /** Objects that a registered class creates where it arrives must be able to return. */
  #codecOf(fn: AnyFunction): void {
    const codec = this.message.newCodecOf(fn)
    if (codec === undefined) return
    this.bytes.byte(tag.VALUE_REGISTERED)
    this.bytes.varint(codec.byteLength)
    this.bytes.raw(codec)
  }

  #leave({ holder, step }: QueueItem): void {
    this.#holder = holder
    this.#step = step
  }

  #cell(key: CellKey, value: unknown): void {
    this.claim(key)
    this.bytes.byte(tag.VALUE_CELL)
    this.enqueueCell(key, value)
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

  /** Like `#isReference`. `isPart`: in the unit of an anchor, the object must be an anchor, too. */
  #isKnown(object: object, isPart: boolean): boolean {
    this.reach?.meet(this.#holder?.object ?? this.#privateOwner, object, isPart)
    return this.#isReference(object)
  }

  /** Appends a reference to an object that was found before, or gives it the next number. */
  #isReference(object: object): boolean {
    if (this.numbers.add(object)) return false
    this.bytes.byte(tag.VALUE_REFERENCE)
    this.bytes.varint(this.numbers.of(object))
    return true
  }
}

// The anchors of one message, on the side that reads (anchor-table.ts tells what they are). An
// anchor is made when somebody asks for it; one that says the same as last time is the one that is
// there.

import { copyOf } from '../base/bytes.js'
import { DeserializeError } from '../base/errors.js'
import { ByteReader } from './byte-reader.js'
import type { AnchorRegistry } from './class/anchor-registry.js'
import { ANCHOR_CLASS } from './message-frame.js'
import { ownValue, type AnyFunction } from './native-names.js'
import type { ReaderContext } from './reader-tools.js'
import { UnitReader } from './unit-reader.js'

/** An anchor as the message announces it. */
interface Announced {
  readonly id: string
  readonly isClass: boolean
  readonly bytes: Buffer
  /** The anchors that its unit refers to. */
  readonly uses: readonly string[]
  /** Where the unit goes on. */
  readonly offset: number
}

/** Reads the anchors of one message. */
export class AnchorReader {
  readonly #context: ReaderContext
  readonly #registry: AnchorRegistry
  readonly #announced: ReadonlyMap<string, Announced>
  /** Those that say the same as last time, and need nothing that does not. */
  readonly #kept: ReadonlySet<string>
  readonly #made = new Map<string, object>()
  readonly #inProgress = new Set<string>()
  /** Units that were begun. */
  readonly #units: {
    readonly announced: Announced
    readonly object: object
    readonly unit: UnitReader
  }[] = []
  readonly #classes = new Set<object>()

  /** `reader` stands before the list of anchors. Throws `DeserializeError`. */
  constructor(reader: ByteReader, context: ReaderContext) {
    this.#context = context
    this.#registry = context.tools.anchors
    this.#announced = readAnnounced(reader)
    this.#kept = this.#findKept()
  }

  /** The anchor, its content not there yet if it was made now. Throws `DeserializeError`. */
  get(id: string): object {
    const made = this.#made.get(id)
    if (made !== undefined) return made
    const announced = this.#announced.get(id)
    if (announced === undefined) throw new DeserializeError('a class did not come along')
    const object = this.#present(announced) ?? this.#make(announced)
    this.#made.set(id, object)
    if (announced.isClass && !this.#registry.isOwn(id)) this.#classes.add(object)
    return object
  }

  /** Reads the content of all that was made, and whatever that needs. */
  drain(): void {
    this.#updateOthers()
    for (let index = 0; index < this.#units.length; index += 1) {
      const { unit } = this.#units[index] as { readonly unit: UnitReader }
      unit.drainShipment()
      if (unit.reader.remaining > 0) throw new DeserializeError('a class has too many bytes')
    }
    for (const { announced, object } of this.#units) {
      if (this.#isRegistered(announced)) this.#registry.complete(object, copyOf(announced.bytes))
    }
  }

  /** The classes that were asked for, but for this process's own. */
  get classes(): Iterable<object> {
    return this.#classes
  }

  /**
   * A class that stays as it is may use, or extend, one that does not: all that are there already
   * get the state that the message says.
   */
  #updateOthers(): void {
    for (const { id, isClass } of this.#announced.values()) {
      if (isClass && this.#registry.find(id) !== undefined) this.get(id)
    }
  }

  /** What is there and stays as it is: an original, or an unchanged copy. */
  #present({ id, isClass }: Announced): object | undefined {
    if (isClass && this.#registry.isOwn(id)) return this.#registry.find(id)
    return this.#kept.has(id) ? this.#registry.find(id) : undefined
  }

  #make(announced: Announced): object {
    const { id, isClass, bytes, uses, offset } = announced
    if (this.#inProgress.has(id)) throw new DeserializeError('a class is made from itself')
    this.#inProgress.add(id)
    const unit = new UnitReader(new ByteReader(bytes, offset), this.#context, uses)
    const existing = isClass ? this.#registry.find(id) : undefined
    const object = unit.root(isOpen(existing) ? existing : undefined)
    if ((typeof object !== 'object' || object === null) && typeof object !== 'function') {
      throw new DeserializeError('a class is something else')
    }
    if (isClass && typeof object !== 'function')
      throw new DeserializeError('a class is no function')
    if (this.#isRegistered(announced)) this.#registry.begin(id, object)
    this.#units.push({ announced, object, unit })
    return object
  }

  /** A process does not take copies of what is its own for that. */
  #isRegistered({ id, isClass }: Announced): boolean {
    if (!this.#registry.isOwn(id)) return true
    return isClass && this.#registry.find(id) === undefined
  }

  #findKept(): ReadonlySet<string> {
    const kept = new Set<string>()
    for (const { id, bytes } of this.#announced.values()) {
      if (this.#registry.isOwn(id)) continue
      const object = this.#registry.find(id)
      const state = object === undefined ? undefined : this.#registry.stateOf(object)
      if (state?.bytes.equals(bytes) === true) kept.add(id)
    }
    let isSettled = false
    while (!isSettled) {
      isSettled = true
      for (const id of kept) {
        if (this.#announced.get(id)?.uses.every((used) => this.#stays(used, kept)) === true)
          continue
        kept.delete(id)
        isSettled = false
      }
    }
    return kept
  }

  /** Whether the object behind the identity is the same after this message. */
  #stays(id: string, kept: ReadonlySet<string>): boolean {
    if (kept.has(id)) return true
    return this.#announced.get(id)?.isClass === true && isOpen(this.#registry.find(id))
  }
}

/** Whether a class can get another state: one that was frozen, for instance, is made anew. */
function isOpen(object: object | undefined): object is AnyFunction {
  if (typeof object !== 'function') return false
  const prototype = ownValue(object, 'prototype')
  return isChangeable(object) && (!isObject(prototype) || isChangeable(prototype))
}

function isChangeable(object: object): boolean {
  if (!Object.isExtensible(object)) return false
  return Object.entries(Object.getOwnPropertyDescriptors(object)).every(
    ([key, property]) => property.configurable === true || key === 'prototype',
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function readAnnounced(reader: ByteReader): Map<string, Announced> {
  const list: { id: string; isClass: boolean; byteLength: number }[] = []
  for (let left = reader.count(3); left > 0; left -= 1) {
    const id = reader.text()
    list.push({ id, isClass: reader.byte() === ANCHOR_CLASS, byteLength: reader.varint() })
  }
  const announced = new Map<string, Announced>()
  for (const { id, isClass, byteLength } of list) {
    const bytes = reader.raw(byteLength)
    const unit = new ByteReader(bytes)
    const uses = readUses(unit)
    announced.set(id, { id, isClass, bytes, uses, offset: byteLength - unit.remaining })
  }
  return announced
}

/** The identities of the anchors that a unit refers to. */
export function readUses(reader: ByteReader): string[] {
  const uses: string[] = []
  for (let left = reader.count(1); left > 0; left -= 1) uses.push(reader.text())
  return uses
}

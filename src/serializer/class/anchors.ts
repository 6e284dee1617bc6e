// Anchors: objects that keep their identity wherever they travel. Classes do, so that `instanceof`
// holds from one message to the next. Everything that a class refers to then needs an identity,
// too: a class that is the same as last time must keep its state.
//
// An anchor therefore has an identity, and is written as a unit of its own, with the same bytes in
// every message until something changes: other classes, functions and captured variables in it
// are anchors again. The reader compares the bytes with the previous ones. If they are equal, the
// existing object stays as it is; otherwise a class is changed in place, and anything else is
// replaced.
//
// An object belongs to one unit. If two units need it, it must be an anchor; reach.ts determines
// which objects these are.

import { DeserializeError } from '../../base/errors.js'
import { ANCHOR_CLASS, type AnchorBytes } from '../bytes/message.js'
import { ByteReader } from '../bytes/reader.js'
import type { AnyFunction } from '../module/native.js'
import type { MessageContext } from '../value/context.js'
import type { Place } from '../value/place.js'
import { type ReaderContext, UnitReader } from '../value/reader.js'
import { Unit, type UnitBytes } from '../value/unit.js'
import type { Seeds } from './reach.js'
import type { KnownThings } from './registry.js'

// The anchors of one message, on the side that reads (anchors.ts tells what they are). An
// anchor is made when somebody asks for it. A class that is there already stays as it is, whatever
// the message says of it: in a task it has the statics of its submit, and what the task did to it.
// What a class holds on to is the same thing in all messages of one submit, too; in what arrives
// later, it is another one.

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
  readonly #announced: ReadonlyMap<string, Announced>
  readonly #made = new Map<string, object>()
  readonly #inProgress = new Set<string>()
  /** Anchors that were made and are known from now on. */
  readonly #adopted: string[] = []
  /** Units that were begun. */
  readonly #units: UnitReader[] = []

  /** `reader` stands before the list of anchors. Throws `DeserializeError`. */
  constructor(reader: ByteReader, context: ReaderContext) {
    this.#context = context
    this.#announced = readAnnounced(reader)
  }

  /** How many anchors the message has. */
  get size(): number {
    return this.#announced.size
  }

  /** The anchor, its content not there yet if it was made now. Throws `DeserializeError`. */
  get(id: string): object {
    const made = this.#made.get(id)
    if (made !== undefined) return made
    const announced = this.#announced.get(id)
    if (announced === undefined) throw new DeserializeError('a class did not come along')
    const object = announced.isClass ? this.#class(announced) : this.#part(announced)
    this.#made.set(id, object)
    return object
  }

  /** Reads the content of all that was made, and whatever that needs. */
  drain(): void {
    // The list grows meanwhile.
    for (const unit of this.#units) {
      unit.drainShipment()
      if (unit.reader.remaining > 0) throw new DeserializeError('a class has too many bytes')
    }
  }

  /** The message cannot be read: classes that were begun must not be used. */
  abandon(): void {
    for (const id of this.#adopted) this.#context.known.forget(id)
  }

  #class(announced: Announced): object {
    const { id } = announced
    const { known, tools } = this.#context
    const find = (): AnyFunction | undefined => {
      const found = known.find(id)
      return typeof found === 'function' ? (found as AnyFunction) : undefined
    }
    const found = find()
    if (found !== undefined && tools.codecs.ofClass(found) !== undefined) return found
    const unit = this.#unit(announced)
    // A codec brings its class, in which classes are without their codecs.
    unit.codec()
    const present = found ?? find()
    if (present !== undefined) return present
    const made = this.#begin(id, unit)
    if (typeof made !== 'function') throw new DeserializeError('a class is not a function')
    known.adopt(id, made)
    return made
  }

  #part(announced: Announced): object {
    const { id } = announced
    const { known } = this.#context
    const present = known.findPart(id)
    if (present !== undefined) return present
    const made = this.#begin(id, this.#unit(announced))
    known.adoptPart(id, made)
    return made
  }

  #unit({ bytes, offset, uses }: Announced): UnitReader {
    return new UnitReader(new ByteReader(bytes, offset), this.#context, uses)
  }

  #begin(id: string, unit: UnitReader): object {
    if (this.#inProgress.has(id)) throw new DeserializeError('a class is made from itself')
    this.#inProgress.add(id)
    const object = unit.root()
    if ((typeof object !== 'object' || object === null) && typeof object !== 'function') {
      throw new DeserializeError('a class is something else')
    }
    this.#adopted.push(id)
    this.#units.push(unit)
    return object
  }
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

/** An anchor of a message that is being written. */
export interface Anchor {
  readonly id: string
  readonly isClass: boolean
}

/** How an object became an anchor. */
export interface AnchorOrigin {
  readonly isClass: boolean
  readonly place: Place
  /** The unit that met it; undefined if none has. */
  readonly unit: Unit | undefined
  /** For a cell: what it holds. */
  readonly cell?: { readonly value: unknown } | undefined
}

const NO_SEEDS: Seeds = new Map()

/** An anchor with its unit. */
interface AnchorUnit extends Anchor {
  readonly object: object
  readonly unit: Unit
  readonly cell: { readonly value: unknown } | undefined
}

/** The anchors of one round. */
export class AnchorTable {
  readonly #known: () => KnownThings
  readonly #main: Unit
  readonly seeds: Seeds
  /** In the order in which they were made. */
  readonly #anchors = new Map<object, AnchorUnit>()
  readonly #pending: AnchorUnit[] = []
  readonly #byId = new Map<string, object>()
  /** Which anchor's unit has an object as its own. */
  readonly #homes = new Map<object, Unit>()
  /** Something is a part of two units, or of one although it must be an anchor. */
  isWrong = false

  constructor(known: () => KnownThings, main: Unit, seeds: Seeds = NO_SEEDS) {
    this.#known = known
    this.#main = main
    this.seeds = seeds
  }

  /** Whether it was never used and has no seeds. */
  get isFresh(): boolean {
    return this.isEmpty && this.seeds.size === 0 && !this.isWrong
  }

  get isEmpty(): boolean {
    return this.#anchors.size === 0
  }

  of(object: object): AnchorUnit | undefined {
    return this.#anchors.get(object)
  }

  get units(): Iterable<AnchorUnit> {
    return this.#anchors.values()
  }

  /** A new anchor, whose unit is written later. */
  make(object: object, origin: AnchorOrigin, message: MessageContext): AnchorUnit {
    const { isClass, place, cell } = origin
    const unit = new Unit(message, place)
    const anchor = { id: this.#idOf(object, origin.isClass), isClass, object, unit, cell }
    this.#anchors.set(object, anchor)
    const isTaken = origin.unit !== this.#main && this.#main.numbers.has(object)
    if (isTaken || this.#homes.has(object)) this.isWrong = true
    else this.#pending.push(anchor)
    return anchor
  }

  /** What is to be written next. */
  nextPending(): AnchorUnit | undefined {
    return this.#pending.shift()
  }

  /** Says that a unit has an object as its own. Returns false if another one has it. */
  claim(object: object, unit: Unit): boolean {
    const isTaken =
      this.#homes.has(object) || (unit !== this.#main && this.#main.numbers.has(object))
    if (isTaken) this.isWrong = true
    else if (unit !== this.#main) this.#homes.set(object, unit)
    return !isTaken
  }

  /** Whether some unit has it as its own. */
  isOwned(object: object): boolean {
    return this.#homes.has(object) || this.#main.numbers.has(object)
  }

  /** The units of all anchors that the main unit needs, directly or not. */
  finish(main: UnitBytes): AnchorBytes[] {
    const needed = new Map<Anchor, UnitBytes>()
    const toVisit = [...main.anchors]
    for (let anchor = toVisit.pop(); anchor !== undefined; anchor = toVisit.pop()) {
      if (needed.has(anchor)) continue
      const unit = (anchor as AnchorUnit).unit.finish()
      needed.set(anchor, unit)
      toVisit.push(...unit.anchors)
    }
    const found: AnchorBytes[] = []
    for (const anchor of this.units) {
      const unit = needed.get(anchor)
      if (unit !== undefined) found.push({ id: anchor.id, isClass: anchor.isClass, unit })
    }
    return found
  }

  /** Where the writing of a new anchor begins. */
  static readonly nowhere: Place = { holder: undefined, step: '', origin: undefined }

  /** A copy that came from elsewhere may have the identity of another one that is here, too. */
  #idOf(object: object, isClass: boolean): string {
    const known = this.#known()
    let id = known.idOf(object)
    const isCopy = isClass && !known.isOwnId(id)
    if (isCopy && !known.keepsForeign) id = known.renew(object)
    const other = this.#byId.get(id)
    if (other !== undefined && other !== object) id = known.renew(object)
    this.#byId.set(id, object)
    return id
  }
}

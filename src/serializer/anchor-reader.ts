// The anchors of one message, on the side that reads (anchor-table.ts tells what they are). An
// anchor is made when somebody asks for it. A class that is there already stays as it is, whatever
// the message says of it: in a task it has the statics of its submit, and what the task did to it.
// What a class holds on to is the same thing in all messages of one submit, too; in what arrives
// later, it is another one.

import { DeserializeError } from '../base/errors.js'
import { ByteReader } from './byte-reader.js'
import { ANCHOR_CLASS } from './message-frame.js'
import type { AnyFunction } from './native-names.js'
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

  /** The message cannot be read: nobody may take what was begun for a class. */
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
    if (typeof made !== 'function') throw new DeserializeError('a class is no function')
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

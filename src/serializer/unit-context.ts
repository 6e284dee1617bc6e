// What the units of one message share while it is written, and how they end the writing.

import type { ClassCodec } from './class/class-codecs.js'
import type { Identities, KnownThings } from './class/identities.js'
import type { CodeEncoder } from './code-codec.js'
import type { FunctionParts, SourceParts } from './function/function-parts.js'
import type { Lineages } from './lineage.js'
import type { ExportReference } from './module/reference.js'
import type { ModuleViews } from './module-views.js'
import type { AnyFunction, NativeNames } from './native-names.js'
import type { Place } from './queue-item.js'
import type { Refusal } from './refusal.js'
import type { Strictness } from './value-sink.js'

/** A private store of a compiler, for a private name. */
export type PrivateStore = WeakMap<object, unknown> | WeakSet<object>

/** An anchor of a message that is being written (anchor.ts). */
export interface Anchor {
  readonly id: string
  readonly isClass: boolean
}

/** What is asked of a unit from outside. */
export interface NumberedObjects {
  /** Whether an object has a number in the unit. */
  has(object: object): boolean
}

/** The message. */
export interface UnitContext {
  readonly strictness: Strictness
  readonly natives: NativeNames
  readonly identities: Identities
  /** Of the task in which the message is written, or of the process. */
  readonly known: KnownThings
  readonly codes: CodeEncoder
  readonly lineages: Lineages
  /** Whether any object is an anchor. */
  readonly hasAnchors: boolean
  partsOf(fn: AnyFunction): FunctionParts | Refusal
  /** See `FunctionAnalyst`. */
  referenceOf(object: object): ExportReference | undefined
  gettersOf(namespace: object): ReadonlyMap<string, AnyFunction>
  /** Modules of which parts travel. */
  readonly views: ModuleViews
  /** Whether a function is to be one thing everywhere. */
  isClass(fn: AnyFunction, parts: SourceParts): boolean
  /** From now on it is. */
  makeClass(fn: AnyFunction): void
  anchorOf(object: object): Anchor | undefined
  /** `value`: what a cell holds. */
  makeAnchor(object: object, about: AnchorOrigin): Anchor
  /** Whether an object that looks ordinary turned out to be more. */
  isSpecial(object: object): boolean
  /**
   * It did: the message must be written again. To see that at once would cost all others too much.
   */
  noteSpecial(object: object): void
  /** Whether an object that is met for the first time must be an anchor. */
  isSeed(object: object): boolean
  /** Says that an object stands for a captured variable. */
  noteCell(key: object): void
  /** Whether an object is known to belong to more than one anchor. */
  isShared(object: object): boolean
  /**
   * Called for each object that a unit numbers as its own, if there are anchors. Returns false if
   * another unit has it: then the message has to be written again.
   */
  claim(object: object, unit: NumberedObjects): boolean
  /** The number of an attachment that stands for the value, or undefined. */
  attachmentOf(value: unknown): number | undefined
  noteCaptured(value: unknown): void
  noteStore(store: PrivateStore): void
  codecOf(prototype: object): ClassCodec | undefined
  /** The bytes of an instance and of its codec. Throws `SerializeError`. */
  encode(object: object, codec: ClassCodec): EncodedInstance
  /** The bytes of the codec of a registered class that this message does not have yet. */
  newCodecOf(constructor: AnyFunction): Uint8Array | undefined
}

/** How an object became an anchor. */
export interface AnchorOrigin {
  readonly isClass: boolean
  readonly place: Place
  /** The unit that met it; undefined if none has. */
  readonly unit: NumberedObjects | undefined
  /** For a cell: what it holds. */
  readonly cell?: { readonly value: unknown }
}

/** An instance of a registered class, as two messages. */
export interface EncodedInstance {
  readonly codec: Uint8Array
  readonly value: Uint8Array
}

/** Ends the writing: something cannot travel. */
export class Stop extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** Begins the writing again, without a function that cannot travel. */
export class Blame extends Error {
  readonly fn: object
  readonly refusal: Refusal

  constructor(fn: object, refusal: Refusal) {
    super(refusal.reason)
    this.fn = fn
    this.refusal = refusal
  }
}

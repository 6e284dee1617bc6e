// What the units of one message share while it is written, and how they end the writing.

import type { CodeEncoder } from '../bytes/code.js'
import type { ByteWriter } from '../bytes/writer.js'
import type { ClassCodec, ClassCodecs } from '../class/codecs.js'
import type { Identities, KnownThings } from '../class/registry.js'
import type { FunctionFactories } from '../function/factory.js'
import type {
  CellKey,
  FunctionAnalyst,
  FunctionParts,
  SourceParts,
  UsedModule,
} from '../function/parts.js'
import type { ShippedFunctions } from '../function/reader.js'
import type { FunctionPlan } from '../function/writer.js'
import type { AnyFunction, NativeNames } from '../module/native.js'
import type { ExportReference, ModuleLoader } from '../module/policy.js'
import { NamedStep, type Refusal, type Step, stepText } from '../refusal.js'
import type { FunctionCode } from '../source/sites.js'
import type { SpecialPlan } from './kind.js'
import type { Lineages } from './lineage.js'
import type { RecordKeys } from './shape.js'
import type { ModuleViews } from './views.js'

// What a unit has met and not written yet, and how it was reached.

/** What the content of an object is. */
export type ContentKind =
  /** A record, as far as could be seen. */
  | 'ordinary'
  | 'record'
  | 'arguments'
  | 'array'
  | 'map'
  | 'set'
  | 'error'
  | 'cell'
  | 'function'
  | 'bound'
  /** An object that is complete at once. */
  | 'leaf'

/** An object whose content is written later, and where it was met. */
export interface QueueItem {
  readonly object: object
  readonly kind: ContentKind
  /** What held it; undefined for the root of its unit. */
  readonly holder: QueueItem | undefined
  readonly step: Step
  /**
   * Of a function what is to be written, of a cell what it holds (in a `CellValue`), of anything
   * else what it has beside the content of its kind.
   */
  about: FunctionPlan | CellValue | SpecialPlan | undefined
}

/** What a captured variable holds. */
export class CellValue {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** A step from something that is written, or the root of its unit. */
export interface Place {
  readonly holder: QueueItem | undefined
  readonly step: Step
  /** Where the unit itself was met; undefined for the main one. */
  readonly origin: Place | undefined
}

/** The way from the root of the message to a place. */
export function pathTo(place: Place): string[] {
  const steps: string[] = []
  let isPassing = false
  for (let unit: Place | undefined = place; unit !== undefined; unit = unit.origin) {
    let { step }: Place = unit
    for (let holder = unit.holder; holder !== undefined; { step, holder } = holder) {
      steps.push(textOfStep(holder.kind, step, isPassing))
      isPassing = holder.kind === 'function'
    }
  }
  return steps.toReversed()
}

/** The function nearest to the root of the message, on the way to a place. */
export function outermostFunction(place: Place): QueueItem | undefined {
  let found: QueueItem | undefined
  for (let unit: Place | undefined = place; unit !== undefined; unit = unit.origin) {
    for (let holder = unit.holder; holder !== undefined; holder = holder.holder) {
      if (holder.kind === 'function' || holder.kind === 'bound') found = holder
    }
  }
  return found
}

/** A captured variable, and the property of it that leads on. */
interface CaptureStep {
  readonly fn: AnyFunction
  readonly name: string
  readonly member: string | undefined
}

/** The captured variables on the way to a place, the nearest to it first. */
export function* capturesOn(place: Place): Generator<CaptureStep> {
  for (let unit: Place | undefined = place; unit !== undefined; unit = unit.origin) {
    let inner: Step | undefined
    let { step }: Place = unit
    for (let holder = unit.holder; holder !== undefined; { step, holder } = holder) {
      if (holder.kind === 'function' && step instanceof NamedStep) {
        const member = typeof inner === 'string' ? inner : undefined
        yield { fn: holder.object as AnyFunction, name: step.name, member }
      }
      inner = step
    }
  }
}

function textOfStep(kind: ContentKind, step: Step, isPassing: boolean): string {
  if (typeof step === 'number' && kind === 'map') {
    return step % 2 === 0 ? `key ${step / 2}` : `value ${(step - 1) / 2}`
  }
  if (typeof step === 'number' && kind === 'set') return `member ${step}`
  return stepText(step, isPassing)
}

// What all messages of a serializer are read with, and what the units of one message share.

/** Shared by all messages. */
export interface ReaderTools {
  readonly natives: NativeNames
  readonly factories: FunctionFactories
  readonly shipped: ShippedFunctions
  readonly codecs: ClassCodecs
  readonly loader: ModuleLoader
  /** The codec of a registered class, from its message. Throws `DeserializeError`. */
  readCodec(bytes: Uint8Array, known: KnownThings): ClassCodec
  /** A message inside this one. Throws `DeserializeError`. */
  readNested(bytes: Uint8Array): unknown
}

/** Shared by the units of a message. */
export interface ReaderContext {
  readonly tools: ReaderTools
  /** Classes and the like that have arrived where this message is read: in a task, or a process. */
  readonly known: KnownThings
  /** The Node that wrote it. */
  readonly senderMajor: number
  /** The anchor with this identity. Throws `DeserializeError`. */
  anchor(id: string): object
  /** The value of an attachment. Throws `DeserializeError`. */
  attachment(number: number): unknown
}

/** A private store of a compiler, for a private name. */
export type PrivateStore = WeakMap<object, unknown> | WeakSet<object>

/** An anchor of a message that is being written (class/anchors.ts). */
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

// What those who write one kind of thing need of the unit that they write into.

/**
 * What to do with a part of the value that cannot travel or be read: fail, or put a short text in
 * its place. The value itself is never replaced.
 */
export type Strictness = 'strict' | 'lenient'

/** What a unit says to its message. */
interface Noting {
  noteSpecial(object: object): void
}

/** A unit while it is written. All may end the writing by throwing. */
export interface ValueSink {
  readonly bytes: ByteWriter
  /** The unit of an anchor, which says the same in every message (class/anchors.ts). */
  readonly isAnchor: boolean
  readonly strictness: Strictness
  readonly context: Noting
  /** Says what is read next, which may throw. */
  at(step: Step): void
  /** Appends any value; `step` leads to it from what is being written. */
  value(value: unknown, step: Step): void
  /** Appends a function that is a class, whatever its text is. */
  classValue(fn: AnyFunction, step: Step): void
  /** Appends the value of a captured variable. */
  captured(value: unknown, step: Step): void
  /** Appends a captured variable that changes. */
  cell(key: CellKey, value: unknown, step: Step): void
  /** Appends a module with what is used of it. */
  members(used: UsedModule, step: Step): void
  /** Appends a private store. */
  store(store: WeakMap<object, unknown> | WeakSet<object>): void
  /** Appends what is imported where it arrives. */
  reference(reference: ExportReference): void
  /** Appends a primitive. */
  primitive(value: unknown): void
  /**
   * Appends the properties of an object, which is closed as far as that afterwards (shape.ts).
   */
  record(object: object, keys: RecordKeys, integrity: number): void
  /** The number of a code that the unit has, or undefined after giving it the next one. */
  codeNumber(code: FunctionCode): number | undefined
  /** Appends a short text, or ends the writing. */
  refuse(refusal: Refusal, step: Step): void
}

// What all messages of a serializer are written with.

/** Shared by all messages. */
export interface WriterTools {
  readonly analyst: FunctionAnalyst
  readonly natives: NativeNames
  readonly identities: Identities
  /** What is known where a message is written. */
  known(): KnownThings
  readonly codes: CodeEncoder
  readonly codecs: ClassCodecs
  /** What was once found in the units of two anchors, and is an anchor since. */
  readonly shared: WeakSet<object>
  /** Functions that came from elsewhere: nobody needs to find out what they are made of. */
  readonly shipped: ShippedFunctions
  /** The bytes of an instance of a registered class. Throws `SerializeError`. */
  encode(object: object, codec: ClassCodec, strictness: Strictness): EncodedInstance
  /** The bytes of a codec; undefined for one that is being written, or cannot be. */
  encodeCodec(codec: ClassCodec): Uint8Array | undefined
}

/** Captured values that are messages of their own. */
export interface Attachments {
  readonly size: number
  /** In the order of their numbers. */
  readonly values: readonly unknown[]
  /** The number of the attachment that the value is, or undefined. */
  of(value: unknown): number | undefined
}

/** How one message is written. */
export interface MessageOptions {
  readonly strictness: Strictness
  /** Captured values that are messages of their own. */
  readonly attachments?: Attachments
}

// A function or class with its code. When it is met:
//
//   code: 0 and the code, or its number + 1; name: 0, or 1 and a text; length
//   for each captured variable: LATE, or CONSTANT and the value, or EARLY and a copy for the
//     moment, or ABSENT: none is captured, the name means what it means there
//   for a class that extends something: 0 for null, or 1 and the class
//
// and later, as content, what may lead back to it:
//
//   the late variables; static private fields: count, then name and value
//   flags, then what they say: [[Prototype]], own properties, those of `prototype`, …
//
// What can be given when the code is evaluated is a constant for the engine, and faster. Functions
// are late, for any of them may capture this one; so is all in an anchor that may be another object
// in the next message.

import type { CodeEncoder } from '../bytes/code.js'
import { writeReference } from '../bytes/leaf.js'
import * as tag from '../bytes/tag.js'
import { functionKeys, hasOwnPrototype, hasPlainName, prototypeKeys } from '../class/member.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { NamedStep, Refusal } from '../refusal.js'
import type { CodeName } from '../source/sites.js'
import { type SpecialPlan, WRAPPED_INTEGRITY, WRAPPED_PROPERTIES } from '../value/kind.js'
import { integrityOf, ownKeysOf } from '../value/shape.js'
import type { ContentKind, QueueItem, UnitContext, ValueSink } from '../value/sink.js'
import { writeEarly } from './early.js'
import type { Capture, FunctionParts, SourceParts } from './parts.js'

/** How a captured variable is given: later; */
export const CAPTURE_LATE = 0
/** at once, for good; */
export const CAPTURE_CONSTANT = 1
/** later, and a copy at once; */
export const CAPTURE_EARLY = 2
/** not at all. */
export const CAPTURE_ABSENT = 3

/** What the content of a function has beside its variables: what it inherits from; */
export const FUNCTION_PROTOTYPE = 1
/** own properties; */
export const FUNCTION_PROPERTIES = 2
/** those of its `prototype`; */
export const FUNCTION_MEMBERS = 4
/** what its `prototype` inherits from; */
export const FUNCTION_PARENT_MEMBERS = 8
/** a `prototype` that was assigned; */
export const FUNCTION_OTHER_PROTOTYPE = 16
/** how far it is closed. */
export const FUNCTION_INTEGRITY = 32

/** What a function has inherited from, whatever made it. */
const STANDARD_PROTOTYPES: ReadonlySet<object | null> = new Set(
  [function () {}, async () => {}, function* () {}, async function* () {}].map(
    (fn) => Object.getPrototypeOf(fn) as object,
  ),
)

/** What to write of a function now, and later. */
export interface FunctionPlan {
  readonly fn: AnyFunction
  readonly parts: SourceParts
  /** It is one thing wherever it travels: what its `prototype` has travels, too. */
  readonly isClass: boolean
  readonly late: readonly Capture[]
}

/** What a writer asks about functions that were captured. */
type PartsOf = (fn: AnyFunction) => FunctionParts | Refusal

/** Appends what stands where the function is met, behind its tag. */
function writeHeader(
  sink: ValueSink,
  { fn, parts, isClass }: Omit<FunctionPlan, 'late'>,
  { codes, partsOf }: { readonly codes: CodeEncoder; readonly partsOf: PartsOf },
): FunctionPlan {
  const { bytes } = sink
  const { code, classParts } = parts
  const number = sink.codeNumber(code)
  bytes.varint(number === undefined ? 0 : number + 1)
  if (number === undefined) bytes.raw(codes.bytesOf(parts))
  const hasName = hasPlainName(fn)
  bytes.byte(hasName ? 1 : 0)
  if (hasName) bytes.text(String(ownValue(fn, 'name')))
  const length = ownValue(fn, 'length')
  bytes.varint(Number.isSafeInteger(length) ? (length as number) : 0)
  const late: Capture[] = []
  for (const [index, name] of code.names.entries()) {
    const capture = captureOf(parts, name, index)
    if (capture === undefined) bytes.byte(CAPTURE_ABSENT)
    else if (!writeCapture(sink, name, capture, { isClass, partsOf })) late.push(capture)
  }
  const parent = classParts?.parent
  if (code.parentName !== undefined) {
    bytes.byte(parent === null || parent === undefined ? 0 : 1)
    if (parent !== null && parent !== undefined) sink.classValue(parent, new NamedStep('extends'))
  }
  return { fn, parts, isClass, late }
}

/** They are in the order of the names, but some may be missing. */
function captureOf(
  { captures }: SourceParts,
  { name }: CodeName,
  index: number,
): Capture | undefined {
  const capture = captures[index]
  return capture?.name === name ? capture : captures.find((other) => other.name === name)
}

/** Returns false if the variable has to be written later. */
function writeCapture(
  sink: ValueSink,
  name: CodeName,
  capture: Capture,
  how: { readonly isClass: boolean; readonly partsOf: PartsOf },
): boolean {
  const isConstant = sink.isAnchor
    ? isSteady(capture, how.partsOf) && (!how.isClass || name.free.binding?.isConstant === true)
    : isIndependent(capture, how.partsOf)
  if (isConstant) {
    sink.bytes.byte(CAPTURE_CONSTANT)
    writeContent(sink, capture)
    return true
  }
  sink.bytes.byte(name.isEarly ? CAPTURE_EARLY : CAPTURE_LATE)
  if (name.isEarly) writeEarly(sink, earlyValue(capture))
  return false
}

/** Whether what the variable holds exists before any function of the unit does. */
function isIndependent({ content }: Capture, partsOf: PartsOf): boolean {
  if (content.kind !== 'value' || typeof content.value !== 'function') return true
  const parts = partsOf(content.value as AnyFunction)
  if (parts instanceof Refusal || parts.kind === 'bound') return false
  return parts.kind !== 'source' || parts.classParts !== undefined
}

/** Whether it is the same thing in every message, too. */
function isSteady({ content }: Capture, partsOf: PartsOf): boolean {
  if (content.kind === 'reference' || content.kind === 'privateStore') return true
  if (content.kind !== 'value') return false
  const { value } = content
  if (typeof value !== 'function') return typeof value !== 'object' || value === null
  const parts = partsOf(value as AnyFunction)
  return !(parts instanceof Refusal) && parts.kind !== 'source' && parts.kind !== 'bound'
}

function earlyValue({ content }: Capture): unknown {
  switch (content.kind) {
    case 'value':
      return content.value
    case 'cell':
      return { v: content.value }
    case 'members':
      return content.module
    default:
      return undefined
  }
}

function writeContent(sink: ValueSink, { name, step: text, content }: Capture): void {
  const step = new NamedStep(name, text)
  switch (content.kind) {
    case 'value':
      sink.captured(content.value, step)
      break
    case 'reference':
      sink.reference(content.reference)
      break
    case 'members':
      sink.members(content, step)
      break
    case 'cell':
      sink.cell(content.key, content.value, step)
      break
    case 'privateStore':
      sink.store(content.store)
      break
    default:
      sink.refuse(content.refusal, step)
  }
}

/** Appends the content. */
export function writeFunctionContent(sink: ValueSink, plan: FunctionPlan): void {
  const { fn, parts, late, isClass } = plan
  for (const capture of late) writeContent(sink, capture)
  if (parts.code.adoptName !== undefined) writeStaticPrivates(sink, parts)
  const text = parts.classParts === undefined ? undefined : Function.prototype.toString.call(fn)
  const prototype = ownValue(fn, 'prototype')
  const members =
    isClass && typeof prototype === 'object' && prototype !== null
      ? prototypeKeys(prototype, text)
      : []
  const keys = functionKeys(fn, text)
  const integrity = integrityOf(fn)
  const flags =
    (hasStandardPrototype(plan) ? 0 : FUNCTION_PROTOTYPE) |
    (keys.length > 0 ? FUNCTION_PROPERTIES : 0) |
    (members.length > 0 ? FUNCTION_MEMBERS : 0) |
    (hasStandardParentMembers(plan) ? 0 : FUNCTION_PARENT_MEMBERS) |
    (hasOtherPrototype(plan) ? FUNCTION_OTHER_PROTOTYPE : 0) |
    (integrity === 0 ? 0 : FUNCTION_INTEGRITY)
  sink.bytes.byte(flags)
  if ((flags & FUNCTION_PROTOTYPE) !== 0) {
    sink.value(Object.getPrototypeOf(fn), new NamedStep('[[Prototype]]'))
  }
  if (keys.length > 0) sink.record(fn, keys, integrity)
  if (members.length > 0) sink.record(prototype as object, members, 0)
  if ((flags & FUNCTION_PARENT_MEMBERS) !== 0) {
    sink.value(Object.getPrototypeOf(prototype), new NamedStep('[[Prototype]]'))
  }
  if ((flags & FUNCTION_OTHER_PROTOTYPE) !== 0) sink.value(prototype, 'prototype')
  if (integrity !== 0) sink.bytes.byte(integrity)
}

/** Whether a function that is not a class has anything that its text does not say. */
export function isExtended(plan: FunctionPlan): boolean {
  const { fn } = plan
  if (!hasStandardPrototype(plan) || hasOtherPrototype(plan)) return true
  return functionKeys(fn, undefined).length > 0
}

/** What a bound function has beside what it is bound to. */
function boundPlan(fn: AnyFunction, target: AnyFunction): SpecialPlan {
  const isNamed = ownValue(fn, 'name') !== `bound ${String(ownValue(target, 'name'))}`
  const keys = ownKeysOf(fn).filter((key) => key !== 'length' && (key !== 'name' || isNamed))
  const integrity = integrityOf(fn)
  const flags = (keys.length > 0 ? WRAPPED_PROPERTIES : 0) | (integrity > 0 ? WRAPPED_INTEGRITY : 0)
  return { flags, prototype: undefined, keys, integrity, isFlat: true }
}

function writeStaticPrivates(sink: ValueSink, { classParts }: SourceParts): void {
  const privates = classParts?.staticPrivates ?? []
  sink.bytes.varint(privates.length)
  for (const { name, value } of privates) {
    sink.bytes.text(name)
    sink.value(value, new NamedStep(name))
  }
}

function hasStandardPrototype({ fn, parts }: FunctionPlan): boolean {
  const prototype = Object.getPrototypeOf(fn) as object | null
  return parts.code.parentName === undefined
    ? STANDARD_PROTOTYPES.has(prototype)
    : prototype === (parts.classParts?.parent ?? Function.prototype)
}

/** A class has it from its text; a function of old gets what `util.inherits` and the like set. */
function hasStandardParentMembers({ fn, parts, isClass }: FunctionPlan): boolean {
  if (!isClass || parts.classParts !== undefined) return true
  const prototype = ownValue(fn, 'prototype')
  if (typeof prototype !== 'object' || prototype === null) return true
  return Object.getPrototypeOf(prototype) === Object.prototype
}

/** Something else was assigned, or a generator's was filled. */
function hasOtherPrototype({ fn, parts, isClass }: FunctionPlan): boolean {
  if (isClass || parts.classParts !== undefined || hasOwnPrototype(fn)) return false
  const prototype = ownValue(fn, 'prototype')
  if (prototype === undefined) return Object.hasOwn(fn, 'prototype')
  if (typeof prototype !== 'object' || prototype === null) return true
  if (ownValue(prototype, 'constructor') === fn) return false
  return !isGeneratorPrototype(prototype)
}

function isGeneratorPrototype(prototype: object): boolean {
  if (Object.getOwnPropertyNames(prototype).length > 0) return false
  const parent: unknown = Object.getPrototypeOf(prototype)
  return parent !== null && GENERATOR_PROTOTYPES.has(parent as object)
}

const GENERATOR_PROTOTYPES: ReadonlySet<object> = new Set(
  [function* () {}, async function* () {}].map(
    ({ prototype }) => Object.getPrototypeOf(prototype) as object,
  ),
)

// A function where it is met: by its name, by where it can be imported, or with its code.

/** What is needed of the unit. */
export interface FunctionSink extends ValueSink {
  readonly context: UnitContext
  /** Appends what every process has. */
  native(name: string): void
  /** Appends a function that is a unit of its own. */
  makeAnchor(object: object, isClass: boolean): void
  /** Says that a function is this unit's own. */
  claim(object: object): boolean
  /** A place in the queue for what is being written. */
  item(object: object, kind: ContentKind, special: SpecialPlan | undefined): QueueItem
  /** Writes what comes before an item can be waiting, and then lets it wait. */
  within(item: QueueItem, write: () => void): void
}

/** Writes the functions of one unit. */
export class FunctionValues {
  readonly #sink: FunctionSink
  #hasCode = false

  constructor(sink: FunctionSink) {
    this.#sink = sink
  }

  /** Whether any was written with its code. */
  get hasCode(): boolean {
    return this.#hasCode
  }

  /** Forgets all. */
  clear(): void {
    this.#hasCode = false
  }

  /** Appends a function that has its number. */
  write(fn: AnyFunction, parts: FunctionParts): void {
    const { bytes, context, isAnchor } = this.#sink
    switch (parts.kind) {
      case 'native':
        this.#sink.native(parts.name)
        break
      case 'reference':
        bytes.byte(tag.VALUE_EXPORT_FUNCTION)
        writeReference(bytes, parts.reference)
        break
      case 'runtime':
        bytes.byte(tag.VALUE_RUNTIME)
        bytes.byte(parts.role === 'require' ? 1 : 0)
        bytes.text(parts.url)
        break
      case 'bound':
        if (isAnchor) this.#sink.makeAnchor(fn, false)
        else this.#bound(fn, parts)
        break
      default:
        if (context.isClass(fn, parts)) this.#sink.makeAnchor(fn, true)
        else if (isAnchor) this.#sink.makeAnchor(fn, false)
        else this.#closure(fn, parts, false)
    }
  }

  /** Appends the function that is the anchor of the unit. */
  writeRoot(fn: AnyFunction, parts: FunctionParts, isClass: boolean): void {
    if (parts.kind === 'source') this.#closure(fn, parts, isClass)
    else if (parts.kind === 'bound') this.#bound(fn, parts)
    else this.write(fn, parts)
  }

  #closure(fn: AnyFunction, parts: SourceParts, isClass: boolean): void {
    const { bytes, context } = this.#sink
    this.#sink.claim(fn)
    bytes.byte(tag.VALUE_CLOSURE)
    this.#hasCode = true
    const item = this.#sink.item(fn, 'function', undefined)
    this.#sink.within(item, () => {
      const { codes } = context
      item.about = writeHeader(this.#sink, { fn, parts, isClass }, { codes, partsOf })
    })
    function partsOf(other: AnyFunction): ReturnType<UnitContext['partsOf']> {
      return context.partsOf(other)
    }
  }

  #bound(fn: AnyFunction, parts: FunctionParts & { readonly kind: 'bound' }): void {
    const { bytes } = this.#sink
    this.#sink.claim(fn)
    bytes.byte(tag.VALUE_BOUND)
    const special = boundPlan(fn, parts.target)
    this.#sink.within(this.#sink.item(fn, 'bound', special), () => {
      bytes.byte(special.flags)
      this.#sink.value(parts.target, new NamedStep('bound function'))
      this.#sink.captured(parts.self, new NamedStep('bound this'))
      bytes.varint(parts.parameters.length)
      for (const [index, value] of parts.parameters.entries()) {
        this.#sink.captured(value, new NamedStep(`bound argument ${index + 1}`))
      }
    })
  }
}

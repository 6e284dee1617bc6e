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

import { writeEarly } from './early-value.js'
import type { CodeEncoder } from './code-codec.js'
import type { Capture, FunctionParts, SourceParts } from './function/function-parts.js'
import { functionKeys, hasOwnPrototype, hasPlainName, prototypeKeys } from './class/own-member.js'
import { integrityOf } from './integrity.js'
import { ownValue, type AnyFunction } from './native-names.js'
import { NamedStep } from './path.js'
import { Refusal } from './refusal.js'
import { ownKeysOf } from './record-shape.js'
import type { CodeName } from './source/function-site.js'
import { type SpecialPlan, WRAPPED_INTEGRITY, WRAPPED_PROPERTIES } from './special-object.js'
import type { ValueSink } from './value-sink.js'

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
export type PartsOf = (fn: AnyFunction) => FunctionParts | Refusal

/** Appends what stands where the function is met, behind its tag. */
export function writeHeader(
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
export function boundPlan(fn: AnyFunction, target: AnyFunction): SpecialPlan {
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

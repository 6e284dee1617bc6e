// A function or class with its code. Where it is first found:
//
//   code: 0 and the code, or its number + 1; name: 0, or 1 and a text; length
//   for each captured variable: LATE, or CONSTANT and the value, or EARLY and a temporary copy, or
//     ABSENT: there is no capture, the name means what it means at the receiver
//   for a class that extends something: 0 for null, or 1 and the class
//
// and later, as content, everything that may refer back to it:
//
//   the late variables; static private fields: count, then name and value
//   flags, then the parts that they announce: [[Prototype]], own properties, those of `prototype`;
//   functions that the text of a class defines: count, then place, own properties and integrity
//
// A value that is passed when the code is evaluated is a constant for the engine, which is faster.
// Functions are late because any of them may capture this one; so is everything in an anchor that
// may be another object in the next message.

import { writeReference } from '../bytes/leaf.js'
import * as tag from '../bytes/tag.js'
import {
  extendedMembers,
  functionKeys,
  hasOwnPrototype,
  hasPlainName,
  prototypeKeys,
} from '../class/member.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { NamedStep, Refusal } from '../refusal.js'
import type { CodeName } from '../source/sites.js'
import { type SpecialPlan, WRAPPED_INTEGRITY, WRAPPED_PROPERTIES } from '../value/kind.js'
import { integrityOf, ownKeysOf } from '../value/shape.js'
import type { Unit } from '../value/unit.js'
import { writeRecord } from '../value/content-writer.js'
import { writeEarly } from './early.js'
import { STANDARD_PROTOTYPES } from './obstacle.js'
import {
  type Capture,
  captureOf,
  type ClassMember,
  type FunctionParts,
  type SourceParts,
} from './parts.js'

/** How a captured variable is passed: later; */
export const CAPTURE_LATE = 0
/** immediately, as a constant; */
export const CAPTURE_CONSTANT = 1
/** later, with a copy now; */
export const CAPTURE_EARLY = 2
/** not at all. */
export const CAPTURE_ABSENT = 3

/** The parts of a function's content besides its variables: its prototype; */
export const FUNCTION_PROTOTYPE = 1
/** own properties; */
export const FUNCTION_PROPERTIES = 2
/** those of its `prototype`; */
export const FUNCTION_MEMBERS = 4
/** what its `prototype` inherits from; */
export const FUNCTION_PARENT_MEMBERS = 8
/** a `prototype` that was assigned; */
export const FUNCTION_OTHER_PROTOTYPE = 16
/** how far it is closed; */
export const FUNCTION_INTEGRITY = 32
/** properties of functions that the text of a class defines. */
export const FUNCTION_EXTENDED_MEMBERS = 64

/** Which member of a class: a static one; */
export const MEMBER_STATIC = 1
/** a getter; */
export const MEMBER_GET = 2
/** a setter. */
export const MEMBER_SET = 4

/** What to write of a function now, and what later. */
export interface FunctionPlan {
  readonly fn: AnyFunction
  readonly parts: SourceParts
  /** It is the same class everywhere: the properties of its `prototype` are sent as well. */
  readonly isClass: boolean
  readonly late: readonly Capture[]
}

/** Appends the part of a function that follows its tag. */
function writeHeader(unit: Unit, { fn, parts, isClass }: Omit<FunctionPlan, 'late'>): FunctionPlan {
  const { bytes } = unit
  const { code, classParts } = parts
  const number = unit.tables.codeNumber(code)
  bytes.varint(number === undefined ? 0 : number + 1)
  if (number === undefined) bytes.raw(unit.message.tools.codes.bytesOf(parts))
  const hasName = hasPlainName(fn)
  bytes.byte(hasName ? 1 : 0)
  if (hasName) bytes.text(String(ownValue(fn, 'name')))
  const length = ownValue(fn, 'length')
  bytes.varint(Number.isSafeInteger(length) ? (length as number) : 0)
  const late: Capture[] = []
  for (const [index, name] of code.names.entries()) {
    const capture = captureOf(parts, index)
    if (capture === undefined) bytes.byte(CAPTURE_ABSENT)
    else if (!writeCapture(unit, name, capture, isClass)) late.push(capture)
  }
  const parent = classParts?.parent
  if (code.parentName !== undefined) {
    bytes.byte(parent === null || parent === undefined ? 0 : 1)
    if (parent !== null && parent !== undefined) unit.classValue(parent, new NamedStep('extends'))
  }
  return { fn, parts, isClass, late }
}

/** Returns false if the variable must be written later. */
function writeCapture(unit: Unit, name: CodeName, capture: Capture, isClass: boolean): boolean {
  const isConstant = unit.isAnchor
    ? isSteady(unit, capture) && (!isClass || name.free.binding?.isConstant === true)
    : isIndependent(unit, capture)
  if (isConstant) {
    unit.bytes.byte(CAPTURE_CONSTANT)
    writeContent(unit, capture)
    return true
  }
  unit.bytes.byte(name.isEarly ? CAPTURE_EARLY : CAPTURE_LATE)
  if (name.isEarly) writeEarly(unit, earlyValue(capture))
  return false
}

/** Whether the value of the variable exists before any function of the unit does. */
function isIndependent(unit: Unit, { content }: Capture): boolean {
  if (content.kind !== 'value' || typeof content.value !== 'function') return true
  const parts = unit.message.partsOf(content.value as AnyFunction)
  if (parts instanceof Refusal || parts.kind === 'bound' || parts.kind === 'member') return false
  return parts.kind !== 'source' || parts.classParts !== undefined
}

/** Whether it is also the same in every message. */
function isSteady(unit: Unit, { content }: Capture): boolean {
  if (content.kind === 'reference' || content.kind === 'privateStore') return true
  if (content.kind !== 'value') return false
  const { value } = content
  if (typeof value !== 'function') return typeof value !== 'object' || value === null
  const parts = unit.message.partsOf(value as AnyFunction)
  return !(parts instanceof Refusal) && !UNSTEADY.has(parts.kind)
}

/** The class of a member may need the member before it exists. */
const UNSTEADY: ReadonlySet<FunctionParts['kind']> = new Set(['source', 'bound', 'member'])

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

function writeContent(unit: Unit, { name, step: text, content }: Capture): void {
  const step = new NamedStep(name, text)
  switch (content.kind) {
    case 'value':
      unit.captured(content.value, step)
      break
    case 'reference':
      unit.reference(content.reference)
      break
    case 'members':
      unit.members(content, step)
      break
    case 'cell':
      unit.cell(content.key, content.value, step)
      break
    case 'privateStore':
      unit.store(content.store)
      break
    default:
      unit.refuse(content.refusal, step)
  }
}

/** Appends the content. */
export function writeFunctionContent(unit: Unit, plan: FunctionPlan): void {
  const { fn, parts, late, isClass } = plan
  for (const capture of late) writeContent(unit, capture)
  if (parts.code.adoptName !== undefined) writeStaticPrivates(unit, parts)
  const text = parts.classParts === undefined ? undefined : Function.prototype.toString.call(fn)
  const prototype = ownValue(fn, 'prototype')
  const members =
    isClass && typeof prototype === 'object' && prototype !== null
      ? prototypeKeys(prototype, text)
      : []
  const keys = functionKeys(fn, text)
  const integrity = integrityOf(fn)
  const extended = extendedMembers(fn, text)
  const flags =
    (hasStandardPrototype(plan) ? 0 : FUNCTION_PROTOTYPE) |
    (keys.length > 0 ? FUNCTION_PROPERTIES : 0) |
    (members.length > 0 ? FUNCTION_MEMBERS : 0) |
    (hasStandardParentMembers(plan) ? 0 : FUNCTION_PARENT_MEMBERS) |
    (hasOtherPrototype(plan) ? FUNCTION_OTHER_PROTOTYPE : 0) |
    (integrity === 0 ? 0 : FUNCTION_INTEGRITY) |
    (extended.length > 0 ? FUNCTION_EXTENDED_MEMBERS : 0)
  unit.bytes.byte(flags)
  if ((flags & FUNCTION_PROTOTYPE) !== 0) {
    unit.value(Object.getPrototypeOf(fn), new NamedStep('[[Prototype]]'))
  }
  if (keys.length > 0) writeRecord(unit, fn, keys, integrity)
  if (members.length > 0) writeRecord(unit, prototype as object, members, 0)
  if ((flags & FUNCTION_PARENT_MEMBERS) !== 0) {
    unit.value(Object.getPrototypeOf(prototype), new NamedStep('[[Prototype]]'))
  }
  if ((flags & FUNCTION_OTHER_PROTOTYPE) !== 0) unit.value(prototype, 'prototype')
  if (integrity !== 0) unit.bytes.byte(integrity)
  if (extended.length > 0) unit.bytes.varint(extended.length)
  for (const member of extended) {
    writePlace(unit, member)
    writeRecord(unit, member.fn, member.keys, member.integrity)
    unit.bytes.byte(member.integrity)
  }
}

/** Appends where a class has a function. */
function writePlace(unit: Unit, { key, isStatic, slot }: Omit<ClassMember, 'owner'>): void {
  const part = slot === 'value' ? 0 : slot === 'get' ? MEMBER_GET : MEMBER_SET
  unit.bytes.byte(part | (isStatic ? MEMBER_STATIC : 0))
  unit.tables.primitive(key)
}

/** Whether a function that is not a class has anything that is not in its text. */
export function isExtended(plan: FunctionPlan): boolean {
  const { fn } = plan
  if (!hasStandardPrototype(plan) || hasOtherPrototype(plan)) return true
  return functionKeys(fn, undefined).length > 0
}

/** The parts of a bound function besides its target and arguments. */
function boundPlan(fn: AnyFunction, target: AnyFunction): SpecialPlan {
  const isNamed = ownValue(fn, 'name') !== `bound ${String(ownValue(target, 'name'))}`
  const keys = ownKeysOf(fn).filter((key) => key !== 'length' && (key !== 'name' || isNamed))
  const integrity = integrityOf(fn)
  const flags = (keys.length > 0 ? WRAPPED_PROPERTIES : 0) | (integrity > 0 ? WRAPPED_INTEGRITY : 0)
  return { flags, prototype: undefined, keys, integrity, isFlat: true }
}

function writeStaticPrivates(unit: Unit, { classParts }: SourceParts): void {
  const privates = classParts?.staticPrivates ?? []
  unit.bytes.varint(privates.length)
  for (const { name, value } of privates) {
    unit.bytes.text(name)
    unit.value(value, new NamedStep(name))
  }
}

function hasStandardPrototype({ fn, parts }: FunctionPlan): boolean {
  const prototype = Object.getPrototypeOf(fn) as object | null
  return parts.code.parentName === undefined
    ? STANDARD_PROTOTYPES.has(prototype)
    : prototype === (parts.classParts?.parent ?? Function.prototype)
}

/**
 * A class inherits this by its text; a constructor function, by `util.inherits` or similar code.
 */
function hasStandardParentMembers({ fn, parts, isClass }: FunctionPlan): boolean {
  if (!isClass || parts.classParts !== undefined) return true
  const prototype = ownValue(fn, 'prototype')
  if (typeof prototype !== 'object' || prototype === null) return true
  return Object.getPrototypeOf(prototype) === Object.prototype
}

/** Another `prototype` was assigned, or that of a generator was extended. */
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

// A function where it is first found: by name, by its export, or with its code.

/** Appends a function that has a number. */
export function writeFunction(unit: Unit, fn: AnyFunction, parts: FunctionParts): void {
  const { bytes, message, isAnchor } = unit
  switch (parts.kind) {
    case 'native':
      unit.native(parts.name)
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
    case 'member':
      writeMember(unit, fn, parts)
      break
    case 'bound':
      if (isAnchor) unit.makeAnchor(fn, false)
      else writeBound(unit, fn, parts)
      break
    default:
      if (message.isClass(fn, parts)) unit.makeAnchor(fn, true)
      else if (isAnchor) unit.makeAnchor(fn, false)
      else writeClosure(unit, { fn, parts, isClass: false })
  }
}

/** Appends the function that is the anchor of the unit. */
export function writeFunctionRoot(
  unit: Unit,
  fn: AnyFunction,
  parts: FunctionParts,
  isClass: boolean,
): void {
  if (parts.kind === 'source') writeClosure(unit, { fn, parts, isClass })
  else if (parts.kind === 'bound') writeBound(unit, fn, parts)
  else writeFunction(unit, fn, parts)
}

function writeClosure(unit: Unit, about: Omit<FunctionPlan, 'late'>): void {
  const { fn } = about
  unit.claim(fn)
  unit.bytes.byte(tag.VALUE_CLOSURE)
  unit.hasCode = true
  const item = unit.item(fn, 'function', undefined)
  unit.within(item, () => {
    item.about = writeHeader(unit, about)
  })
}

function writeMember(
  unit: Unit,
  fn: AnyFunction,
  parts: FunctionParts & { readonly kind: 'member' },
): void {
  unit.bytes.byte(tag.VALUE_MEMBER)
  unit.ownerOf(fn, parts.owner)
  writePlace(unit, parts)
}

function writeBound(
  unit: Unit,
  fn: AnyFunction,
  { target, self, parameters }: FunctionParts & { readonly kind: 'bound' },
): void {
  const { bytes } = unit
  unit.claim(fn)
  bytes.byte(tag.VALUE_BOUND)
  const special = boundPlan(fn, target)
  unit.within(unit.item(fn, 'bound', special), () => {
    bytes.byte(special.flags)
    unit.value(target, new NamedStep('bound function'))
    unit.captured(self, new NamedStep('bound this'))
    bytes.varint(parameters.length)
    for (const [index, value] of parameters.entries()) {
      unit.captured(value, new NamedStep(`bound argument ${index + 1}`))
    }
  })
}

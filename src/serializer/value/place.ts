// The position in a message while it is written: what a unit has found and not written yet, and how
// it was reached. The paths of refusals, which end the writing, are derived from it.

import type { FunctionPlan } from '../function/writer.js'
import type { AnyFunction } from '../module/native.js'
import { NamedStep, type Refusal, type Step, stepText } from '../refusal.js'
import type { SpecialPlan } from './kind.js'

/** The kinds of contents of objects. */
export type ContentKind =
  /** A record, as far as can be seen. */
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
  /** An object that is complete when it is created. */
  | 'leaf'

/** An object whose content is written later, and where it was found. */
export interface QueueItem {
  readonly object: object
  readonly kind: ContentKind
  /** The object that contains it; undefined for the root of its unit. */
  readonly holder: QueueItem | undefined
  readonly step: Step
  /**
   * For a function, what to write of it; for a cell, its value (in a `CellValue`); for anything
   * else, its special parts.
   */
  about: FunctionPlan | CellValue | SpecialPlan | undefined
}

/** The value of a captured variable. */
export class CellValue {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** A step from an object that is being written, or the root of its unit. */
export interface Place {
  readonly holder: QueueItem | undefined
  readonly step: Step
  /** Where the unit itself was found; undefined for the main one. */
  readonly origin: Place | undefined
}

/** The path from the root of the message to a place. */
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

/** The function nearest to the root of the message, on the path to a place. */
export function outermostFunction(place: Place): QueueItem | undefined {
  let found: QueueItem | undefined
  for (let unit: Place | undefined = place; unit !== undefined; unit = unit.origin) {
    for (let holder = unit.holder; holder !== undefined; holder = holder.holder) {
      if (holder.kind === 'function' || holder.kind === 'bound') found = holder
    }
  }
  return found
}

/** A captured variable, and the property of its value that leads on. */
interface CaptureStep {
  readonly fn: AnyFunction
  readonly name: string
  readonly member: string | undefined
}

/** The captured variables on the path to a place, the nearest to it first. */
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

/** Ends the writing: a value cannot be sent. */
export class Stop extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** Starts the writing again, without a function that cannot be sent. */
export class Blame extends Error {
  readonly fn: object
  readonly refusal: Refusal

  constructor(fn: object, refusal: Refusal) {
    super(refusal.reason)
    this.fn = fn
    this.refusal = refusal
  }
}

/**
 * What to do with a part of the value that cannot be sent or read: fail, or write a short text
 * instead. The value itself is never replaced.
 */
export type Strictness = 'strict' | 'lenient'

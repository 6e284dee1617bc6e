// One trial: a value or a program from a seed, sent and compared with the original.

import { runInThisContext } from 'node:vm'
import { SerializeError } from '#src/base/errors.js'
import { differenceOf } from '#src/serializer/strict-walk.kit.js'
import { TwoSides } from '#src/serializer/two-sides.kit.js'
import { Random } from '../simulation/random.js'
import { makeProgram } from './program-maker.js'
import { makeValue } from './value-maker.js'

/** The outcome of a trial. */
export type Outcome =
  | { readonly kind: 'same' }
  /** Refused, with a reason for the user. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'finding'; readonly what: string; readonly about: string }

const MAX_OBJECTS = 12

/** A random value. A smaller `maxObjects` gives a simpler one. */
export function tryValue(seed: number, maxObjects: number = MAX_OBJECTS): Outcome {
  const value = makeValue(new Random(seed), maxObjects)
  const about = `value of seed ${seed} with at most ${maxObjects} objects`
  return judged(about, () => differenceOf(value, new TwoSides().send(value)))
}

/** A finding reduced to few objects. */
export function shrunkValue(seed: number, found: Outcome): Outcome {
  for (let maxObjects = 1; maxObjects < MAX_OBJECTS; maxObjects += 1) {
    const outcome = tryValue(seed, maxObjects)
    if (outcome.kind === 'finding') return outcome
  }
  return found
}

/** A random program; its function is called on both sides. */
export async function tryProgram(seed: number): Promise<Outcome> {
  const random = new Random(seed)
  const program = makeProgram(random)
  const file = fileOf(program, random.chance(0.5))
  let want: unknown
  try {
    want = await answerOf(made(file))
  } catch {
    // It is not a valid program.
    return { kind: 'same' }
  }
  let sent: () => unknown
  try {
    sent = new TwoSides().send(made(file))
  } catch (error) {
    return failed(file, error)
  }
  const got = await answerOf(sent)
  return judged(file, () => differenceOf(want, got))
}

/** As a CommonJS loader runs it: variables at the top belong to the file. */
function fileOf(program: string, isStrict: boolean): string {
  const directive = isStrict ? '"use strict";' : ''
  return `(function(exports,require,module,__filename,__dirname){${directive}${program}\n})`
}

function made(file: string): () => unknown {
  return (runInThisContext(file) as () => () => unknown)()
}

async function answerOf(fn: () => unknown): Promise<unknown> {
  try {
    return await fn()
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : error
  }
}

function judged(about: string, compare: () => string | undefined): Outcome {
  try {
    const what = compare()
    return what === undefined ? { kind: 'same' } : { kind: 'finding', what, about }
  } catch (error) {
    return failed(about, error)
  }
}

function failed(about: string, error: unknown): Outcome {
  if (error instanceof SerializeError && !error.message.includes('Error: ')) {
    return { kind: 'refused', reason: error.message }
  }
  return { kind: 'finding', what: String(error), about }
}

// Random programs: mostly short and successful ones.

import type { ResultWish } from './future.js'
import type { Program, ProgramEnd } from './program.js'
import type { Random } from './random.js'

/** The kinds of programs in a world. */
export interface Taste {
  readonly fns: readonly string[]
  /** Their durations, in milliseconds. */
  readonly minMs: number
  readonly maxMs: number
  /** How likely one of them takes much longer than others of its function. */
  readonly unevenness: number
  /** Clients submit more than usual. */
  readonly isMany: boolean
  readonly maxPad: number
  /** How likely one does not simply return. */
  readonly trouble: number
  readonly nesting: number
}

const PLAIN = {
  blocks: false,
  end: 'returns',
  failsFirst: 0,
  abortMs: -1,
  pad: 0,
  children: [],
  oneByOne: false,
  timeoutMs: 0,
  retries: 0,
  deathLimit: 0,
  priority: 0,
} as const

/** More often than a task is ever started. */
const ALWAYS = 99

const MAX_LONG_MS = 120_000

/** Programs of one function with the same options, as a map has them. */
export function makeRun(random: Random, taste: Taste, name: string): readonly Program[] {
  const count = random.chance(0.1) ? random.whole(10, 40) : random.whole(2, 6)
  const first = makeProgram(random, taste, `${name}r0`, 0)
  const isLimited = first.timeoutMs > 0
  // Of many, each takes only a moment: a slice of a run contains several.
  const ms = isLimited || count < 10 ? first.ms : Math.min(first.ms, random.spread(0.01, 5))
  return Array.from({ length: count }, (_, index) => {
    const isOdd = index > 0 && random.chance(0.1)
    const program = {
      ...first,
      ms,
      name: `${name}r${index}`,
      end: isOdd ? first.end : 'returns',
    } as const
    const failsFirst = isOdd || index === 0 ? first.failsFirst : 0
    if (isLimited) return { ...program, failsFirst }
    const isLong = isOdd && random.chance(0.2)
    return { ...program, failsFirst, ms: isLong ? longer(ms) : ms * random.between(0.5, 1.5) }
  })
}

/** A much longer one, but not by hours: heartbeats would take up all events of a run. */
function longer(ms: number): number {
  return Math.max(ms, Math.min(ms * 100, MAX_LONG_MS))
}

/** The usual treatment of a result. */
export const WANTED: ResultWish = { type: 'now', afterMs: 0 }

/** A program. `depth`: how deep it may nest. */
export function makeProgram(random: Random, taste: Taste, name: string, depth: number): Program {
  const fn = random.pick(taste.fns)
  const hasChildren = depth > 0 && random.chance(taste.nesting)
  const program: Program = {
    ...PLAIN,
    name,
    fn,
    ms: durationOf(random, taste, fn),
    blocks: random.chance(0.5),
    abortMs: random.chance(0.2) ? random.between(0, 500) : -1,
    pad: random.chance(0.3) ? random.int(taste.maxPad + 1) : 0,
    priority: random.chance(0.1) ? random.whole(1, 3) : 0,
    deathLimit: random.chance(0.1) ? random.whole(1, 3) : 0,
    ...(hasChildren ? makeChildren(random, taste, name, depth) : {}),
  }
  return random.chance(taste.trouble) ? withTrouble(random, program) : program
}

/** The treatment of a large result. */
export function makeWish(random: Random): ResultWish {
  if (random.chance(0.7)) return WANTED
  return { type: random.chance(0.5) ? 'later' : 'drop', afterMs: random.spread(0.1, 3_000) }
}

/** A function has one duration, mostly; some have any. */
function durationOf(random: Random, { minMs, maxMs, unevenness }: Taste, fn: string): number {
  if (random.chance(unevenness)) return random.spread(5_000, 60_000)
  if (fn.startsWith('any')) return random.spread(minMs, maxMs)
  const own = random.fork(`duration of ${fn}`)
  return own.spread(minMs, maxMs) * random.between(0.9, 1.1)
}

function makeChildren(
  random: Random,
  taste: Taste,
  name: string,
  depth: number,
): Pick<Program, 'children' | 'oneByOne' | 'blocks'> {
  const count = random.whole(1, 4)
  const children = Array.from({ length: count }, (_, index) => {
    return makeProgram(random, taste, `${name}.${index}`, depth - 1)
  })
  return { children, oneByOne: random.chance(0.3), blocks: false }
}

function withTrouble(random: Random, program: Program): Program {
  const kind = random.weighted({ throws: 3, exits: 2, crashes: 2, retries: 3, times: 3, retry: 2 })
  switch (kind) {
    case 'retries': {
      const failsFirst = random.whole(1, 2)
      return { ...program, failsFirst, retries: failsFirst + random.int(2) }
    }
    case 'retry':
      return { ...program, failsFirst: ALWAYS, retries: 1 }
    case 'times':
      return withLimit(random, program)
    default:
      return { ...program, end: kind satisfies ProgramEnd }
  }
}

/** A time limit that is clearly kept, or clearly exceeded. */
function withLimit(random: Random, program: Program): Program {
  if (random.chance(0.5)) return { ...program, timeoutMs: Math.ceil(program.ms * 2 + 200) }
  const ms = random.spread(20_000, 100_000)
  return { ...program, ms, timeoutMs: random.whole(10, 500) }
}

// Why a future may end without a value. Everything else is a violation.

import { timeLimitOf } from '#src/core/worker/task/task.js'
import type { FutureOutcome } from './future.js'
import type { Journal } from './journal.js'
import { errorOf, withChildren, type Program } from './program.js'

/** A task that may be the reason. */
export interface Suspect {
  readonly program: Program
  readonly isCancelled: boolean
  /** Undefined: its future has not ended, or was dropped. */
  readonly outcome: FutureOutcome | undefined
}

/** All that may explain an end. */
export interface Circumstances {
  readonly journal: Journal
  /** The task first, then what it needs. */
  readonly suspects: readonly Suspect[]
  readonly hasCleared: boolean
  readonly hasClosed: boolean
  /** How long the client has heard nothing. */
  readonly silenceMs: number
  readonly timeoutMs: number
  readonly limits: Limits
}

/** What a world may do to tasks by its very make. */
export interface Limits {
  /** Tasks may keep a thread for as long as a client beside them would wait for a word. */
  readonly mayBeDeaf: boolean
  /** No task may run for longer on its worker, in milliseconds; 0 = for ever. */
  readonly taskTimeoutMs: number
}

/** So many processors may end because of what a task has submitted, or with it by chance. */
const MAX_UNATTRIBUTED_DEATHS = 3
const DEFAULT_DEATH_LIMIT = 4
/** A task, one that it needs, and one that this one needs. */
const MIN_CHAIN = 3
/** A task that is that close to its time limit may miss it. */
const TIME_SLACK_MS = 50

/** Why it ended so; undefined: nothing explains it. */
export function explain(outcome: FutureOutcome, world: Circumstances): string | undefined {
  if (outcome.type === 'end') return explainEnd(outcome.reason, world)
  const { text } = outcome
  const programs = world.suspects.flatMap(({ program }) => [...withChildren(program)])
  if (text.startsWith('E:')) {
    const thrower = programs.find((program) => errorOf(program) === text)
    return thrower !== undefined && mayThrow(thrower) ? 'it throws' : undefined
  }
  if (text.startsWith('C:')) return explainChild(text, programs, world)
  if (text.startsWith('!TaskTimeoutError')) {
    return programs.some((program) => mayTimeOut(program, world)) ? 'its time was over' : undefined
  }
  if (text.startsWith('!ProcessorDiedError')) {
    return programs.some((program) => hasDied(program, world.journal)) ? 'it died' : undefined
  }
  return undefined
}

function explainEnd(
  reason: Extract<FutureOutcome, { type: 'end' }>['reason'],
  world: Circumstances,
): string | undefined {
  switch (reason) {
    case 'cancelled':
      return world.suspects.some(({ isCancelled }) => isCancelled)
        ? 'somebody cancelled'
        : undefined
    case 'cleared':
      return world.hasCleared ? 'somebody cleared' : undefined
    case 'closed':
      return world.hasClosed ? 'somebody closed' : undefined
    case 'missingObject':
      if (world.hasCleared) return 'somebody cleared what it needs'
      return hasLostInput(world) ? 'what it needs was made of what has gone' : undefined
    case 'disconnected':
      return world.silenceMs >= world.timeoutMs - 1 ? 'the scheduler was silent' : undefined
    case 'workerDied':
      return hasWornOut(world) ? 'it lost too many workers' : undefined
    case 'noWorker':
    case 'shutDown':
    case 'dropped':
    case 'notFound':
    case 'malformed':
      return undefined
    default:
      return undefined
  }
}

/**
 * A result that was only in the scheduler is lost with it, and is made again; but not if what it
 * was made of is gone from its client, too.
 */
function hasLostInput({ suspects, journal }: Circumstances): boolean {
  const needed = suspects.slice(1)
  const isOneDropped = needed.some(({ outcome }) => outcome === undefined)
  return journal.faults.length > 0 && (suspects.length >= MIN_CHAIN || isOneDropped)
}

function hasWornOut({ suspects, journal }: Circumstances): boolean {
  return suspects.some(({ program }) => {
    const limit = program.deathLimit === 0 ? DEFAULT_DEATH_LIMIT : program.deathLimit
    return journal.workerLosses >= limit
  })
}

function mayThrow({ end, failsFirst, retries }: Program): boolean {
  return end === 'throws' || failsFirst > retries
}

function mayTimeOut(program: Program, { journal, limits }: Circumstances): boolean {
  const { ms, children } = program
  const { timeoutMs, isWorkersLimit } = timeLimitOf(program.timeoutMs, limits.taskTimeoutMs)
  if (timeoutMs === 0) return false
  // What a program asks for is far from what it takes; that of its worker may be near.
  const slackMs = isWorkersLimit ? timeoutMs / 2 : TIME_SLACK_MS
  return children.length > 0 || journal.hasFrozen || ms > timeoutMs - slackMs
}

/** Whether a processor ended with the task in it, and it may be blamed for that. */
function hasDied(program: Program, journal: Journal): boolean {
  let byChance = 0
  for (const { lastRun, had, begun, cause } of journal.deaths) {
    const id = [...had].find((taskId) => journal.nameOf(taskId) === program.name)
    if (id === undefined) continue
    byChance += 1
    if (cause === 'told' || lastRun === 'nothing' || lastRun === 'retired') continue
    const isBlamed =
      lastRun === 'unknown' ? begun.has(id) || had.size === 1 : lastRun.taskIds.includes(id)
    if (isBlamed) return true
  }
  return byChance >= MAX_UNATTRIBUTED_DEATHS
}

/** A parent threw because a child has not returned. */
function explainChild(
  text: string,
  programs: readonly Program[],
  world: Circumstances,
): string | undefined {
  const match = /^C:(.*?)<(.*?):(.*)>$/.exec(text)
  const child = programs.find(({ name }) => name === match?.[2])
  const childText = match?.[3]
  if (child === undefined || childText === undefined) return undefined
  const suspects = [{ program: child, isCancelled: false, outcome: undefined }]
  if (!childText.startsWith('end ')) {
    const outcome = { type: 'error', text: childText, failedTaskId: undefined } as const
    return explain(outcome, { ...world, suspects })
  }
  const reason = childText.slice('end '.length)
  if (reason === 'workerDied') return hasWornOut({ ...world, suspects }) ? 'worn out' : undefined
  // Its client heard nothing for too long; the parent goes on for nobody, or is told.
  if (reason === 'disconnected' && world.limits.mayBeDeaf) return 'its client could not listen'
  const isExplained = reason === 'disconnected' || reason === 'dropped'
  return isExplained && world.journal.faults.length > 0 ? 'its client was cut off' : undefined
}

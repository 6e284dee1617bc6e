// Reasons for which a future may end without a value. Everything else is a violation.

import { timeLimitOf } from '#src/core/worker/task/task.js'
import type { FutureOutcome } from './future.js'
import type { Journal } from './journal.js'
import { errorOf, withChildren, type Program } from './program.js'

/** A task that may be the reason. */
export interface Suspect {
  readonly program: Program
  readonly isCancelled: boolean
  /** The graph of which it is a target. */
  readonly graph: string | undefined
  /** Undefined: its future has not settled, or was dropped. */
  readonly outcome: FutureOutcome | undefined
}

/** Everything that may explain an outcome. */
export interface Circumstances {
  readonly journal: Journal
  /** The task first, then its inputs. */
  readonly suspects: readonly Suspect[]
  readonly hasCleared: boolean
  readonly hasClosed: boolean
  /** It needs an object of another client, which may not have sent it again. */
  readonly mayLackShared: boolean
  /** How long the client has received nothing. */
  readonly silenceMs: number
  readonly timeoutMs: number
  readonly limits: Limits
}

/** Effects on tasks of a world's configuration. */
export interface Limits {
  /**
   * Whether tasks may block a thread for as long as a client in the same process waits for
   * messages.
   */
  readonly mayBeDeaf: boolean
  /** The time limit of all tasks of a worker, in milliseconds; 0 = none. */
  readonly taskTimeoutMs: number
}

/** The number of processors that may end because of a task's children, or with them by chance. */
const MAX_UNATTRIBUTED_DEATHS = 3
const DEFAULT_DEATH_LIMIT = 4
/** A task, one that it needs, and one that this one needs. */
const MIN_CHAIN = 3
/** A task that is this close to its time limit may exceed it. */
const TIME_SLACK_MS = 50

/** The reason of the outcome; undefined: there is no explanation. */
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
  if (text.startsWith('!MissingObject')) {
    return world.mayLackShared ? 'whoever had it was gone' : undefined
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
 * A result that was only in the scheduler is lost with it, and is computed again, unless its inputs
 * are lost from its client, too: those of a target go with its graph (docs/reliability.md#limits).
 */
function hasLostInput({ suspects, journal }: Circumstances): boolean {
  const needed = suspects.slice(1)
  const isOneDropped = needed.some(({ outcome }) => outcome === undefined)
  const isOfGraph = needed.some(({ graph }) => graph !== undefined)
  const isGone = suspects.length >= MIN_CHAIN || isOneDropped || isOfGraph
  return journal.faults.length > 0 && isGone
}

function hasWornOut({ suspects, journal }: Circumstances): boolean {
  // Of results, and of what a running task needs.
  const losses = journal.faults.filter(({ what }) => what.includes('loseServer')).length
  return suspects.some(({ program }) => {
    const limit = program.deathLimit === 0 ? DEFAULT_DEATH_LIMIT : program.deathLimit
    return journal.workerLosses + losses >= limit
  })
}

function mayThrow({ end, failsFirst, retries }: Program): boolean {
  return end === 'throws' || failsFirst > retries
}

function mayTimeOut(program: Program, { journal, limits }: Circumstances): boolean {
  const { ms, children } = program
  const { timeoutMs, isWorkersLimit } = timeLimitOf(program.timeoutMs, limits.taskTimeoutMs)
  if (timeoutMs === 0) return false
  // The limits of a program are far from its duration; that of its worker may be close.
  const slackMs = isWorkersLimit ? timeoutMs / 2 : TIME_SLACK_MS
  return children.length > 0 || journal.hasFrozen || ms > timeoutMs - slackMs
}

/** Whether a processor ended with the task in it, and may have ended because of it. */
function hasDied(program: Program, journal: Journal): boolean {
  let byChance = 0
  for (const { lastRun, had, begun, cause } of journal.deaths) {
    const id = [...had].find((taskId) => journal.nameOf(taskId) === program.name)
    if (id === undefined) continue
    byChance += 1
    if (cause === 'told' || lastRun === 'nothing') continue
    if (lastRun === 'retired' || lastRun === 'unusable') continue
    if (typeof lastRun === 'object' ? lastRun.taskIds.includes(id) : begun.has(id)) return true
    if (lastRun === 'unknown' && had.size === 1) return true
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
  const suspects = [{ program: child, isCancelled: false, graph: undefined, outcome: undefined }]
  if (!childText.startsWith('end ')) {
    const outcome = { type: 'error', text: childText, failedTaskId: undefined } as const
    return explain(outcome, { ...world, suspects })
  }
  const reason = childText.slice('end '.length)
  if (reason === 'workerDied') return hasWornOut({ ...world, suspects }) ? 'worn out' : undefined
  // Its client received nothing for too long; the parent continues without a client, or is
  // notified.
  if (reason === 'disconnected' && world.limits.mayBeDeaf) return 'its client could not listen'
  const isExplained = reason === 'disconnected' || reason === 'dropped'
  return isExplained && world.journal.faults.length > 0 ? 'its client was cut off' : undefined
}

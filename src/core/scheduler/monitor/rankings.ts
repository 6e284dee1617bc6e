// The largest objects, and the tasks that have waited longest, for operators: found by a look at
// all objects or unfinished tasks, a limited number in each turn, and only on request.
// docs/protocol.md#operators

import { identity, type Identity } from '../../../base/ids.js'
import type { ObjectPlace, ObjectStory, TaskStory } from '../../../wire/message.js'
import { fileOf, spokenName, storedContentOf } from '../../../wire/object-content.js'
import type { ObjectEntry, TaskEntry } from '../entries.js'
import { STEP_COST, type Worklist } from '../graph/work.js'
import type { SchedulerState } from '../state.js'
import type { WaitingWhy } from './waiting.js'
import { taskStory } from './story.js'

/** Maximum number of workers that are named for each object. */
const MAX_HOLDERS = 20
const MAX_NAME_BYTES = 1_000
const MAX_COUNT = 2 ** 32 - 1
const NO_CLIENT = identity('')

/** What is ranked. */
interface Candidates<Entry> {
  readonly all: Iterator<Entry>
  /** Higher ranks come first. Undefined: it does not count, or not any more. */
  readonly rankOf: (entry: Entry) => number | undefined
  /** Whether it has not been deleted since. */
  readonly has: (entry: Entry) => boolean
}

/** Looks for the entries that come first. */
class Ranking<Entry> implements Worklist {
  readonly #state: SchedulerState
  readonly #candidates: Candidates<Entry>
  readonly #most: number
  readonly #onDone: (first: readonly Entry[]) => void
  /** The first ones so far, and some that did not come before these. */
  #found: { readonly entry: Entry; readonly rank: number }[] = []
  /** Others of this rank or a lower one are not among the first. */
  #least = -Infinity

  /** `onDone` gets at most `most` entries, in order. */
  constructor(
    state: SchedulerState,
    candidates: Candidates<Entry>,
    most: number,
    onDone: (first: readonly Entry[]) => void,
  ) {
    this.#state = state
    this.#candidates = candidates
    this.#most = most
    this.#onDone = onDone
  }

  advance(): boolean {
    const { graphWork } = this.#state
    const { all, rankOf, has } = this.#candidates
    for (;;) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      const next = all.next()
      if (next.done === true) break
      const rank = rankOf(next.value)
      if (rank === undefined || rank <= this.#least) continue
      this.#found.push({ entry: next.value, rank })
      if (this.#found.length > 2 * this.#most) this.#trim()
    }
    this.#found = this.#found.flatMap(({ entry }) => {
      const rank = has(entry) ? rankOf(entry) : undefined
      return rank === undefined ? [] : [{ entry, rank }]
    })
    this.#trim()
    this.#onDone(this.#found.map(({ entry }) => entry))
    return true
  }

  #trim(): void {
    this.#found = this.#found.toSorted((a, b) => b.rank - a.rank).slice(0, this.#most)
    if (this.#found.length === this.#most) this.#least = this.#found.at(-1)?.rank ?? -Infinity
  }
}

/** Looks for the largest objects. `onDone` gets at most `most` stories, the largest first. */
export function largestObjects(
  state: SchedulerState,
  most: number,
  onDone: (stories: readonly ObjectStory[]) => void,
): Worklist {
  const { objects, turn } = state
  const candidates: Candidates<ObjectEntry> = {
    all: objects.values(),
    rankOf: ({ type, bytes }) => (type === 'refused' ? undefined : bytes),
    has: (entry) => objects.get(entry.id) === entry,
  }
  return new Ranking(state, candidates, most, (entries) =>
    onDone(entries.map((entry) => storyOf(entry, turn.now))),
  )
}

function storyOf(entry: ObjectEntry, now: number): ObjectStory {
  const { id, name, bytes, users, holders, createdAt } = entry
  const [owner] = users
  const server = entry.type === 'stored' ? storedContentOf(entry.chunks)?.address : undefined
  const some: Identity[] = []
  for (const worker of holders) {
    if (some.length === MAX_HOLDERS) break
    some.push(worker.identity)
  }
  return {
    objectId: id,
    name: spokenName(name, Math.min(name.byteLength, MAX_NAME_BYTES)),
    objectBytes: bytes,
    place: placeOf(entry),
    owner: owner?.identity ?? NO_CLIENT,
    users: Math.min(users.size, MAX_COUNT),
    holders: some,
    holderCount: Math.min(holders.size, MAX_COUNT),
    forMS: Math.max(0, now - createdAt),
    server: server ?? '',
  }
}

function placeOf({ type, chunks }: ObjectEntry): ObjectPlace {
  if (type === 'stored') return 'server'
  if (type !== 'file') return 'memory'
  return fileOf(chunks)?.path.startsWith('/dev/shm/') === true ? 'shm' : 'disk'
}

/**
 * Looks for the tasks that have waited longest. `onDone` gets at most `most` stories, the oldest
 * first; `needs` is all that they require.
 */
export function oldestWaiting(
  state: SchedulerState,
  most: number,
  onDone: (stories: readonly TaskStory[]) => void,
): Worklist {
  const { tasks } = state
  const candidates: Candidates<TaskEntry> = {
    all: tasks.values(),
    rankOf: ({ state: phase, changedAt }) => (phase === 'inactive' ? -changedAt : undefined),
    has: (task) => tasks.get(task.id) === task,
  }
  return new Ranking(state, candidates, most, (entries) => onDone(storiesOf(state, entries)))
}

function storiesOf(state: SchedulerState, entries: readonly TaskEntry[]): readonly TaskStory[] {
  const reasons = new Map<string, WaitingWhy>()
  return entries.map((task) => {
    const needs = task.requirement?.key ?? ''
    const key = `${task.runtime} ${needs}`
    const why = reasons.get(key) ?? state.waiting.reasonOf(task)
    reasons.set(key, why)
    return taskStory(state, task, { ...why, needs: why.needs || needs })
  })
}

// The largest objects, and the tasks that have waited longest, for operators: found by a look at
// all objects or unfinished tasks, a limited number in each turn, and only on request.
// docs/protocol.md#operators

import { identity, type Identity } from '../../../base/ids.js'
import type { ObjectPlace, ObjectStory, TaskStory } from '../../../wire/message.js'
import { fileOf, spokenName, storedContentOf } from '../../../wire/object-content.js'
import type { ObjectEntry, TaskEntry } from '../entries.js'
import { STEP_COST, type Worklist } from '../graph/work.js'
import type { SchedulerState } from '../state.js'
import type { InstantMs } from '../../../base/machine.js'
import type { WaitingWhy } from './waiting.js'
import { taskStory } from './story.js'

/** Maximum number of workers that are named for each object. */
const MAX_HOLDERS = 20
const MAX_NAME_BYTES = 1_000
const MAX_COUNT = 2 ** 32 - 1
const NO_CLIENT = identity('')

/** Looks for the largest objects. */
export class LargestObjects implements Worklist {
  readonly #state: SchedulerState
  readonly #most: number
  readonly #onDone: (stories: readonly ObjectStory[]) => void
  readonly #rest: Iterator<ObjectEntry>
  /** The largest ones so far, and some that were not larger than these. */
  #found: ObjectEntry[] = []
  /** Smaller ones are not among the largest. */
  #leastBytes = 0

  /** `onDone` gets at most `most` stories, the largest first. */
  constructor(
    state: SchedulerState,
    most: number,
    onDone: (stories: readonly ObjectStory[]) => void,
  ) {
    this.#state = state
    this.#most = most
    this.#onDone = onDone
    this.#rest = state.objects.values()
  }

  advance(): boolean {
    const { graphWork, objects } = this.#state
    for (;;) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      const next = this.#rest.next()
      if (next.done === true) break
      if (next.value.bytes < this.#leastBytes || next.value.type === 'refused') continue
      this.#found.push(next.value)
      if (this.#found.length > 2 * this.#most) this.#trim()
    }
    // Some may have been deleted since.
    this.#found = this.#found.filter((entry) => objects.get(entry.id) === entry)
    this.#trim()
    this.#onDone(this.#found.map((entry) => storyOf(entry, this.#state.turn.now)))
    return true
  }

  #trim(): void {
    this.#found = this.#found.toSorted((a, b) => b.bytes - a.bytes).slice(0, this.#most)
    if (this.#found.length === this.#most) this.#leastBytes = this.#found.at(-1)?.bytes ?? 0
  }
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

/** Looks for the tasks that have waited longest. */
export class OldestWaiting implements Worklist {
  readonly #state: SchedulerState
  readonly #most: number
  readonly #onDone: (stories: readonly TaskStory[]) => void
  readonly #rest: Iterator<TaskEntry>
  /** The oldest ones so far, and some that were not older than these. */
  #found: TaskEntry[] = []
  /** Those that were queued at this time or later are not among the oldest. */
  #before: InstantMs = Infinity

  /** `onDone` gets at most `most` stories, the oldest first; `needs` is all that they require. */
  constructor(
    state: SchedulerState,
    most: number,
    onDone: (stories: readonly TaskStory[]) => void,
  ) {
    this.#state = state
    this.#most = most
    this.#onDone = onDone
    this.#rest = state.tasks.values()
  }

  advance(): boolean {
    const { graphWork } = this.#state
    for (;;) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      const next = this.#rest.next()
      if (next.done === true) break
      const { state, changedAt } = next.value
      if (state !== 'inactive' || changedAt >= this.#before) continue
      this.#found.push(next.value)
      if (this.#found.length > 2 * this.#most) this.#trim()
    }
    this.#onDone(this.#stories())
    return true
  }

  #trim(): void {
    this.#found = this.#found.toSorted((a, b) => a.changedAt - b.changedAt).slice(0, this.#most)
    if (this.#found.length === this.#most) this.#before = this.#found.at(-1)?.changedAt ?? Infinity
  }

  #stories(): readonly TaskStory[] {
    const { tasks, waiting } = this.#state
    // Some may have been assigned since.
    const isWaiting = (task: TaskEntry): boolean => {
      return tasks.get(task.id) === task && task.state === 'inactive'
    }
    this.#found = this.#found.filter(isWaiting)
    this.#trim()
    const reasons = new Map<string, WaitingWhy>()
    return this.#found.map((task) => {
      const needs = task.requirement?.key ?? ''
      const key = `${task.runtime} ${needs}`
      const why = reasons.get(key) ?? waiting.reasonOf(task)
      reasons.set(key, why)
      return taskStory(this.#state, task, { ...why, needs: why.needs || needs })
    })
  }
}

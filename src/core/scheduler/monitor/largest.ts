// The largest objects, for operators: found by a look at all objects, a limited number in each
// turn, and only on request. docs/protocol.md#operators

import { identity, type Identity } from '../../../base/ids.js'
import type { ObjectPlace, ObjectStory } from '../../../wire/message.js'
import { fileOf, spokenName, storedContentOf } from '../../../wire/object-content.js'
import type { ObjectEntry } from '../entries.js'
import { STEP_COST, type Worklist } from '../graph/work.js'
import type { SchedulerState } from '../state.js'

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

// Why objects are not stored, for the peers that need them and for the log.
// docs/protocol.md#storage

import type { StorageOwner } from '../../../base/errors.js'
import { idToHex } from '../../../base/ids.js'
import type { InstantMs, Turn } from '../../../base/machine.js'
import { spokenName } from '../../../wire/object-content.js'
import { refusalChunk } from '../../../wire/storage-refusal.js'
import type { ClientEntry, ObjectEntry, ObjectUser } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import type { StorageRoom } from './room.js'

/** Maximum number of clients that are named. */
const MAX_OWNERS = 5

/** Minimum time between two lines in the log. */
const LOG_INTERVAL_MS = 10_000

/** The clients with the most storage in use, the largest first. One pass over all. */
export function largestOwners(clients: Iterable<ClientEntry>): readonly StorageOwner[] {
  const largest: ClientEntry[] = []
  for (const client of clients) {
    const least = largest.length < MAX_OWNERS ? 0 : (largest.at(-1)?.objectBytes ?? 0)
    if (client.objectBytes <= least) continue
    if (largest.length === MAX_OWNERS) largest.pop()
    largest.push(client)
    largest.sort((a, b) => b.objectBytes - a.objectBytes)
  }
  return largest.map(({ identity, info, objectBytes: bytes }) => {
    return { client: identity, name: info?.name ?? '', bytes }
  })
}

/** Writes the reasons. */
export class Refusals {
  readonly #turn: Turn<SchedulerAction>
  readonly #room: StorageRoom
  readonly #owners: () => readonly StorageOwner[]
  #count = 0
  #untold = 0
  #tellAt: InstantMs = -Infinity

  constructor(
    turn: Turn<SchedulerAction>,
    room: StorageRoom,
    owners: () => readonly StorageOwner[],
  ) {
    this.#turn = turn
    this.#room = room
    this.#owners = owners
  }

  /** How many objects were not stored, since the start. */
  get count(): number {
    return this.#count
  }

  /** The content of an object that was not stored; it would have had this many bytes. */
  chunk(user: ObjectUser, { id, name }: ObjectEntry, sizeBytes: number): Uint8Array {
    const { limitBytes, storedBytes, serverBytes, limits, diskError } = this.#room
    const { quotaBytes } = limits
    const quota = { limit: 'quota', limitBytes: quotaBytes, storedBytes: user.objectBytes } as const
    const reason =
      user.objectBytes + sizeBytes > quotaBytes
        ? { ...quota, serverBytes: 0 }
        : ({ limit: 'storage', limitBytes, storedBytes, serverBytes } as const)
    this.#count += 1
    this.#untold += 1
    const { now } = this.#turn
    if (now >= this.#tellAt) {
      const about = { client: user.identity, object: idToHex(id), count: this.#untold, sizeBytes }
      const why = reason.limit === 'quota' ? 'its client may not store more' : 'no room is left'
      this.#turn.log('warn', `an object was not stored: ${why}`, { ...about, ...reason })
      this.#tellAt = now + LOG_INTERVAL_MS
      this.#untold = 0
    }
    const owners = this.#owners()
    return refusalChunk({ name: spokenName(name), sizeBytes, ...reason, diskError, owners })
  }
}

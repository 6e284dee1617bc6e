// Why objects are not stored, for the peers that need them and for the log.
// docs/protocol.md#storage

import type { StorageOwner } from '../../../base/errors.js'
import { idToHex } from '../../../base/ids.js'
import type { InstantMs, Turn } from '../../../base/machine.js'
import { refusalChunk } from '../../../wire/storage-refusal.js'
import type { ClientEntry, ObjectEntry, ObjectUser } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import type { StorageRoom } from './room.js'

/** Maximum number of clients that are named. */
const MAX_OWNERS = 5

/** The clients are looked through at most this often. */
const OWNERS_AGE_MS = 1_000

/** Minimum time between two lines in the log. */
const LOG_INTERVAL_MS = 10_000

/** The clients whose objects take up most storage, the largest first. */
export function largestOwners(clients: Iterable<ClientEntry>): readonly StorageOwner[] {
  const all = [...clients].filter(({ objectBytes }) => objectBytes > 0)
  all.sort((a, b) => b.objectBytes - a.objectBytes)
  return all.slice(0, MAX_OWNERS).map(({ identity, info, objectBytes: bytes }) => {
    return { client: identity, name: info?.name ?? '', bytes }
  })
}

/** Writes the reasons. */
export class Refusals {
  readonly #turn: Turn<SchedulerAction>
  readonly #room: StorageRoom
  readonly #findOwners: () => readonly StorageOwner[]
  #owners: readonly StorageOwner[] = []
  #ownersAt: InstantMs = -Infinity
  #untold = 0
  #tellAt: InstantMs = -Infinity

  constructor(
    turn: Turn<SchedulerAction>,
    room: StorageRoom,
    owners: () => readonly StorageOwner[],
  ) {
    this.#turn = turn
    this.#room = room
    this.#findOwners = owners
  }

  /** The content of an object that was not stored; it would have had this many bytes. */
  chunk(user: ObjectUser, entry: ObjectEntry, sizeBytes: number): Uint8Array {
    const { limitBytes, storedBytes, limits, diskError } = this.#room
    const isQuota = user.objectBytes + sizeBytes - entry.bytes > limits.quotaBytes
    const limit = isQuota
      ? ({ limit: 'quota', limitBytes: limits.quotaBytes, storedBytes: user.objectBytes } as const)
      : ({ limit: 'storage', limitBytes, storedBytes } as const)
    this.#untold += 1
    const { now } = this.#turn
    if (now >= this.#ownersAt + OWNERS_AGE_MS) {
      this.#owners = this.#findOwners()
      this.#ownersAt = now
    }
    if (now >= this.#tellAt) {
      const about = { client: user.identity, object: idToHex(entry.id), count: this.#untold }
      const text = 'an object was not stored: the object storage is full'
      this.#turn.log('warn', text, { ...about, sizeBytes, ...limit })
      this.#tellAt = now + LOG_INTERVAL_MS
      this.#untold = 0
    }
    return refusalChunk({ sizeBytes, ...limit, diskError, owners: this.#owners })
  }
}

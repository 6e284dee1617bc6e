// Keeps one file descriptor free for whoever comes next. When there is none left, connections are
// closed that say nothing: first those without a handshake, then those that have not sent a
// message, then, for a peer, monitors. A peer that has spoken is never closed.
//
// It has to look ahead: at the limit libuv accepts connections and closes them at once, without a
// word to Node, and nobody could tell who is worth a descriptor. Below the limit each newcomer has
// a moment to say who it is.

import { closeSync, openSync } from 'node:fs'
import { codeOf } from './address.js'
import { CROWDED } from './bounded-log.js'

/** What a connection has shown so far, the least worthy first. */
const RANKS = ['unknown', 'mute', 'monitor'] as const

/**
 * `unknown`: there was no handshake yet. `mute`: there was, and no message. `monitor`: it listens
 * to what is published, as do others.
 */
export type DescriptorRank = (typeof RANKS)[number]

/** A connection, as far as it matters here. */
export interface Closable {
  close(reason: string): void
}

/** How often is looked whether something else has taken the last descriptor. */
const INTERVAL_MS = 500

/** The connections of one process that may be closed, whichever socket they came by. */
export class DescriptorRoom {
  readonly #hasRoom: () => boolean
  readonly #ranks = new Map<Closable, DescriptorRank>()
  /** The same, the oldest first. */
  readonly #byRank: Readonly<Record<DescriptorRank, Set<Closable>>> = {
    unknown: new Set(),
    mute: new Set(),
    monitor: new Set(),
  }
  #timer: NodeJS.Timeout | undefined

  /** `hasRoom` tells whether the process can have another descriptor. */
  constructor(hasRoom: () => boolean = canOpenFile) {
    this.#hasRoom = hasRoom
  }

  /** A connection was accepted. It is not closed itself before it had a moment to speak. */
  onAccepted(connection: Closable): void {
    this.#makeRoom('mute')
    this.#add(connection, 'unknown')
    this.#timer ??= setInterval(() => this.#look(), INTERVAL_MS).unref()
  }

  /** The handshake with one that will send messages is done. */
  onPeer(connection: Closable): void {
    this.onSpoken(connection)
    this.#makeRoom('monitor')
    this.#add(connection, 'mute')
  }

  /** The handshake with one that will only listen is done. It makes nobody else of its kind go. */
  onMonitor(connection: Closable): void {
    this.onSpoken(connection)
    this.#makeRoom('mute')
    if (this.#hasRoom()) this.#add(connection, 'monitor')
    else connection.close(CROWDED)
  }

  /** It has sent a message, or is closed: it is not to be closed here. */
  onSpoken(connection: Closable): void {
    const rank = this.#ranks.get(connection)
    if (rank === undefined) return
    this.#ranks.delete(connection)
    this.#byRank[rank].delete(connection)
  }

  #add(connection: Closable, rank: DescriptorRank): void {
    this.#ranks.set(connection, rank)
    this.#byRank[rank].add(connection)
  }

  #look(): void {
    this.#makeRoom('monitor')
    if (this.#ranks.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #makeRoom(last: DescriptorRank): void {
    for (const rank of RANKS.slice(0, RANKS.indexOf(last) + 1)) {
      for (const connection of this.#byRank[rank]) {
        if (this.#hasRoom()) return
        this.onSpoken(connection)
        connection.close(CROWDED)
      }
    }
  }
}

/** Where there is no such device, nothing is known about descriptors either. */
function canOpenFile(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    const code = codeOf(error)
    return code !== 'EMFILE' && code !== 'ENFILE'
  }
}

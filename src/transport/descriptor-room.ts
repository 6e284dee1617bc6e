// Keeps one file descriptor free for the next connection. When none is left, connections that have
// shown the least activity are closed: first those without a handshake, then those that have not
// sent a message, then, to admit a peer, monitors. A peer that has sent a message is never closed.
//
// This must happen ahead of time: at the limit, libuv accepts connections and closes them
// immediately without notifying Node, so there would be no choice of which to keep. Below the
// limit, each new connection has a moment to identify itself.

import { closeSync, openSync } from 'node:fs'
import { codeOf } from './address.js'
import { CROWDED } from './bounded-log.js'

/** What a connection has shown so far, the first to be closed first. */
const RANKS = ['unknown', 'mute', 'monitor'] as const

/**
 * `unknown`: no handshake yet. `mute`: a handshake, but no message. `monitor`: it only receives
 * what is published, as others do.
 */
type DescriptorRank = (typeof RANKS)[number]

/** The part of a connection that is needed here. */
export interface Closable {
  close(reason: string): void
}

/** How often to check whether something else has taken the last descriptor. */
const INTERVAL_MS = 500

/** The connections of one process that may be closed, whichever socket accepted them. */
export class DescriptorRoom {
  readonly #hasRoom: () => boolean
  readonly #ranks = new Map<Closable, DescriptorRank>()
  /** The same, oldest first. */
  readonly #byRank: Readonly<Record<DescriptorRank, Set<Closable>>> = {
    unknown: new Set(),
    mute: new Set(),
    monitor: new Set(),
  }
  #timer: NodeJS.Timeout | undefined

  /** `hasRoom` returns whether the process can open another descriptor. */
  constructor(hasRoom: () => boolean = canOpenFile) {
    this.#hasRoom = hasRoom
  }

  /**
   * A connection was accepted. It is not itself closed before it had a moment to send something.
   */
  onAccepted(connection: Closable): void {
    this.#makeRoom('mute')
    this.#add(connection, 'unknown')
    this.#timer ??= setInterval(() => this.#look(), INTERVAL_MS).unref()
  }

  /** The handshake with a peer that will send messages is done. */
  onPeer(connection: Closable): void {
    this.onSpoken(connection)
    this.#makeRoom('monitor')
    this.#add(connection, 'mute')
  }

  /** The handshake with a receive-only peer is done. It does not displace others of its kind. */
  onMonitor(connection: Closable): void {
    this.onSpoken(connection)
    this.#makeRoom('mute')
    if (this.#hasRoom()) this.#add(connection, 'monitor')
    else connection.close(CROWDED)
  }

  /** The connection has sent a message or is closed: it is not to be closed here. */
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

/** Without such a device, nothing can be learned about descriptors. */
function canOpenFile(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    const code = codeOf(error)
    return code !== 'EMFILE' && code !== 'ENFILE'
  }
}

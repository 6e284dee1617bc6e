// The addresses of peers, for the log: a peer's name does not say on which machine it runs.

import type { Identity } from '../base/ids.js'
import type { LogFields } from '../base/logger.js'

/** How many disconnected peers are remembered: log lines about them may follow. */
const MAX_GONE = 1_000

/** The fields of log lines that name a peer. */
const PEER_FIELDS = ['peer', 'client', 'worker'] as const

/** The addresses of all peers, and of those that disconnected recently. */
export class PeerPlaces {
  readonly #present = new Map<string, string>()
  /** Oldest first. */
  readonly #gone = new Map<string, string>()

  /** A peer has connected from `remote`. */
  onConnected(peer: Identity, remote: string): void {
    this.#gone.delete(peer)
    this.#present.set(peer, remote)
  }

  /** A peer has disconnected. */
  onDisconnected(peer: Identity): void {
    const remote = this.#present.get(peer)
    if (remote === undefined) return
    this.#present.delete(peer)
    this.#gone.set(peer, remote)
    for (const [oldest] of this.#gone) {
      if (this.#gone.size <= MAX_GONE) break
      this.#gone.delete(oldest)
    }
  }

  /** The IP address of a connected peer; empty if it has none. */
  ipOf(peer: Identity): string {
    const [, ip = ''] =
      /^\[?(?:::ffff:)?([\da-f.:]+)\]?:\d+$/.exec(this.#present.get(peer) ?? '') ?? []
    return ip
  }

  /** Returns `fields` and, if they name exactly one peer, its address as `remote`. */
  addTo(fields: LogFields): LogFields {
    const [name, another] = PEER_FIELDS.filter((field) => fields[field] !== undefined)
    if (name === undefined || another !== undefined) return fields
    const peer = String(fields[name])
    const remote = this.#present.get(peer) ?? this.#gone.get(peer)
    return remote === undefined ? fields : { ...fields, remote }
  }
}

// Where peers are, for the log: a name says nothing to somebody who looks for a machine.

import type { Identity } from '../base/ids.js'
import type { LogFields } from '../base/logger.js'

/** Of those that have gone so many are remembered: what becomes of them is told later. */
const MAX_GONE = 1_000

/** The fields of log lines that name a peer. */
const PEER_FIELDS = ['peer', 'client', 'worker'] as const

/** The addresses of all peers, and of those that have gone lately. */
export class PeerPlaces {
  readonly #present = new Map<string, string>()
  /** The one that went first comes first. */
  readonly #gone = new Map<string, string>()

  /** A peer is at `remote`. */
  onConnected(peer: Identity, remote: string): void {
    this.#gone.delete(peer)
    this.#present.set(peer, remote)
  }

  /** It has gone. */
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

  /** `fields` and, if they name one peer, its address as `remote`. */
  addTo(fields: LogFields): LogFields {
    const [name, another] = PEER_FIELDS.filter((field) => fields[field] !== undefined)
    if (name === undefined || another !== undefined) return fields
    const peer = String(fields[name])
    const remote = this.#present.get(peer) ?? this.#gone.get(peer)
    return remote === undefined ? fields : { ...fields, remote }
  }
}

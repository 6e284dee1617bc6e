// Maps that would submit more if there were room, and those that have to know when their client is
// closed.

/** Somebody who would submit more if there were room. */
export interface Feeder {
  /** There is room now. May be called when there is none any more. */
  feed(): void
  /** The client was closed. */
  onClosed(): void
  /** The client was cleared: what was submitted is cancelled. */
  onCleared(): void
}

/** The feeders of one connection. */
export class Feeders {
  readonly #all = new Set<Feeder>()
  /** Those for which there was no room. */
  readonly #starved = new Set<Feeder>()

  /** Whether some wait for room. */
  get areStarved(): boolean {
    return this.#starved.size > 0
  }

  /** It is told when the client is closed, until `detach`. */
  attach(feeder: Feeder): void {
    this.#all.add(feeder)
  }

  /** See `attach`. */
  detach(feeder: Feeder): void {
    this.#all.delete(feeder)
    this.#starved.delete(feeder)
  }

  /** It is fed once there is room. */
  awaitRoom(feeder: Feeder): void {
    this.#starved.add(feeder)
  }

  /** There is room. */
  feed(): void {
    // A copy: who gets too little waits again.
    const feeders = [...this.#starved]
    this.#starved.clear()
    for (const feeder of feeders) feeder.feed()
  }

  /** The client was closed. */
  close(): void {
    for (const feeder of this.#all) feeder.onClosed()
  }

  /** The client was cleared. */
  clear(): void {
    for (const feeder of this.#all) feeder.onCleared()
  }
}

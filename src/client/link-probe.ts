// Whether bytes still leave: a heartbeat can be stuck behind gigabytes, and as long as they move,
// the scheduler lives.

/** What is asked. */
export interface ProbedSocket {
  readonly queuedBytes: number
}

/** Watches what waits in one socket. */
export class LinkProbe {
  readonly #socket: ProbedSocket
  #lastQueuedBytes = 0
  #hasDrained = false

  constructor(socket: ProbedSocket) {
    this.#socket = socket
  }

  /** The socket has room again. */
  onDrain(): void {
    this.#hasDrained = true
  }

  /** Whether anything has left since the last call. */
  hasMoved(): boolean {
    const { queuedBytes } = this.#socket
    const hasMoved = this.#hasDrained || queuedBytes < this.#lastQueuedBytes
    this.#lastQueuedBytes = queuedBytes
    this.#hasDrained = false
    return hasMoved
  }
}

// How much of what tasks print may be on its way: so much for each client, whatever else waits in
// the same queue. What a reader is too slow for is dropped and counted, and the count goes with the
// next that passes.

import { NO_BYTES } from '../../base/bytes.js'
import type { Identity } from '../../base/ids.js'
import { encodeFrame, type TaskOutput } from '../../wire/message.js'
import type { OutgoingFrame } from '../../transport/options.js'

/** So much of the output for one client waits at most, in bytes. */
export const MAX_OUTPUT_BYTES: number = 4 * 1024 ** 2

/** The counts of so many clients are remembered at most. */
const MAX_CLIENTS = 10_000

/** The queue behind a gate. */
export interface OutputQueue {
  /** Puts the output for a client into it. */
  send(client: Identity, frame: OutgoingFrame): void
  /** How much waits in it, with whatever else there is, in bytes. */
  queuedBytes(client: Identity): number
}

interface Count {
  /** No more than this of the output waits in the queue. */
  waiting: number
  dropped: number
}

/** Lets output pass while there is room for it. */
export class OutputGate {
  readonly #queue: OutputQueue
  readonly #counts = new Map<Identity, Count>()

  constructor(queue: OutputQueue) {
    this.#queue = queue
  }

  /** Output for its client: passed on, or dropped. That a task has ended always passes. */
  pass(output: TaskOutput): void {
    const { client, content, isLast } = output
    const count = this.#countOf(client)
    count.waiting = Math.min(count.waiting, this.#queue.queuedBytes(client))
    const hasRoom = count.waiting + content.byteLength <= MAX_OUTPUT_BYTES
    if (!hasRoom && !isLast) return this.drop(output)
    const passed = hasRoom ? output : { ...output, bytes: undefined, content: NO_BYTES }
    if (!hasRoom) count.dropped += content.byteLength
    const droppedBytes = output.droppedBytes + count.dropped
    const isSame = passed === output && count.dropped === 0
    const message = isSame ? output : { ...passed, bytes: undefined, droppedBytes }
    count.dropped = 0
    count.waiting += passed.content.byteLength
    this.#queue.send(client, encodeFrame(message))
  }

  /** Output that cannot be passed on: its size is told with the next that can. */
  drop({ client, content, droppedBytes }: TaskOutput): void {
    this.#countOf(client).dropped += content.byteLength + droppedBytes
  }

  /** A client has gone. */
  forget(client: Identity): void {
    this.#counts.delete(client)
  }

  #countOf(client: Identity): Count {
    let count = this.#counts.get(client)
    if (count === undefined) {
      if (this.#counts.size >= MAX_CLIENTS) this.#counts.clear()
      count = { waiting: 0, dropped: 0 }
      this.#counts.set(client, count)
    }
    return count
  }
}

// Limits how much task output may be in flight, for each client separately, whatever else is in the
// same queue. Output for which a reader is too slow is dropped and counted; the count is sent with
// the next output that passes.

import { NO_BYTES } from '../../base/bytes.js'
import type { Identity } from '../../base/ids.js'
import { encodeFrame, type TaskOutput } from '../../wire/message.js'
import type { OutgoingFrame } from '../../transport/options.js'

/** The most output queued for one client, in bytes. */
export const MAX_OUTPUT_BYTES: number = 4 * 1024 ** 2

/** The most clients for which counts are kept. */
const MAX_CLIENTS = 10_000

/** The queue behind a gate. */
interface OutputQueue {
  /** Queues the output for a client. */
  send(client: Identity, frame: OutgoingFrame): void
  /** Everything queued for the client, of any kind, in bytes. */
  queuedBytes(client: Identity): number
}

interface Count {
  /** An upper bound for the output in the queue. */
  waiting: number
  dropped: number
}

/** Passes output while there is room for it. */
export class OutputGate {
  readonly #queue: OutputQueue
  readonly #counts = new Map<Identity, Count>()

  constructor(queue: OutputQueue) {
    this.#queue = queue
  }

  /** Passes or drops output for its client. The end of a task's output always passes. */
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

  /** Counts output that cannot be passed on: its size is sent with the next that can. */
  drop({ client, content, droppedBytes }: TaskOutput): void {
    this.#countOf(client).dropped += content.byteLength + droppedBytes
  }

  /** A client has disconnected. */
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

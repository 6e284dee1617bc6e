// Results that would come too early. A 1.9.9 client sends a graph first and notes what it expects
// of it afterwards, in another thread; a result that comes in between is dropped, and its future
// never ends. So such a client is told no sooner than some time after its graph has come.
// docs/protocol.md#graph

import { copyOf } from '../../../base/bytes.js'
import { earliest, type InstantMs } from '../../../base/machine.js'
import type { TaskResult } from '../../../wire/message.js'
import type { ClientEntry } from '../entries.js'
import type { Output } from '../output.js'

/** How long after its graph, in milliseconds: the client may be short of processor time. */
export const EARLY_MS = 50

interface EarlyResult {
  readonly client: ClientEntry
  readonly result: TaskResult
  readonly at: InstantMs
}

/** Those that wait until they may be told. */
export class EarlyResults {
  #waiting: EarlyResult[] = []
  #deadline: InstantMs | undefined

  /** When `flush` must be called next. */
  get deadline(): InstantMs | undefined {
    return this.#deadline
  }

  /** Tells a client at a later time. */
  hold(client: ClientEntry, result: TaskResult, at: InstantMs): void {
    const bytes = result.bytes === undefined ? undefined : copyOf(result.bytes)
    this.#waiting.push({ client, result: { ...result, bytes }, at })
    this.#deadline = earliest(this.#deadline, at)
  }

  /** Tells what may be told now to clients that are still there. */
  flush(output: Output, now: InstantMs): void {
    if (this.#deadline === undefined || now < this.#deadline) return
    const due = this.#waiting.filter(({ at }) => at <= now)
    this.#waiting = this.#waiting.filter(({ at }) => at > now)
    this.#deadline = this.#waiting.map(({ at }) => at).reduce(earliest, undefined)
    for (const { client, result } of due) {
      if (!client.hasLeft) sendResult(output, client, result)
    }
  }
}

/** Sends a client the result of a graph, or of one of its targets. */
export function sendResult(output: Output, client: ClientEntry, result: TaskResult): void {
  if (result.bytes === undefined) output.send(client.identity, result)
  else output.forward(client.identity, 'taskResult', result.bytes)
}

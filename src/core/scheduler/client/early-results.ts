// Results that would arrive too early. A 1.9.9 client sends a graph and registers the expected
// results afterwards, in another thread. A result that arrives in between is dropped, and its
// future never settles. Results for such a client are therefore delayed for a short time.
// docs/protocol.md#graph

import { copyOf } from '../../../base/bytes.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { TaskResult } from '../../../wire/message.js'
import type { ClientEntry } from '../entries.js'
import type { Output } from '../output.js'
import type { SchedulerState } from '../state.js'

/** The delay after a graph, in milliseconds. Allows for a client on a busy machine. */
export const EARLY_MS = 50

interface EarlyResult {
  readonly client: ClientEntry
  readonly result: TaskResult
  readonly at: InstantMs
}

/** The delayed results. */
export class EarlyResults {
  readonly #state: SchedulerState
  readonly #alarm: Alarm
  #waiting: EarlyResult[] = []

  constructor(state: SchedulerState) {
    this.#state = state
    this.#alarm = state.turn.alarm(() => this.#sendDue())
  }

  /** Delays a result until `at`. */
  hold(client: ClientEntry, result: TaskResult, at: InstantMs): void {
    const bytes = result.bytes === undefined ? undefined : copyOf(result.bytes)
    this.#waiting.push({ client, result: { ...result, bytes }, at })
    this.#alarm.setBy(at)
  }

  /** Sends the results that are due to clients that have not left. */
  #sendDue(): void {
    const { turn, output } = this.#state
    const due = this.#waiting.filter(({ at }) => at <= turn.now)
    this.#waiting = this.#waiting.filter(({ at }) => at > turn.now)
    for (const { at } of this.#waiting) this.#alarm.setBy(at)
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

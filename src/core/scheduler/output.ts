// Messages to peers and monitors. Counts those to peers, for the monitors.

import { FEATURE_STORAGE_ONLY, OUR_FEATURES } from '../../base/features.js'
import { type Identity, schedulerId, type SchedulerId } from '../../base/ids.js'
import type { Turn } from '../../base/machine.js'
import type { Message, TaskOutput } from '../../wire/message.js'
import type { ReportedEcho, SchedulerAction } from './events.js'
import type { SchedulerState } from './state.js'

// The answer to a heartbeat. A 1.9.9 peer receives an empty echo, as it expects.

const NO_SCHEDULER_ID = schedulerId('')

/** The id and features in an echo. docs/protocol.md#features */
export function ourEcho(
  state: SchedulerState,
  peerFeatures: number,
): { readonly schedulerId: SchedulerId; readonly features: number } {
  if (peerFeatures === 0) return { schedulerId: NO_SCHEDULER_ID, features: 0 }
  const { schedulerId: id, isStorage = false } = state.options
  return { schedulerId: id, features: OUR_FEATURES | (isStorage ? FEATURE_STORAGE_ONLY : 0) }
}

/** Messages per kind since the start. */
export type MessageCounts = ReadonlyMap<Message['kind'], number>

/** Sends and counts messages. */
export class Output {
  readonly #turn: Turn<SchedulerAction>
  readonly #sent = new Map<Message['kind'], number>()
  /** Whether there are subscribers: building messages for them has a cost. */
  hasSubscribers = false

  constructor(turn: Turn<SchedulerAction>) {
    this.#turn = turn
  }

  get sent(): MessageCounts {
    return this.#sent
  }

  /** Sends a message; the shell encodes it. */
  send(to: Identity, message: Message): void {
    this.#count(message.kind)
    this.#turn.act({ type: 'send', to, message })
  }

  /** Answers a client that requested a report. */
  report(to: Identity, report: ReportedEcho): void {
    this.#count(report.kind)
    this.#turn.act({ type: 'report', to, report })
  }

  /** Sends a message as it was received. */
  forward(to: Identity, kind: Message['kind'], bytes: Uint8Array): void {
    this.#count(kind)
    this.#turn.act({ type: 'forward', to, bytes })
  }

  /** Passes on the output of a task. */
  passOn(message: TaskOutput): void {
    this.#count(message.kind)
    this.#turn.act({ type: 'passOutput', message })
  }

  /** Publishes to the monitors. Call only if there are subscribers. */
  publish(message: Message): void {
    this.#turn.act({ type: 'publish', message })
  }

  #count(kind: Message['kind']): void {
    this.#sent.set(kind, (this.#sent.get(kind) ?? 0) + 1)
  }
}

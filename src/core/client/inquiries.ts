// Questions of this client about its tasks, which the scheduler answers. A question that cannot be
// answered ends without: the client then tells what it knows by itself.
// docs/protocol.md#explanation

import { FEATURE_PEERS, hasFeature } from '../../base/features.js'
import type { TaskId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { TaskExplanation } from '../../wire/message.js'
import type { Turn } from './turn.js'

/** So long an answer is waited for. */
const ANSWER_MS = 5_000

/** The questions that are under way. */
export class Inquiries<Owner> {
  readonly #turn: Turn<Owner>
  /** When each was asked last, the oldest first. */
  readonly #asked = new Map<TaskId, InstantMs>()

  constructor(turn: Turn<Owner>) {
    this.#turn = turn
  }

  /** When `onTick` must be called next. */
  get deadline(): InstantMs | undefined {
    for (const askedAt of this.#asked.values()) return askedAt + ANSWER_MS
    return undefined
  }

  /** Asks a scheduler that has `features`; 0: none that could answer. */
  ask(taskId: TaskId, features: number): void {
    if (!hasFeature(features, FEATURE_PEERS)) return this.#end(taskId, undefined)
    this.#asked.delete(taskId)
    this.#asked.set(taskId, this.#turn.now)
    this.#turn.send({ kind: 'taskInquiry', taskId })
  }

  onAnswer(answer: TaskExplanation): void {
    if (this.#asked.has(answer.taskId)) this.#end(answer.taskId, answer)
  }

  /** Answers will not come any more. */
  endAll(): void {
    for (const taskId of this.#asked.keys()) this.#end(taskId, undefined)
  }

  /** Some answers may have taken too long. */
  onTick(): void {
    for (const [taskId, askedAt] of this.#asked) {
      if (this.#turn.now < askedAt + ANSWER_MS) return
      this.#end(taskId, undefined)
    }
  }

  #end(taskId: TaskId, explanation: TaskExplanation | undefined): void {
    this.#asked.delete(taskId)
    this.#turn.act({ type: 'explainTask', taskId, explanation })
  }
}

// Questions of pages that only the scheduler can answer: few at a time, and the same question of
// many pages is asked once.

import type { OperatorQuestion } from '../../client/monitor/look.js'
import type { OperatorReply } from '../../client/monitor/operator-reply.js'
import { RequestError } from './query.js'
import { messageOf } from '../../base/text.js'

/** Asks the scheduler. Rejects if it does not answer in time, or takes no questions. */
export type Ask = (question: OperatorQuestion) => Promise<OperatorReply>

const MAX_OPEN = 4
/** For how long an answer is good for others who ask the same, in milliseconds. */
const SHARED_MS = 1_000
const MAX_SHARED = 100

interface Shared {
  readonly reply: Promise<OperatorReply>
  readonly atMs: number
}

/** The open questions, and the last answers. */
export class Inquiries {
  readonly #ask: Ask
  readonly #shared = new Map<string, Shared>()
  #open = 0

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** Rejects with `RequestError` if there is no answer, or too many questions are open. */
  ask(question: OperatorQuestion, nowMs: number): Promise<OperatorReply> {
    const key = JSON.stringify(question)
    const shared = this.#shared.get(key)
    if (shared !== undefined && nowMs - shared.atMs < SHARED_MS) return shared.reply
    if (this.#open >= MAX_OPEN) {
      return Promise.reject(new RequestError(503, 'too many questions at once; try again'))
    }
    const reply = this.#answer(question)
    this.#shared.delete(key)
    this.#shared.set(key, { reply, atMs: nowMs })
    for (const oldest of this.#shared.keys()) {
      if (this.#shared.size <= MAX_SHARED) break
      this.#shared.delete(oldest)
    }
    return reply
  }

  async #answer(question: OperatorQuestion): Promise<OperatorReply> {
    this.#open += 1
    try {
      return await this.#ask(question)
    } catch (error) {
      throw new RequestError(503, messageOf(error))
    } finally {
      this.#open -= 1
    }
  }
}

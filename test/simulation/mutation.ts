// Deliberate bugs: a checker that never fails proves nothing. Each of these must be found
// (mutation.test.ts).

import type { Message } from '#src/wire/message.js'

/** The bug of a world. */
export type MutationName =
  | 'none'
  /** The scheduler's shell loses every fifth result of a worker. */
  | 'schedulerLosesResults'
  /** The scheduler's shell sends every fifth result twice. */
  | 'schedulerRepeatsResults'
  /** Workers answer every fifth task twice. */
  | 'workerRepeatsResults'
  /** Workers sometimes answer with the value of another task. */
  | 'workerConfusesResults'
  /** The scheduler's shell does not notify its machine of ended connections. */
  | 'schedulerMissesDisconnects'
  /** Clients leave without a message and without closing their connection. */
  | 'clientsLeaveWithoutWord'
  /** Workers ignore cancels. */
  | 'workerMissesCancels'
  /** The scheduler's shell sends every tenth task to a worker twice. */
  | 'schedulerRepeatsTasks'
  /** Processors give every fifth link another input than the result of the task before it. */
  | 'processorsConfuseLinks'

/** All of them. */
export const MUTATIONS: readonly MutationName[] = [
  'none',
  'schedulerLosesResults',
  'schedulerRepeatsResults',
  'workerRepeatsResults',
  'workerConfusesResults',
  'schedulerMissesDisconnects',
  'clientsLeaveWithoutWord',
  'workerMissesCancels',
  'schedulerRepeatsTasks',
  'processorsConfuseLinks',
]

/** One bug, and the number of occasions for it. */
export class Mutation {
  readonly name: MutationName
  #occasions = 0

  constructor(name: MutationName) {
    this.name = name
  }

  /** Whether it is time again for a bug of this name. */
  isDue(name: MutationName, every: number): boolean {
    if (this.name !== name) return false
    this.#occasions += 1
    return this.#occasions % every === 0
  }

  /** Whether a message is the result of a task that ran. */
  static isResult(message: Message): boolean {
    return (
      message.kind === 'taskResult' && (message.status === 'success' || message.status === 'failed')
    )
  }
}

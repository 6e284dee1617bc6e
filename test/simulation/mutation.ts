// What can be made wrong on purpose: a checker that nothing can offend proves nothing. Each of
// these must be found (mutation.test.ts).

import type { Message } from '#src/wire/message.js'

/** Which mistake a world has. */
export type MutationName =
  | 'none'
  /** The scheduler's shell loses every fifth result of a worker. */
  | 'schedulerLosesResults'
  /** The scheduler's shell sends every fifth result twice. */
  | 'schedulerRepeatsResults'
  /** Workers answer every fifth task twice. */
  | 'workerRepeatsResults'
  /** Workers answer with the value of another task now and then. */
  | 'workerConfusesResults'
  /** The scheduler's shell does not tell its machine that connections ended. */
  | 'schedulerMissesDisconnects'
  /** Clients go without a word and without closing their connection. */
  | 'clientsLeaveWithoutWord'
  /** Workers do not hear of cancels. */
  | 'workerMissesCancels'
  /** The scheduler's shell hands every tenth task to a worker twice. */
  | 'schedulerRepeatsTasks'

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
]

/** One mistake, and how often there was occasion for it. */
export class Mutation {
  readonly name: MutationName
  #occasions = 0

  constructor(name: MutationName) {
    this.name = name
  }

  /** Whether it is time again for a mistake of this name. */
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

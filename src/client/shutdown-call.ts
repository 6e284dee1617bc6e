// One call of `shutdown`, from the request to the answer.

import { unreachable } from '../base/assert.js'
import {
  ClientClosedError,
  ConnectError,
  DisconnectedError,
  ProtectedModeError,
} from '../base/errors.js'

/** The outcome according to the core. */
export type ShutdownAnswer = 'accepted' | 'refused' | 'unreachable' | 'closed'

/** A request to stop a cluster; shared by all callers at the same time. */
export class ShutdownCall {
  readonly promise: Promise<void>
  #resolve: () => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The answer came. `wasOpen`: a scheduler had answered before. */
  answer(answer: ShutdownAnswer, detail: string, wasOpen: boolean): void {
    switch (answer) {
      case 'accepted':
        return this.#resolve()
      case 'refused': {
        const why = 'the scheduler is protected: clients may not shut the cluster down'
        return this.#reject(new ProtectedModeError(why))
      }
      case 'unreachable': {
        const what = wasOpen ? 'it is unknown whether the cluster was' : 'the cluster was not'
        const text = `${what} shut down: ${detail}`
        const reason = 'no-scheduler'
        return this.#reject(
          wasOpen ? new DisconnectedError(text, { reason }) : new ConnectError(text, { reason }),
        )
      }
      case 'closed':
        if (detail === '') return this.#reject(new ClientClosedError())
        return this.#reject(new DisconnectedError(`the cluster was not shut down: ${detail}`))
      default:
        unreachable(answer)
    }
  }
}

// The wish of this client to stop the whole cluster, from the wish to the answer.
// docs/protocol.md#disconnect

import { type ClientTurn, send } from './events.js'

/**
 * `wanted`: not sent, or to be sent again. `asked`: the answer has not come.
 */
type ShutdownState = 'none' | 'wanted' | 'asked'

/** At most one wish at a time. */
export class Shutdown<Owner> {
  readonly #turn: ClientTurn<Owner>
  #state: ShutdownState = 'none'

  constructor(turn: ClientTurn<Owner>) {
    this.#turn = turn
  }

  /** Whether an answer is waited for. */
  get isPending(): boolean {
    return this.#state !== 'none'
  }

  /** The user wishes it. */
  want(): void {
    this.#state = 'wanted'
  }

  /** A connection was lost: the scheduler may not have heard. */
  onDisconnected(): void {
    if (this.#state === 'asked') this.#state = 'wanted'
  }

  /** The scheduler listens. Tells it, if that has not happened. */
  ask(): void {
    if (this.#state !== 'wanted') return
    this.#state = 'asked'
    send(this.#turn, { kind: 'clientDisconnect', disconnectType: 'shutdown' })
  }

  /** The wish is over and done with. Nothing happens if there was none. */
  answer(answer: 'accepted' | 'refused' | 'unreachable' | 'closed', detail: string): void {
    if (this.#state === 'none') return
    this.#state = 'none'
    this.#turn.act({ type: 'answerShutdown', answer, detail })
  }
}

// A request of this client to stop the whole cluster, until it is answered.
// docs/protocol.md#disconnect

import { type ClientTurn, send } from './events.js'

/** `requested`: it must be sent, possibly again. `sent`: the answer has not arrived. */
type ShutdownState = 'none' | 'requested' | 'sent'

/** At most one request at a time. */
export class Shutdown<Owner> {
  readonly #turn: ClientTurn<Owner>
  #state: ShutdownState = 'none'

  constructor(turn: ClientTurn<Owner>) {
    this.#turn = turn
  }

  /** Whether an answer is awaited. */
  get isPending(): boolean {
    return this.#state !== 'none'
  }

  /** The user requests it. */
  request(): void {
    this.#state = 'requested'
  }

  /** A connection was lost: the scheduler may not have received the request. */
  onDisconnected(): void {
    if (this.#state === 'sent') this.#state = 'requested'
  }

  /** The scheduler is ready. Sends it the request, unless that was done. */
  send(): void {
    if (this.#state !== 'requested') return
    this.#state = 'sent'
    send(this.#turn, { kind: 'clientDisconnect', disconnectType: 'shutdown' })
  }

  /** Ends the request. Does nothing if there was none. */
  answer(answer: 'accepted' | 'refused' | 'unreachable' | 'closed', detail: string): void {
    if (this.#state === 'none') return
    this.#state = 'none'
    this.#turn.act({ type: 'answerShutdown', answer, detail })
  }
}

// The worker's way out: turns calls into actions.

import type { LogFields } from '../../base/logger.js'
import type { Message } from '../../wire/message.js'
import type { Act, WorkerAction } from './events.js'

const nowhere: Act = () => {}

/** Where actions go. The machine points it at `act` for the time of one `handle`. */
export class Output {
  #act: Act = nowhere

  /** From here on, actions go to `act`. */
  direct(act: Act): void {
    this.#act = act
  }

  /** Has one action carried out. */
  act(action: WorkerAction): void {
    this.#act(action)
  }

  /** Sends a message to the scheduler. */
  send(message: Message): void {
    this.#act({ type: 'send', message })
  }

  /** Passes the processor something other than a task. */
  tellProcessor(message: Message): void {
    this.#act({ type: 'tellProcessor', message })
  }

  /** Writes a log line. */
  log(
    level: (WorkerAction & { type: 'log' })['level'],
    text: string,
    fields: LogFields = {},
  ): void {
    this.#act({ type: 'log', level, text, fields })
  }
}

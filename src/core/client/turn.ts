// The time and the way out, for as long as one event is handled. Held by all parts of the
// machine, so that neither is passed through every call.

import type { LogFields } from '../../base/logger.js'
import type { InstantMs } from '../../base/machine.js'
import type { Message } from '../../wire/message.js'
import type { TaskId } from '../../base/ids.js'
import type { ClientAction, Outcome, TaskEndReason } from './events.js'

/** Takes one action; the machine calls it any number of times per event. */
export type Act<Owner> = (action: ClientAction<Owner>) => void

/** One call of the machine's `handle`. */
export class Turn<Owner> {
  #now: InstantMs = 0
  #act: Act<Owner> = () => {}

  get now(): InstantMs {
    return this.#now
  }

  /** From here on this is the time, and actions go to `act`. */
  begin(now: InstantMs, act: Act<Owner>): void {
    this.#now = now
    this.#act = act
  }

  act(action: ClientAction<Owner>): void {
    this.#act(action)
  }

  /** Sends a message now, whatever waits. */
  send(message: Message): void {
    this.#act({ type: 'send', message })
  }

  /** Tells an owner what its task returned or threw. */
  finishTask(owner: Owner, outcome: Outcome): void {
    const { isSuccess, payload, metadata, worker, failedTaskId } = outcome
    const type = 'finishTask'
    this.#act({ type, owner, isSuccess, payload, metadata, worker, failedTaskId })
  }

  /** Tells an owner that its task ended without a result. */
  endTask(owner: Owner, reason: TaskEndReason, detail: string, failedTaskId?: TaskId): void {
    this.#act({ type: 'endTask', owner, reason, detail, failedTaskId })
  }

  /** Writes a log line. */
  log(level: 'debug' | 'info' | 'warn', text: string, fields: LogFields): void {
    this.#act({ type: 'log', level, text, fields })
  }
}

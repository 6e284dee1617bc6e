// The life of a task as a table: from a state and a cause to the next state. The compiler wants the
// table complete; a transition that it calls impossible is a bug, told with the task's last steps.

import { AssertionError } from './assert.js'
import { idToHex, type TaskId } from './ids.js'
import { Story } from './story.js'

/** What comes after each state for each cause. `ended`: the task leaves the tables. */
export type Transitions<State extends string, Cause extends string> = Readonly<
  Record<State, Readonly<Record<Cause, State | 'ended' | 'impossible'>>>
>

/** Follows the tasks of one machine through their table. */
export class Lifecycle<State extends string, Cause extends string> {
  readonly #transitions: Transitions<State, Cause>
  readonly #story = new Story()

  constructor(transitions: Transitions<State, Cause>) {
    this.#transitions = transitions
  }

  /** The state after `cause`. Throws `AssertionError` if the table calls it impossible. */
  next(id: TaskId, state: State, cause: Cause): State | 'ended' {
    const next: State | 'ended' | 'impossible' = this.#transitions[state][cause]
    if (isImpossible(next)) {
      const story = this.#story.of(id)
      throw new AssertionError(`task ${idToHex(id)}: ${cause} while ${state}; ${story}`)
    }
    this.#story.record(id, state, cause, next)
    return next
  }
}

function isImpossible(next: string): next is 'impossible' {
  return next === 'impossible'
}

// The life of a task as a table: from a state and a cause to the next state. The compiler requires
// the table to be complete; an impossible transition is a bug, reported with the task's last
// transitions.

import { AssertionError } from './assert.js'
import { idToHex, type TaskId } from './ids.js'

// The recent history of a task, for the message of a failed assertion. One ring for a whole
// machine: a log per task would cost memory for every waiting task.

/** One transition of one task. */
interface Transition {
  id: string
  from: string
  cause: string
  to: string
}

/** Remembers the last transitions of all tasks of a machine. */
export class TransitionLog {
  readonly #ring: Transition[]
  #next = 0

  /** Keeps the last `capacity` transitions. */
  constructor(capacity = 512) {
    this.#ring = Array.from({ length: capacity }, () => ({ id: '', from: '', cause: '', to: '' }))
  }

  /** Records a transition. Allocates nothing. */
  record(id: string, from: string, cause: string, to: string): void {
    const transition = this.#ring[this.#next] as Transition
    transition.id = id
    transition.from = from
    transition.cause = cause
    transition.to = to
    this.#next = (this.#next + 1) % this.#ring.length
  }

  /** The remembered transitions of one task, oldest first: `inactive -assigned-> running, …`. */
  of(id: string): string {
    const inOrder = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)]
    const transitions = inOrder.filter(
      (transition) => transition.id === id && transition.from !== '',
    )
    const lines = transitions.map(({ from, cause, to }) => `${from} -${cause}-> ${to}`)
    return lines.length === 0 ? '(nothing remembered)' : lines.join(', ')
  }
}

/** The next state for each state and cause. `ended`: the task leaves the tables. */
export type Transitions<State extends string, Cause extends string> = Readonly<
  Record<State, Readonly<Record<Cause, State | 'ended' | 'impossible'>>>
>

/** Follows the tasks of one machine through their table. */
export class Lifecycle<State extends string, Cause extends string> {
  readonly #transitions: Transitions<State, Cause>
  readonly #log = new TransitionLog()

  constructor(transitions: Transitions<State, Cause>) {
    this.#transitions = transitions
  }

  /** The state after `cause`. Throws `AssertionError` if the table marks it as impossible. */
  next(id: TaskId, state: State, cause: Cause): State | 'ended' {
    const next: State | 'ended' | 'impossible' = this.#transitions[state][cause]
    if (isImpossible(next)) {
      const log = this.#log.of(id)
      throw new AssertionError(`task ${idToHex(id)}: ${cause} while ${state}; ${log}`)
    }
    this.#log.record(id, state, cause, next)
    return next
  }
}

function isImpossible(next: string): next is 'impossible' {
  return next === 'impossible'
}

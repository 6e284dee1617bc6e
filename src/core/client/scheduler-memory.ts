// What the client finds out about a scheduler when that answers on a new connection. Apart, because
// all parts of the core go by it.

import type { SchedulerId } from '../../base/ids.js'

/** What the scheduler can be expected to know when it has answered. */
export interface SchedulerMemory {
  /** It is, as far as can be told, the one that answered last, and still knows this client. */
  readonly isSame: boolean
  /** It may be sent a task again that it has already. */
  readonly mayRepeat: boolean
  /** It may have lost, or may have sent into the void, what became of the tasks that it had. */
  readonly isDoubtful: boolean
  /** What it understands beyond 1.9.9. */
  readonly features: number
  /** Which process it is; '' = a 1.9.9 one, which does not say. */
  readonly schedulerId: SchedulerId
}

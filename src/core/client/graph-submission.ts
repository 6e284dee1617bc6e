// A graph as it is submitted: its calls, and who wants which result.

import type { TaskId } from '../../base/ids.js'
import type { GraphNodes } from './graph-nodes.js'
import type { TaskOptions } from './submission.js'

/** A call whose result somebody wants. */
export interface GraphTarget<Owner> {
  readonly position: number
  /** Whatever the shell wants back with the outcome; the core does not look at it. */
  readonly owner: Owner
}

/** A graph. The core owns the nodes from then on. */
export interface GraphSubmission<Owner> {
  readonly graphId: TaskId
  /** Those of all calls. */
  readonly options: TaskOptions
  readonly nodes: GraphNodes
  /** Each call once at most. */
  readonly targets: readonly GraphTarget<Owner>[]
}

// What a graph is submitted with, and under which circumstances.

import type { ArgumentSources } from '../argument-sources.js'
import type { ClientConnection } from '../client-connection.js'
import type { FunctionObjects } from '../function-objects.js'
import type { FutureHome } from '../future-home.js'
import type { TaskIds } from '../ids.js'
import type { SubmitContext } from '../submit-context.js'
import type { CallSite } from '../../runtime/call-site.js'

/** What all views of one client share to submit with. */
export interface GraphParts {
  readonly connection: ClientConnection
  /** Of futures that nobody watches. */
  readonly home: FutureHome
  readonly functions: FunctionObjects
  readonly ids: TaskIds
  readonly sources: ArgumentSources
}

/** One call of `get`. */
export interface GraphCall {
  readonly context: SubmitContext
  readonly site: CallSite
}

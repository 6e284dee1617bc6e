// What the first submit of a closure has to begin with, and nobody wants to wait for: the
// inspector, and the parser. Done while something else is waited for anyway.

import { runInThisContext } from 'node:vm'
import type { FunctionSerializer } from '../serializer/task-codec.js'

/** As a user's: what this package has itself does not travel. */
const CLOSURE = '(() => { let calls = 0; return (step) => (calls += step) })()'

/**
 * Has a serializer take a closure apart for the first time, if that is possible. What is wrong
 * otherwise is told by the first submit.
 */
export function warmUp(serializer: Pick<FunctionSerializer, 'serializeFunction'>): void {
  try {
    const closure = runInThisContext(CLOSURE) as () => unknown
    serializer.serializeFunction(closure)
  } catch {
    // For example where making functions from text is forbidden.
  }
}

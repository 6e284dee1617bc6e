// A minimal task for tests of the processor.

import { identity, taskId } from '../base/ids.js'
import { NO_UNITS } from '../core/worker/queue/units.js'
import type { TaskCodec } from '../serializer/task-codec.js'
import { StoredObject } from './processor/objects.js'
import type { RunnableTask } from './processor/call.js'

/** The fields that matter to a test. */
export type RunnableFacts = Partial<Omit<RunnableTask, 'id'>>

/** A task with a function that is stored as its name. */
export function runnableTask(
  id: string,
  fn: string,
  codec: TaskCodec,
  facts: RunnableFacts = {},
): RunnableTask {
  return {
    id: taskId(id),
    source: identity('client'),
    name: '',
    priority: 0,
    attempt: 0,
    units: NO_UNITS,
    timeoutMs: 0,
    isWorkersLimit: false,
    shared: undefined,
    isProfiled: false,
    output: 'log',
    outputClient: identity('client'),
    traceContext: '',
    keepsResult: false,
    serializer: { codec: () => codec, clientSerializer: () => codec },
    fn: new StoredObject([Buffer.from(fn)]),
    inputs: [],
    after: undefined,
    refusal: undefined,
    packed: undefined,
    ...facts,
  }
}

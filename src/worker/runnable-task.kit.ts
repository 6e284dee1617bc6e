// A task for tests of the processor, with as little in it as can be.

import { identity, taskId } from '../base/ids.js'
import { NO_UNITS } from '../core/worker/queue/units.js'
import type { TaskCodec } from '../serializer/task-codec.js'
import { StoredObject } from './processor/objects.js'
import type { RunnableTask } from './processor/call.js'

/** What a test cares about. */
export type RunnableFacts = Partial<Omit<RunnableTask, 'id'>>

/** A task of a function whose bytes are its name. */
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
    keepsResult: false,
    serializer: { codec: () => codec, clientSerializer: () => codec },
    fn: new StoredObject([Buffer.from(fn)]),
    inputs: [],
    refusal: undefined,
    ...facts,
  }
}

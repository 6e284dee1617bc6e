// For tests of graphs: short constructors for messages of clients and workers.

import { latin1ToBytes } from '../../../base/bytes.js'
import { identity, objectId, taskId } from '../../../base/ids.js'
import {
  decode,
  type GraphTask,
  PLAIN_RESULT,
  type Task,
  type TaskResult,
} from '../../../wire/message.js'
import type { SchedulerAction, SchedulerCoreOptions } from '../events.js'
import {
  clientHeartbeat,
  instruction,
  result,
  task,
  TestScheduler,
  workerHeartbeat,
} from '../scheduler.kit.js'

/** A node. An argument is the id of another node, `@id` an object, `=text` an inline value. */
export function node(id: string, args: readonly string[] = [], change: Partial<Task> = {}): Task {
  const functionArgs = args.map((text) => {
    const type = text.startsWith('@') ? 'objectID' : text.startsWith('=') ? 'inline' : 'task'
    return { type, data: latin1ToBytes(type === 'task' ? text : text.slice(1)) } as const
  })
  return { ...task(id, 'C'), functionArgs, ...change }
}

/** A graph, or a part of one. */
export function graph(
  id: string,
  targets: readonly string[],
  nodes: readonly Task[],
  isOpen = false,
): GraphTask {
  return {
    kind: 'graphTask',
    taskId: taskId(id),
    source: identity('C'),
    targets: targets.map(taskId),
    graph: nodes,
    isOpen,
  }
}

/** The result of a node with an inline value. */
export function small(id: string, value: string, change: Partial<TaskResult> = {}): TaskResult {
  const inlineResults = [latin1ToBytes(value)]
  return { ...result(id), ...PLAIN_RESULT, results: [], inlineResults, ...change }
}

/** The result of a node with an object. */
export function large(id: string, object: string, change: Partial<TaskResult> = {}): TaskResult {
  return { ...result(id), ...PLAIN_RESULT, results: [objectId(object)], ...change }
}

/** The Tasks among the actions, as `worker id(arguments)`. */
export function calls(actions: readonly SchedulerAction[]): readonly string[] {
  return actions.flatMap((action) => {
    const sent = messageOf(action)
    if (sent?.kind !== 'task' || !('to' in action)) return []
    return [`${action.to} ${sent.taskId}(${argsOf(sent).join(' ')})`]
  })
}

/** The arguments of a Task, in the notation of `node`. */
export function argsOf(message: Task): readonly string[] {
  const marks = { task: '', objectID: '@', inline: '=', sharedObjectID: '@', sharedInline: '=' }
  return message.functionArgs.map(({ type, data: bytes }) => {
    return marks[type] + Buffer.from(bytes).toString('latin1')
  })
}

/** The results among the actions that were sent to a client, by task. */
export function resultsTo(
  client: string,
  actions: readonly SchedulerAction[],
): ReadonlyMap<string, TaskResult> {
  const results = new Map<string, TaskResult>()
  for (const action of actions) {
    const sent = messageOf(action)
    if (sent?.kind !== 'taskResult' || !('to' in action) || action.to !== client) continue
    results.set(sent.taskId, sent)
  }
  return results
}

/** The message of an action, if it sends one. */
export function messageOf(action: SchedulerAction): ReturnType<typeof decode> | undefined {
  if (action.type === 'forward') return decode(action.bytes)
  return action.type === 'send' ? action.message : undefined
}

/** A client, and workers, of which W has run the function of its nodes before: for so long. */
export function measuredScheduler(
  seconds: number,
  workers: readonly string[] = ['W'],
  options: Partial<SchedulerCoreOptions> = {},
): TestScheduler {
  const scheduler = new TestScheduler(options)
  scheduler.receive('C', clientHeartbeat()).receive('C', instruction('create', 'C', ['f']))
  scheduler.receive('W', workerHeartbeat())
  scheduler.receive('C', graph('before', ['z'], [node('z')]))
  scheduler.receive('W', small('z', '0', { metadata: result('z', 'success', seconds).metadata }))
  for (const worker of workers) if (worker !== 'W') scheduler.receive(worker, workerHeartbeat())
  scheduler.actions()
  return scheduler
}

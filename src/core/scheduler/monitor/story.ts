// All that the scheduler knows of one task, for operators: unfinished tasks, nodes of graphs that
// are not tasks yet, and the tasks that have ended and are still remembered.
// docs/protocol.md#operators

import { identity, type TaskId } from '../../../base/ids.js'
import type { TaskExplanation, TaskStory } from '../../../wire/message.js'
import type { PastAttempt, TaskEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import type { Ended } from './ended.js'
import type { WaitingWhy } from './waiting.js'
import { attemptOf, explainTask } from './explain.js'

const NOTHING: Omit<TaskStory, 'taskId' | 'status'> = {
  name: '',
  function: '',
  client: identity(''),
  reason: 'allBusy',
  needs: '',
  forMS: 0,
  dependsOn: [],
  attempts: [],
  attemptCount: 0,
  error: [],
  isPython: false,
}

const STATUSES = {
  unknown: 'notFound',
  waiting: 'inactive',
  assigned: 'running',
  canceling: 'canceling',
} as const satisfies Record<TaskExplanation['state'], TaskStory['status']>

/** The story of an unfinished task. `why`: why it waits, if that is known. */
export function taskStory(state: SchedulerState, task: TaskEntry, why?: WaitingWhy): TaskStory {
  const { state: where, reason, needs, forMS, attempts } = explainTask(state, task, why)
  return {
    ...NOTHING,
    taskId: task.id,
    name: task.extra?.name ?? '',
    function: state.functions.of(task.function).name,
    client: task.client?.identity ?? NOTHING.client,
    status: STATUSES[where],
    reason,
    needs,
    forMS,
    attempts,
    attemptCount: attempts.length,
    isPython: task.runtime === 'python',
  }
}

/** The story of a node that is not a task yet, or undefined. */
export function nodeStory(state: SchedulerState, id: TaskId): TaskStory | undefined {
  for (const graph of state.graphWork.graphs) {
    const needs = graph.needsOf(id)
    if (needs === undefined) continue
    return {
      ...NOTHING,
      taskId: id,
      function: graph.functionOf(id),
      client: graph.client.identity,
      status: 'inactive',
      reason: needs.length === 0 ? 'allBusy' : 'dependency',
      isPython: graph.client.runtime === 'python',
      dependsOn: needs.map((each) => ({ taskId: each, name: graph.functionOf(each) })),
    }
  }
  return undefined
}

/** The stories of ended tasks whose ids begin with these digits, at most `most`. */
export function endedStories(
  state: SchedulerState,
  digits: string,
  most: number,
): readonly TaskStory[] {
  const isMeant = beginningTest(digits)
  return state.monitors.endedWhere(isMeant, most).map((ended) => ({
    ...NOTHING,
    taskId: ended.taskId,
    name: ended.name,
    function: ended.function,
    client: ended.client,
    status: ended.status,
    forMS: Math.max(0, state.turn.now - ended.endAt),
    attempts: attemptsOf(ended).map((attempt) => attemptOf(attempt, state.turn.now)),
    attemptCount: ended.attempts,
    error: ended.error === undefined ? [] : [ended.error],
  }))
}

/** The attempts that did not finish the task, and the one that failed. */
function attemptsOf({ past, status, worker, startAt, endAt }: Ended): readonly PastAttempt[] {
  if (status !== 'failed' || startAt === undefined) return past
  return [...past, { worker, outcome: 'failed', from: startAt, to: endAt }]
}

/** Whether ids begin with these hexadecimal digits. */
export function beginningTest(digits: string): (id: TaskId) => boolean {
  const whole = Buffer.from(digits.slice(0, digits.length & ~1), 'hex').toString('latin1')
  if (digits.length % 2 === 0) return (id) => id.startsWith(whole)
  const half = Number.parseInt(digits.slice(-1), 16)
  return (id) => id.startsWith(whole) && id.charCodeAt(whole.length) >> 4 === half
}

// Why tasks wait, in words for people: one wording for warnings and errors.

import type { WaitingReason } from '../base/waiting-reason.js'
import type { WaitingWarning } from '../core/client/events.js'

/** Why something waits, and the same in words. */
export interface WaitingState {
  readonly reason: WaitingReason
  readonly text: string
  /** What the task asks for that nobody offers. */
  readonly needs?: string | undefined
}

/** What is the matter, and what can be done about it; without a full stop. */
interface WaitingText {
  readonly what: string
  readonly advice: string
}

/**
 * Why tasks wait for the scheduler at `address`. `detail`: what its connection says, what the tasks
 * ask for that nobody offers, or ''.
 */
export function describeWaiting(reason: WaitingReason, address: string, detail = ''): WaitingText {
  switch (reason) {
    case 'no-scheduler':
      return {
        what: `no scheduler answers at ${address}${detail === '' ? '' : ` (${detail})`}`,
        advice: 'check that it runs, and that this is its address',
      }
    case 'no-worker':
      return {
        what: `the scheduler at ${address} has no worker that takes tasks`,
        advice: `start some: scaler_cluster ${address}`,
      }
    case 'no-runtime':
      return {
        what: `no worker of the scheduler at ${address} runs JavaScript`,
        advice: `start some that do: scaler_cluster ${address}`,
      }
    case 'no-capability':
      return {
        what: `no worker of the scheduler at ${address} has what they ask for${named(detail)}`,
        advice: 'start one that has it (scaler_cluster --capabilities …), or ask for less',
      }
    case 'all-busy':
      return {
        what: `all workers of the scheduler at ${address} are busy`,
        advice: 'add workers to get results sooner',
      }
    case 'limit':
      return {
        what: `the queue of the scheduler at ${address} is full`,
        advice: 'they are sent as it empties; add workers, or raise maxNumberOfTasksWaiting',
      }
    case 'dependency':
      return { what: 'it needs the result of a task that has not ended', advice: '' }
  }
}

function named(needs: string): string {
  return needs === '' ? '' : `: ${needs}`
}

/** Emits the process warning that tasks wait. */
export function warnOfWaiting(warning: WaitingWarning, address: string): void {
  const { reason, tasks, forMs, detail } = warning
  const { what, advice } = describeWaiting(reason, address, detail)
  const who = tasks === 0 ? 'the client' : tasks === 1 ? 'one task' : `${tasks} tasks`
  const verb = tasks > 1 ? 'have' : 'has'
  const seconds = Math.floor(forMs / 1_000)
  process.emitWarning(`${who} ${verb} waited for ${seconds} s: ${what}; ${advice}`, {
    type: 'ScalerWarning',
    code: 'SCALER_WAITING',
    detail: reason,
  })
}

// Why something waits, as encoded in messages: the schema language has no hyphens in its names.

import type { WaitingReason } from '../base/waiting-reason.js'
import type { WaitReason } from './generated/common.js'

const WORDS: Readonly<Record<WaitReason, WaitingReason>> = {
  noScheduler: 'no-scheduler',
  noWorker: 'no-worker',
  noRuntime: 'no-runtime',
  noCapability: 'no-capability',
  allBusy: 'all-busy',
  limit: 'limit',
  dependency: 'dependency',
}

const NAMES = new Map(
  Object.entries(WORDS).map(([name, word]) => [word, name as WaitReason] as const),
)

/** The reason for a name in a message. */
export function waitingReasonOf(name: WaitReason): WaitingReason {
  return WORDS[name]
}

/** The name in messages for a reason. */
export function waitReasonOf(reason: WaitingReason): WaitReason {
  return NAMES.get(reason) ?? 'allBusy'
}

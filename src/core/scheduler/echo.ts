// The answer to a heartbeat. A 1.9.9 peer gets the empty one that it knows.

import { OUR_FEATURES } from '../../base/features.js'
import { schedulerId, type SchedulerId } from '../../base/ids.js'
import type { SchedulerState } from './state.js'

const NO_SCHEDULER_ID = schedulerId('')

/** What an echo says beyond being one. docs/protocol.md#features */
export function ourEcho(
  state: SchedulerState,
  peerFeatures: number,
): { readonly schedulerId: SchedulerId; readonly features: number } {
  if (peerFeatures === 0) return { schedulerId: NO_SCHEDULER_ID, features: 0 }
  return { schedulerId: state.options.schedulerId, features: OUR_FEATURES }
}

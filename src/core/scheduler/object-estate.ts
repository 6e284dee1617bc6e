// The objects of a client that has left: perhaps a hundred thousand, so they go a slice at a time,
// as the long work of graphs does.

import type { ObjectUser } from './entries.js'
import { MESSAGE_COST } from './graph-work.js'
import type { SchedulerState } from './state.js'

/** Nobody needs the objects of `user` any more, unless somebody else uses them, too. */
export function leaveObjects(state: SchedulerState, user: ObjectUser): void {
  state.graphWork.begin({ advance: () => releaseSome(state, user) })
}

/** False: the turn is over before all is done. */
function releaseSome({ objects, graphWork }: SchedulerState, user: ObjectUser): boolean {
  for (const entry of user.objects) {
    if (graphWork.left <= 0) return false
    graphWork.left -= MESSAGE_COST
    objects.release(user, entry)
  }
  return true
}

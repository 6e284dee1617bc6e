// All tables of the scheduler. The handlers (client-peer.ts, worker-peer.ts, task.ts, object.ts)
// change them; the machine (scheduler-machine.ts) calls the handlers.

import { assert } from '../../base/assert.js'
import type { Identity, TaskId } from '../../base/ids.js'
import { Lifecycle } from '../../base/lifecycle.js'
import type { Message, TaskStatus } from '../../wire/message.js'
import type { ClientEntry, Runtime, TaskEntry, WorkerEntry } from './entries.js'
import { checkFamily, Orphans } from './family.js'
import { GraphWork } from './graph-work.js'
import { ObjectTable } from './object-table.js'
import type { SchedulerCoreOptions } from './options.js'
import { Output } from './output.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './task-state.js'
import { checkLoad, WorkerPool } from './worker-pool.js'

/** The whole state of one scheduler. */
export class SchedulerState {
  readonly options: SchedulerCoreOptions
  readonly output: Output = new Output()
  readonly lifecycle: Lifecycle<TaskState, TaskCause> = new Lifecycle(TASK_TRANSITIONS)
  readonly clients: Map<Identity, ClientEntry> = new Map()
  /** In order of registration. */
  readonly workers: Map<Identity, WorkerEntry> = new Map()
  readonly tasks: Map<TaskId, TaskEntry> = new Map()
  readonly objects: ObjectTable = new ObjectTable()
  readonly orphans: Orphans = new Orphans()
  readonly graphWork: GraphWork
  readonly pools: Readonly<Record<Runtime, WorkerPool>>
  /** Messages per kind since the start. */
  readonly received: Map<Message['kind'], number> = new Map()
  /** Tasks that ended, per status, since the start. */
  readonly ended: Map<TaskStatus, number> = new Map()
  nextWorkerSequence = 0

  constructor(options: SchedulerCoreOptions) {
    this.options = options
    this.graphWork = new GraphWork(options.schedulerId, options.graphStepsPerTurn)
    this.pools = {
      javascript: new WorkerPool(options.perWorkerQueueSize, false),
      python: new WorkerPool(options.perWorkerQueueSize, true),
    }
  }

  /** How many tasks wait for a worker. */
  get waiting(): number {
    return this.pools.javascript.queue.size + this.pools.python.queue.size
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    this.pools.javascript.checkInvariants()
    this.pools.python.checkInvariants()
    this.objects.checkInvariants()
    this.graphWork.checkInvariants()
    let inactive = 0
    for (const task of this.tasks.values()) {
      if (task.state === 'inactive' && task.client?.hasLeft !== true) inactive += 1
      assert((task.state === 'inactive') === (task.place !== undefined), 'a place without waiting')
      assert((task.state === 'inactive') === (task.worker === undefined), 'a task waits elsewhere')
      if (task.worker !== undefined)
        assert(task.worker.assigned.has(task), 'a worker forgot a task')
      checkFamily(task, this.tasks)
      if (task.client !== undefined) assert(task.client.tasks.has(task), 'a client forgot a task')
      else assert(task.state === 'canceling', 'a task goes on without a client')
    }
    assert(inactive === this.waiting, 'the queues hold other tasks than the table')
    for (const client of this.clients.values()) {
      for (const task of client.tasks) assert(this.tasks.get(task.id) === task, 'an unknown task')
      const { host } = client
      assert(host === undefined || host.guests.has(client), 'a guest without its host')
    }
    for (const worker of this.workers.values()) {
      for (const task of worker.assigned) assert(task.worker === worker, 'a task of two workers')
      checkLoad(worker)
      for (const guest of worker.guests) {
        assert(guest.host === worker, 'a guest of two hosts')
        assert(this.clients.get(guest.identity) === guest, 'a guest that has left')
      }
    }
  }
}

/** The family of a `runtime` text of a heartbeat; peers that show none are Python's. */
export function runtimeFamily(runtime: string): Runtime {
  return runtime === '' ? 'python' : 'javascript'
}

// Events and states for the tests of this folder.

import type {
  ClusterInfo,
  FailureInfo,
  TaskEnded,
  WorkerInfo,
} from '../../client/monitor/cluster-info.js'

/** The time of all samples: 2026-01-02 03:04:05 UTC. */
export const NOW: number = Date.UTC(2026, 0, 2, 3, 4, 5)

/** A task that has succeeded. */
export function ended(task: string, more: Partial<TaskEnded> = {}): TaskEnded {
  return {
    type: 'task',
    time: new Date(NOW),
    task,
    name: '',
    function: 'price',
    client: 'c',
    worker: 'w1',
    status: 'success',
    queuedMs: 1,
    durationMs: 10,
    errorName: '',
    attempts: 1,
    ...more,
  }
}

/** A worker. */
export function worker(id: string, more: Partial<WorkerInfo> = {}): WorkerInfo {
  return {
    id,
    name: '',
    state: 'idle',
    capabilities: {},
    running: [],
    queued: 0,
    cpu: 3.5,
    rssBytes: 66_000_000,
    lagMs: 0.4,
    agentCpu: 1,
    agentRssBytes: 70_000_000,
    freeBytes: 4e9,
    free: 1_000,
    sent: 0,
    suspended: 0,
    itl: '100',
    silentS: 0,
    version: '0.1.0',
    endsAt: undefined,
    ...more,
  }
}

/** A failure. */
export function failure(task: string, more: Partial<FailureInfo> = {}): FailureInfo {
  return {
    time: new Date(NOW),
    task,
    name: '',
    function: 'price',
    client: 'c',
    worker: 'w1',
    errorName: 'RangeError',
    message: `no price for ${task.length}`,
    stack: 'RangeError\n    at price',
    attempts: 1,
    ...more,
  }
}

/** A cluster with two workers. */
export function info(more: Partial<ClusterInfo> = {}): ClusterInfo {
  return {
    time: new Date(NOW),
    scheduler: {
      address: 'tcp://10.0.0.1:2345',
      monitorAddress: 'tcp://10.0.0.1:2347',
      version: '0.1.0',
      uptimeS: 7_300,
      cpu: 12.5,
      rssBytes: 57_000_000,
      turnP99Ms: 4.5,
      freeBytes: 4e9,
      messages: undefined,
    },
    tasks: { waiting: 4, running: 1, success: 12_345, failed: 2, canceled: 0, notFound: 0 },
    rates: { submitted: 1_200, ended: 1_100, failed: 0 },
    waiting: [{ reason: 'all-busy', requirement: '', function: 'price', count: 4, seconds: 1 }],
    hosts: [
      {
        host: 'one',
        address: undefined,
        cpu: 20,
        freeBytes: 4e9,
        workers: [
          worker('w1', {
            state: 'busy',
            running: [{ task: 'aa00', name: 'price', sinceMs: 500 }],
            cpu: 90,
          }),
          worker('w2'),
        ],
      },
    ],
    clients: [{ id: 'c', name: 'shop', host: 'two', unfinished: 5, bytes: 9, worker: undefined }],
    functions: [],
    failures: [],
    objects: { count: 3, bytes: 1_500 },
    ...more,
  }
}

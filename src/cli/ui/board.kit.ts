// Events and states for the tests of this folder.

import type {
  ClusterInfo,
  FailureInfo,
  LostWorker,
  TaskEnded,
} from '../../client/monitor/cluster-info.js'
import { info as plainInfo, TIME, worker } from '../report/cluster-info.kit.js'

/** The time of all samples. */
export const NOW: number = TIME.getTime()

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
    past: [],
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

/** A worker whose connection was closed half a second ago. */
export function lostWorker(id: string, more: Partial<LostWorker> = {}): LostWorker {
  return {
    time: new Date(NOW - 500),
    id,
    name: '',
    host: 'vm',
    cause: 'connection',
    hasReturned: false,
    tasks: [],
    taskCount: 0,
    ...more,
  }
}

/** A cluster with two workers. */
export function info(more: Partial<ClusterInfo> = {}): ClusterInfo {
  const running = [{ task: 'aa00', name: 'price', function: 'price', sinceMs: 500 }]
  const workers = [worker('w1', { state: 'busy', running, cpu: 90 }), worker('w2')]
  return plainInfo({
    tasks: { waiting: 4, running: 1, success: 12_345, failed: 2, canceled: 0, notFound: 0 },
    waiting: [
      {
        reason: 'all-busy',
        requirement: '',
        function: 'price',
        count: 4,
        seconds: 1,
      },
    ],
    hosts: [{ host: 'one', address: undefined, cpu: 20, freeBytes: 4e9, workers }],
    clients: [{ id: 'c', name: 'shop', host: 'two', unfinished: 5, bytes: 9, worker: undefined }],
    ...more,
  })
}

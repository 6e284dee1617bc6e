// Clusters for the tests of what commands show.

import type { AllocatorInfo, ClusterInfo, WorkerInfo } from '../../client/monitor/cluster-info.js'

/** When it was looked at. */
export const TIME: Date = new Date(Date.UTC(2026, 0, 2, 3, 4, 5))

/** An idle worker. */
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
    agentCpu: 0.5,
    agentRssBytes: 37_500_000,
    freeBytes: 4e9,
    free: 1_000,
    sent: 0,
    suspended: 0,
    itl: '101',
    silentS: 0,
    version: '0.1.0',
    endsAt: undefined,
    ...more,
  }
}

/** An allocator that has nothing to do. */
export function allocator(name: string, more: Partial<AllocatorInfo> = {}): AllocatorInfo {
  return {
    name,
    provider: 'slurm',
    runtime: 'javascript',
    offers: {},
    room: 8,
    pending: 0,
    claim: 0,
    running: 0,
    paused: false,
    action: 'wait',
    reason: 'no work',
    problem: '',
    ...more,
  }
}

/** A cluster with one worker that works. */
export function info(more: Partial<ClusterInfo> = {}): ClusterInfo {
  return {
    time: TIME,
    scheduler: {
      address: 'tcp://10.0.0.1:2345',
      monitorAddress: 'tcp://10.0.0.1:2347',
      version: '0.1.0',
      uptimeS: 7_300,
      cpu: 12.5,
      rssBytes: 57_000_000,
      turnP99Ms: 4.5,
      freeBytes: 4e9,
      messages: { sent: { TaskResult: 53_764 }, received: { Task: 53_764, ClientHeartbeat: 7 } },
    },
    tasks: { waiting: 0, running: 1, success: 12_345, failed: 2, canceled: 0, notFound: 0 },
    rates: { submitted: 1_200.4, ended: 1_100, failed: 0 },
    waiting: [],
    hosts: [
      { host: 'one', address: undefined, cpu: 20, freeBytes: 4e9, workers: [worker('7|one|a')] },
    ],
    lost: { count: 0, workers: [] },
    clients: [],
    functions: [],
    failures: [],
    allocators: [],
    storageServers: [],
    objects: {
      count: 3,
      bytes: 1_500,
      serverBytes: 0,
      limitBytes: 1_000_000,
      diskBytes: 0,
      refused: 0,
      diskError: '',
    },
    ...more,
  }
}

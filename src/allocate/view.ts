// A cluster as an allocator sees it, from what a monitor knows.

import type { ClusterInfo, WorkerInfo } from '../client/monitor/cluster-info.js'
import type { ClusterView, WaitingWork } from '../core/allocate/events.js'

/** What the machine needs of what a monitor knows. */
export function viewOf(info: ClusterInfo): ClusterView {
  const means = new Map(info.functions.map(({ name, meanMs }) => [name, meanMs]))
  const running = longestRuns(info)
  return {
    waiting: info.waiting.flatMap((row) => {
      return workOf(row, means.get(row.function), running.get(row.function))
    }),
    workers: info.hosts.flatMap(({ workers }) => {
      return workers.map((worker) => ({
        id: worker.id,
        allocation: worker.allocation ?? pythonName(worker.id),
        runtime: worker.version === undefined ? ('python' as const) : ('javascript' as const),
        isIdle: worker.state === 'idle' || worker.state === 'starting',
        isLeaving: worker.state === 'leaving',
        offers: new Map(Object.entries(worker.capabilities)),
        endsInMs: endsInMs(worker),
      }))
    }),
    allocators: (info.allocators ?? []).map(({ offers, paused, ...status }) => {
      return { ...status, offers: new Map(Object.entries(offers)), isPaused: paused }
    }),
  }
}

/** For how long the longest task of each function has been running, in seconds. */
function longestRuns({ hosts }: ClusterInfo): ReadonlyMap<string, number> {
  const longest = new Map<string, number>()
  for (const { workers } of hosts) {
    for (const { function: fn, sinceMs } of workers.flatMap(({ running }) => running)) {
      longest.set(fn, Math.max(longest.get(fn) ?? 0, sinceMs / 1_000))
    }
  }
  return longest
}

/**
 * Nodes of graphs that wait for others are not work yet, and what a client holds back is not here.
 * Functions without a name are counted as one: if one of them runs for longer than they do on
 * average, nothing is known about those that wait.
 */
function workOf(
  row: ClusterInfo['waiting'][number],
  meanMs: number | undefined,
  ranSeconds = 0,
): readonly WaitingWork[] {
  if (row.reason === 'dependency' || row.reason === 'limit') return []
  const isMixed = row.function === '' && meanMs !== undefined && ranSeconds * 1_000 > meanMs
  return [
    {
      needs: row.requirement,
      runtime: row.runtime ?? 'javascript',
      tasks: row.count,
      seconds: meanMs === undefined || isMixed ? undefined : meanMs / 1_000,
      runningSeconds: isMixed ? 0 : ranSeconds,
      waitedSeconds: row.seconds,
    },
  ]
}

/** A worker that is still there after its end has a clock that is behind the one here. */
function endsInMs({ endsAt }: WorkerInfo): number {
  const leftMs = endsAt === undefined ? 0 : endsAt.getTime() - Date.now()
  return leftMs > 0 ? leftMs : Infinity
}

/** Workers of Python name their unit: the name is in their identity. */
function pythonName(id: string): string {
  return /^\d+\|(.*)\|[0-9a-f]{32}$/s.exec(id)?.[1] ?? ''
}

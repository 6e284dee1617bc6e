// The API of `scaler ui`, without HTTP: a path and its parameters to an answer, from what is known.
// docs/monitoring.md#the-api

import type {
  AllocatorInfo,
  ClusterInfo,
  LostWorkers,
  WorkerState,
} from '../../client/monitor/cluster-info.js'
import { LOSS_TEXTS, problemsOf, type StatusProblem } from '../report/problem.js'
import { healthOf } from '../report/status.js'
import { countText } from '../table.js'
import { type Board, type Freshness, usageOf } from './board.js'
import { workerAt } from './event-log.js'
import type { TimeWindow } from './history.js'
import type { PeerName } from './peer-names.js'
import { checkParameters, RequestError, ROWS, rowsQuery, WINDOW, windowQuery } from './query.js'
import { endedEntry, rowsReader, type TaskEntry, TABLES } from './rows.js'

/** Waiting tasks are listed for at most this many reasons and functions. */
const MAX_WAITING = 50
const MAX_ALLOCATORS = 50
/** Problems that are listed. */
const MAX_PROBLEMS = 10
/** Tasks of a worker that its page lists. */
const MAX_WORKER_TASKS = 100

/** The cluster in numbers, without its tables. What is not known is undefined. */
export interface Overview extends Freshness {
  /** When the state came; null before the first one. */
  readonly time: Date | null
  /** The address of the scheduler, or the one at which it is looked for. */
  readonly cluster: string | null
  readonly health: { readonly isWell: boolean; readonly text: string }
  /** What is wrong and what to do about it, the worst first; at most 10. */
  readonly problems: readonly StatusProblem[]
  readonly problemCount: number
  readonly scheduler: ClusterInfo['scheduler'] | null
  readonly tasks: ClusterInfo['tasks'] | null
  readonly rates: ClusterInfo['rates'] | null
  readonly waiting: ClusterInfo['waiting']
  readonly objects: ClusterInfo['objects'] | null
  readonly workers: Readonly<Record<WorkerState, number>>
  readonly hosts: readonly {
    readonly host: string
    readonly cpu: number
    readonly freeBytes: number
    readonly workers: number
  }[]
  /** The processes that start workers, at most 50; null if the scheduler does not tell. */
  readonly allocators: readonly AllocatorInfo[] | null
  readonly clients: number
  /** Graphs that have not ended; null if the scheduler does not tell. */
  readonly graphs: number | null
  /** Workers that were lost in the last ten minutes; null if the scheduler does not tell. */
  readonly lost: LossSummary | null
  /** Percent of one core, of all workers. */
  readonly cpu: number
  /** Of all workers, in bytes. */
  readonly memory: number
  /** Events that were not reported, because there were too many. */
  readonly lostEvents: number
}

/** Workers that were lost in the last ten minutes and have not returned. */
interface LossSummary {
  readonly count: number
  /** Which, the last one first, and how that was noticed; empty: none. */
  readonly text: string
}

/** Lost workers that are named. */
const MAX_NAMED = 4

/**
 * The answer to `GET /api/<path>`, ready for JSON. Throws `RequestError` for an unknown path and
 * for bad parameters.
 */
export function answerOf(
  board: Board,
  path: string,
  given: URLSearchParams,
  nowMs: number,
): object {
  const fresh = board.freshness(nowMs)
  if (path === 'overview') {
    checkParameters(given, WINDOW)
    const series = board.history.read(windowQuery(given, nowMs), nowMs)
    return { ...overviewOf(board, nowMs), history: series }
  }
  if (path === 'timeline') {
    checkParameters(given, [...WINDOW, 'offset', 'limit'])
    return { ...fresh, ...timelineOf(board, windowQuery(given, nowMs), given) }
  }
  if (path.startsWith('workers/')) {
    checkParameters(given, [])
    return { ...fresh, ...workerOf(board, decoded(path.slice('workers/'.length)), fresh) }
  }
  if (path.startsWith('functions/')) {
    checkParameters(given, [])
    return { ...fresh, ...functionOf(board, decoded(path.slice('functions/'.length))) }
  }
  if (path.startsWith('graphs/')) {
    checkParameters(given, [])
    return { ...fresh, ...graphOf(board, decoded(path.slice('graphs/'.length))) }
  }
  const reader = TABLES.includes(path) ? readerOf(path, given) : undefined
  if (reader === undefined) throw new RequestError(404, 'no such path')
  const { ids: _, ...answer } = reader(board)
  return { ...fresh, ...answer }
}

function readerOf(table: string, given: URLSearchParams): ReturnType<typeof rowsReader> {
  checkParameters(given, ROWS)
  return rowsReader(table, rowsQuery(given))
}

/** What the first view shows, except for the past. */
export function overviewOf(board: Board, nowMs: number): Overview {
  const { info } = board
  const fresh = board.freshness(nowMs)
  const workers = { starting: 0, idle: 0, busy: 0, leaving: 0 }
  for (const host of info?.hosts ?? []) {
    for (const { state } of host.workers) workers[state] += 1
  }
  const problems = info === undefined ? [] : namedProblems(info)
  return {
    ...fresh,
    time: info?.time ?? null,
    cluster: info?.scheduler.address ?? board.address ?? null,
    health: stateOf(board, fresh),
    problems: problems.slice(0, MAX_PROBLEMS),
    problemCount: problems.length,
    scheduler: info?.scheduler ?? null,
    tasks: info?.tasks ?? null,
    rates: info?.rates ?? null,
    waiting: info?.waiting.slice(0, MAX_WAITING) ?? [],
    objects: info?.objects ?? null,
    workers,
    hosts: (info?.hosts ?? []).slice(0, MAX_WAITING).map((host) => {
      const { cpu, freeBytes } = host
      return { host: host.host, cpu, freeBytes, workers: host.workers.length }
    }),
    allocators: info?.allocators?.slice(0, MAX_ALLOCATORS) ?? null,
    clients: info?.clients.length ?? 0,
    // A scheduler of Python Scaler tells neither.
    graphs: info?.lost === undefined ? null : board.graphCount,
    lost: info?.lost === undefined ? null : lossSummary(info.lost),
    ...(info === undefined ? { cpu: 0, memory: 0 } : usageOf(info)),
    lostEvents: board.lostEvents,
  }
}

/** Lost workers are named. */
function namedProblems(info: ClusterInfo): readonly StatusProblem[] {
  const all = problemsOf(info)
  const losses = info.lost === undefined ? '' : lossSummary(info.lost).text
  if (losses === '') return all
  const others = new Set(problemsOf({ ...info, lost: undefined }).map(({ what }) => what))
  return all.map((problem) => (others.has(problem.what) ? problem : { ...problem, what: losses }))
}

function lossSummary({ count, workers }: LostWorkers): LossSummary {
  const gone = workers.filter(({ hasReturned }) => !hasReturned)
  if (gone.length === 0) return { count, text: '' }
  const named = gone.slice(-MAX_NAMED).reverse()
  const names = named.map((worker) => `${workerAt(worker)} (${LOSS_TEXTS[worker.cause]})`)
  const others = count - named.length
  const more = others === 0 ? '' : `, and ${countText(others, 'other')}`
  const who = `${countText(count, 'worker')} lost in the last 10 minutes`
  return { count, text: `${who}: ${names.join(', ')}${more}` }
}

function stateOf({ info, problem }: Board, { ageMs, stale }: Freshness): Overview['health'] {
  if (ageMs === null || info === undefined) {
    return { isWell: false, text: problem ?? 'the scheduler has not reported yet' }
  }
  if (!stale) return healthOf(info)
  const seconds = Math.round(ageMs / 1_000)
  return { isWell: false, text: `the scheduler has not reported for ${seconds} s` }
}

/** Rows are the workers that ran something in the window, and those that run something now. */
function timelineOf(board: Board, window: TimeWindow, given: URLSearchParams): object {
  const { offset, limit } = rowsQuery(given)
  const now = board.info?.hosts.flatMap(({ host, workers }) => {
    return workers.map((worker) => ({ host, worker }))
  })
  const known = new Map(now?.map(({ host, worker }) => [worker.id, { host, worker }]))
  const present = [...known.keys()]
  const ids = [...new Set([...present, ...board.timeline.workersIn(window)])]
  const shown = ids.slice(offset, offset + limit)
  const workers = shown.map((id) => {
    const found = known.get(id)
    return {
      id,
      name: found?.worker.name ?? '',
      host: found?.host ?? '',
      isConnected: found !== undefined,
      running: found?.worker.running ?? [],
    }
  })
  const time = board.info?.time.getTime() ?? null
  return {
    ...window,
    time,
    total: ids.length,
    offset,
    limit,
    workers,
    ...board.timeline.read(window, shown),
    lastEnd: board.timeline.lastEnd ?? null,
  }
}

function workerOf(board: Board, id: string, { ageMs }: Freshness): object {
  const tasks = board.tasks
    .list()
    .filter(({ worker }) => worker === id)
    .slice(0, MAX_WORKER_TASKS)
    .map((task) => endedEntry(task, board.peers))
  const hosts = board.info?.hosts ?? []
  const host = hosts.find(({ workers }) => workers.some((worker) => worker.id === id))
  const worker = board.workers.get(id)
  if (worker === undefined && tasks.length === 0) throw new RequestError(404, 'no such worker')
  const silentS = host?.workers.find((each) => each.id === id)?.silentS
  const heartbeatS = silentS === undefined ? null : silentS + Math.round((ageMs ?? 0) / 1_000)
  return { id, host: host?.host ?? null, worker: worker ?? null, heartbeatS, tasks }
}

function graphOf(board: Board, wanted: string): object {
  const graph = board.graphs.find(({ id }) => id === wanted)
  if (graph === undefined) throw new RequestError(404, 'no such graph')
  return { graph, clientName: board.peers.client(graph.client).name }
}

/** `durations`: of the tasks whose ends were reported here. */
function functionOf(board: Board, name: string): object {
  const found = board.info?.functions.find((each) => each.name === name)
  if (found === undefined) throw new RequestError(404, 'no such function')
  return { function: found, durations: board.durations.of(name) }
}

/** What is known here of a task; null if it is not. Its failure is that of its group. */
export function knownTask(
  board: Board,
  id: string,
): { readonly task: TaskEntry | null; readonly error: object | null } {
  const reader = rowsReader('tasks', { offset: 0, limit: 1, sort: [], filter: [`task=${id}`] })
  const [row] = reader?.(board).rows ?? []
  const failure = board.info?.failures.findLast(({ task }) => task === id)
  const error = failure && {
    name: failure.errorName,
    message: failure.message,
    stack: failure.stack,
  }
  return { task: (row as TaskEntry | undefined) ?? null, error: error ?? null }
}

/** A client of which only the identity is given. */
export interface KnownClient extends PeerName {
  readonly id: string
  readonly isConnected: boolean
}

/** What is known here of a client; null without an identity. */
export function knownClient(board: Board, id: string | null | undefined): KnownClient | null {
  if (id === null || id === undefined) return null
  const isConnected = board.info?.clients.some((client) => client.id === id) === true
  return { id, ...board.peers.client(id), isConnected }
}

/** Throws `RequestError` for a malformed part of a path. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new RequestError(400, 'the path is not valid UTF-8')
  }
}

// The tables of the page, by name: their rows, their ids, and the columns by which the API sorts
// and filters them. Those of workers and clients are the columns of the listing commands.

import type { ClusterInfo, FunctionInfo, TaskEnded } from '../../client/monitor/cluster-info.js'
import type { GraphInfo } from '../../client/monitor/graph-info.js'
import { CLIENT_COLUMNS, WORKER_FACTS } from '../report/columns.js'
import { type Column, readFilter, readOrder } from '../table.js'
import type { Board } from './board.js'
import type { LogEntry } from './event-log.js'
import type { FailureGroup, PeerCount } from './failure-groups.js'
import type { NamedCount, PeerName, PeerNames } from './peer-names.js'
import { asParameter, type RowsQuery } from './query.js'
import type { WorkerEntry } from './worker-entries.js'

/**
 * A task that runs or has ended, or the tasks of one function that wait for the same: schedulers do
 * not list these one by one. What is not known is undefined.
 */
export interface TaskEntry {
  /** Empty: they wait. */
  readonly id: string
  readonly count: number
  readonly name: string
  readonly function: string
  /** `running`, `waiting`, or how it ended. */
  readonly state: 'running' | 'waiting' | TaskEnded['status']
  /** waiting: the reason, and what they require. */
  readonly waitsFor: string
  readonly worker: string | undefined
  readonly client: string | undefined
  /** Empty if it has none, or is not known. */
  readonly clientName: string
  readonly attempts: number | undefined
  /** How long it waited before its last attempt, or the first of them has waited. */
  readonly queuedMs: number | undefined
  /** How long its function took; running: for how many whole seconds it has run. */
  readonly durationMs: number | undefined
  /** When it ended. */
  readonly ended: Date | undefined
  readonly errorName: string
}

/** A graph without its nodes. */
export type GraphEntry = Omit<GraphInfo, 'layers' | 'nodes' | 'edges'> & {
  /** How many nodes it has. */
  readonly total: number
  /** The name of its client; empty if it has none. */
  readonly clientName: string
}

/** Failures that are alike, with the names of those whom they concern. */
export type FailureEntry = Omit<FailureGroup, 'workers' | 'clients'> & {
  readonly workers: readonly NamedCount[]
  readonly clients: readonly NamedCount[]
}

/** Some rows of a table. `total`: how many satisfy the filters. */
interface RowsAnswer {
  readonly total: number
  readonly offset: number
  readonly limit: number
  readonly rows: readonly object[]
}

/** A table. */
interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: (board: Board, info: ClusterInfo) => readonly Row[]
  /** Identifies a row among the others. */
  readonly id: (row: Row) => string
}

const WORKER_COLUMNS: readonly Column<WorkerEntry>[] = [
  ...WORKER_FACTS,
  text('running', ({ running }) => running.map(({ name, task }) => `${name} ${task}`).join(' ')),
]

/** By name or identity: either is equal to it. */
const CLIENT: Column<{ readonly client: string | undefined; readonly clientName: string }> = {
  name: 'client',
  cell: ({ client }) => client ?? '',
  value: ({ client, clientName }) => clientName || client,
  isText: true,
}

const TASK_COLUMNS: readonly Column<TaskEntry>[] = [
  text('task', ({ id }) => id),
  text('name', ({ name, function: of }) => name || of),
  text('function', (task) => task.function),
  text('state', ({ state }) => state),
  text('worker', ({ worker }) => worker),
  CLIENT,
  text('error', ({ errorName }) => errorName),
  number('attempts', ({ attempts }) => attempts),
  number('queued', ({ queuedMs }) => seconds(queuedMs)),
  number('duration', ({ durationMs }) => seconds(durationMs)),
  number('ended', ({ ended }) => ended?.getTime()),
  // What a search looks through.
  text('any', (task) => {
    const client = `${task.clientName} ${task.client ?? ''}`
    return `${task.id} ${task.name} ${task.function} ${client} ${task.errorName}`
  }),
]

const FUNCTION_COLUMNS: readonly Column<FunctionInfo>[] = [
  text('function', ({ name }) => name),
  number('ended', ({ count }) => count),
  number('failed', ({ failed }) => failed),
  number('mean', ({ meanMs }) => seconds(meanMs)),
  number('p50', ({ p50Ms }) => seconds(p50Ms)),
  number('p90', ({ p90Ms }) => seconds(p90Ms)),
  number('p99', ({ p99Ms }) => seconds(p99Ms)),
  number('max', ({ maxMs }) => seconds(maxMs)),
  number('memory', ({ peakBytes }) => peakBytes),
]

const FAILURE_COLUMNS: readonly Column<FailureEntry>[] = [
  text('function', (group) => group.function),
  text('error', ({ errorName }) => errorName),
  text('message', ({ message }) => message),
  number('count', ({ count }) => count),
  number('last', ({ last }) => last.getTime()),
  text('worker', ({ workers }) => peersText(workers)),
  text('client', ({ clients }) => peersText(clients)),
  text('task', ({ tasks }) => tasks.join(' ')),
]

const GRAPH_COLUMNS: readonly Column<GraphEntry>[] = [
  text('graph', ({ id }) => id),
  CLIENT,
  text('state', ({ status }) => status),
  number('nodes', ({ total }) => total),
  number('done', ({ total, counts }) => (total === 0 ? 0 : counts.succeeded / total)),
  number('failed', ({ counts }) => counts.failed),
  number('begun', ({ begun }) => begun.getTime()),
  number('ended', ({ ended }) => ended?.getTime()),
]

const LOG_COLUMNS: readonly Column<LogEntry>[] = [
  number('time', ({ time }) => time.getTime()),
  text('kind', ({ kind }) => kind),
  text('text', (entry) => entry.text),
  text('level', ({ isBad }) => (isBad ? 'attention' : 'info')),
]

const LISTINGS = new Map([
  [
    'workers',
    listing({
      columns: WORKER_COLUMNS,
      rows: ({ workers }) => workers.all,
      id: ({ id }) => id,
    }),
  ],
  ['tasks', listing({ columns: TASK_COLUMNS, rows: taskEntries, id: taskKey })],
  ['graphs', listing({ columns: GRAPH_COLUMNS, rows: graphEntries, id: ({ id }) => id })],
  ['log', listing({ columns: LOG_COLUMNS, rows: ({ log }) => log.list(), id: ({ id }) => id })],
  [
    'functions',
    listing({
      columns: FUNCTION_COLUMNS,
      rows: (_, { functions }) => functions,
      id: ({ name }) => name,
    }),
  ],
  [
    'clients',
    listing({
      columns: CLIENT_COLUMNS,
      rows: (_, { clients }) => clients,
      id: ({ id }) => id,
    }),
  ],
  [
    'failures',
    listing({
      columns: FAILURE_COLUMNS,
      rows: failureEntries,
      id: ({ id }) => id,
    }),
  ],
])

/** The names of the tables. */
export const TABLES: readonly string[] = [...LISTINGS.keys()]

/** Reads a table. */
type RowsReader = (board: Board) => RowsAnswer & { readonly ids: readonly string[] }

/**
 * Prepares to read the rows of a table that a query asks for, again and again. Undefined if there
 * is no such table. Throws `RequestError` for a bad query.
 */
export function rowsReader(table: string, query: RowsQuery): RowsReader | undefined {
  return LISTINGS.get(table)?.(query)
}

function listing<Row extends object>(table: Listing<Row>): (query: RowsQuery) => RowsReader {
  const { columns, id } = table
  return ({ offset, limit, sort, filter }) => {
    const order = asParameter(() => readOrder(columns, sort))
    const filters = filter.map((each) => asParameter(() => readFilter(columns, each)))
    return (board) => {
      const all = board.info === undefined ? [] : table.rows(board, board.info)
      const chosen = order(all.filter((row) => filters.every((isChosen) => isChosen(row))))
      const rows = chosen.slice(offset, offset + limit)
      return { total: chosen.length, offset, limit, rows, ids: rows.map(id) }
    }
  }
}

/** What waits; what runs, as of the last heartbeats, the longest first; what has ended. */
function taskEntries(board: Board, info: ClusterInfo): readonly TaskEntry[] {
  const waiting = info.waiting.map(({ reason, requirement, function: name, count, seconds: s }) => {
    const waitsFor = requirement === '' ? reason : `${reason} (${requirement})`
    const queuedMs = s === 0 ? undefined : Math.round(s) * 1_000
    return {
      ...NO_TASK,
      count,
      name: '',
      function: name,
      state: 'waiting',
      waitsFor,
      queuedMs,
    } as const
  })
  const timeMs = info.time.getTime()
  const running = board.workers.all.flatMap(({ running: runs, id: worker }) => {
    return runs
      .filter(({ task }) => board.tasks.get(task) === undefined)
      .map(({ task, name, function: fn, since }): TaskEntry => {
        const durationMs = Math.max(0, Math.floor((timeMs - since.getTime()) / 1_000) * 1_000)
        return { ...NO_TASK, id: task, name, function: fn, state: 'running', worker, durationMs }
      })
  })
  running.sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))
  return [...waiting, ...running, ...endedEntries(board)]
}

function endedEntries({ tasks, peers }: Board): readonly TaskEntry[] {
  return tasks.list().map((task) => endedEntry(task, peers))
}

const NO_TASK = {
  id: '',
  count: 1,
  waitsFor: '',
  worker: undefined,
  client: undefined,
  clientName: '',
  attempts: undefined,
  queuedMs: undefined,
  durationMs: undefined,
  ended: undefined,
  errorName: '',
} as const

function taskKey({ id, function: name, waitsFor }: TaskEntry): string {
  return id === '' ? `${waitsFor}: ${name}` : id
}

function failureEntries({ failures, peers }: Board): readonly FailureEntry[] {
  return failures.list().map((group) => ({
    ...group,
    workers: named(group.workers, (id) => peers.worker(id)),
    clients: named(group.clients, (id) => peers.client(id)),
  }))
}

function named(
  peers: readonly PeerCount[],
  nameOf: (id: string) => PeerName,
): readonly NamedCount[] {
  return peers.map(({ id, count }) => ({ id, ...nameOf(id), count }))
}

function peersText(peers: readonly NamedCount[]): string {
  return peers.map(({ id, name }) => `${name} ${id}`).join(' ')
}

function graphEntries({ graphs, peers }: Board): readonly GraphEntry[] {
  return graphs.map(({ id, client, status, begun, ended, counts }) => {
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    const clientName = peers.client(client).name
    return { id, client, status, begun, ended, counts, total, clientName }
  })
}

/** The row of a task that has ended. */
export function endedEntry(task: TaskEnded, peers: PeerNames): TaskEntry {
  const { name, worker, client, attempts, queuedMs, durationMs, errorName } = task
  return {
    ...NO_TASK,
    id: task.task,
    name,
    function: task.function,
    state: task.status,
    worker,
    client,
    clientName: peers.client(client).name,
    attempts,
    queuedMs,
    durationMs,
    ended: task.time,
    errorName,
  }
}

function text<Row>(name: string, read: (row: Row) => string | undefined): Column<Row> {
  return { name, cell: (row) => read(row) ?? '', isText: true }
}

function number<Row>(name: string, read: (row: Row) => number | undefined): Column<Row> {
  return { name, cell: (row) => String(read(row) ?? ''), value: read }
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000
}

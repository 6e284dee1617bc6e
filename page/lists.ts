// The views that are one table: workers, tasks, functions, clients.

import type { ConnectedClient, FunctionInfo } from '../src/client/monitor/cluster-info.js'
import type { LogEntry } from '../src/cli/ui/event-log.js'
import type { GraphEntry, TaskEntry } from '../src/cli/ui/rows.js'
import type { WorkerEntry } from '../src/cli/ui/worker-entries.js'
import type { Json, PageState } from './api.js'
import { sparkline } from './distribution.js'
import { make, viewLink } from './dom.js'
import {
  bytes,
  clock,
  count,
  counted,
  duration,
  functionName,
  nameIn,
  percent,
  shortId,
  shortWorker,
  UNKNOWN,
} from './format.js'
import { DataTable, type TableColumn, type TableSetup } from './table.js'
import type { View, ViewHost } from './view.js'

type Worker = Json<WorkerEntry>
type Task = Json<TaskEntry>
type Client = Json<ConnectedClient>
type Function = Json<FunctionInfo>
type Graph = Json<GraphEntry>
type Line = Json<LogEntry>

class ListView<Row> implements View {
  readonly title: string
  readonly element: HTMLElement
  readonly #name: string
  readonly #table: DataTable<Row>

  constructor(name: string, setup: TableSetup<Row>, host: ViewHost) {
    this.title = setup.caption
    this.#name = name
    this.#table = new DataTable(setup, () => host.reopen())
    this.element = make('div', {}, make('h1', {}, setup.caption), this.#table.element)
  }

  stream(): string {
    return `?view=${this.#name}&${this.#table.query}`
  }

  update(state: PageState): void {
    this.#table.show(state)
  }

  close(): void {}
}

/** How a state is coloured. */
export function stateMark(state: string): string {
  if (state === 'failed' || state === 'workerDied' || state === 'noWorker') return 'bad'
  return state === 'success' || state === 'succeeded' ? 'good' : ''
}

/** The columns of tasks, also on the page of a worker. */
export const TASK_COLUMNS: readonly TableColumn<Task>[] = [
  {
    title: 'task',
    sort: 'task',
    cell: ({ id, count: tasks }) => {
      return id === '' ? counted(tasks, 'task') : viewLink(shortId(id), 'tasks', id)
    },
  },
  { title: 'name', sort: 'name', cell: (task) => functionName(task.name || task.function) },
  {
    title: 'state',
    sort: 'state',
    cell: ({ state, errorName, waitsFor }) => {
      return [state, errorName || waitsFor].filter((part) => part !== '').join(': ')
    },
    mark: ({ state }) => stateMark(state),
  },
  {
    title: 'took',
    sort: 'duration',
    cell: ({ durationMs }) => duration(durationMs),
    isNumber: true,
  },
  {
    title: 'waited',
    sort: 'queued',
    cell: ({ queuedMs }) => duration(queuedMs),
    isNumber: true,
    isExtra: true,
  },
  {
    title: 'attempts',
    sort: 'attempts',
    cell: ({ attempts }) => count(attempts),
    isNumber: true,
    isExtra: true,
  },
  { title: 'ended', sort: 'ended', cell: ({ ended }) => clock(ended), isNumber: true },
  {
    title: 'worker',
    sort: 'worker',
    cell: ({ worker }) =>
      worker === null ? UNKNOWN : viewLink(shortWorker(worker), 'workers', worker),
    isExtra: true,
  },
  {
    title: 'client',
    sort: 'client',
    cell: ({ client, clientName }) => {
      return client === null ? UNKNOWN : viewLink(clientName || nameIn(client), 'clients', client)
    },
    isExtra: true,
  },
]

const WORKER_COLUMNS: readonly TableColumn<Worker>[] = [
  {
    title: 'worker',
    sort: 'worker',
    cell: ({ id, name }) => viewLink(name || shortWorker(id), 'workers', id),
  },
  { title: 'host', sort: 'host', cell: ({ host }) => host || UNKNOWN },
  {
    title: 'state',
    sort: 'state',
    cell: ({ state, silentSince }, now) => {
      return silentSince === null ? state : `${state}, silent for ${since(silentSince, now)}`
    },
    mark: ({ silentSince }) => (silentSince === null ? '' : 'bad'),
  },
  { title: 'queued', sort: 'queued', cell: ({ queued }) => count(queued), isNumber: true },
  { title: 'cpu', sort: 'cpu', cell: ({ cpu }) => percent(cpu), isNumber: true },
  {
    title: 'cpu, last 5 min (0 to 100 %)',
    cell: ({ past }) => sparkline(past, 100, percent),
    isExtra: true,
  },
  { title: 'memory', sort: 'memory', cell: ({ rssBytes }) => bytes(rssBytes), isNumber: true },
  {
    title: 'lag',
    sort: 'lag',
    cell: ({ lagMs }) => duration(lagMs),
    isNumber: true,
    isExtra: true,
  },
  {
    title: 'runs',
    sort: 'running',
    cell: ({ running: [first] }, now) => {
      return first === undefined ? '' : `${functionName(first.name)} for ${since(first.since, now)}`
    },
    isExtra: true,
  },
  {
    title: 'capabilities',
    sort: 'capabilities',
    cell: ({ capabilities }) => capabilitiesText(capabilities),
    isExtra: true,
  },
]

/** How long ago something was, in whole seconds. */
export function since(time: string, now: number): string {
  return duration(Math.max(0, Math.floor((now - Date.parse(time)) / 1_000)) * 1_000)
}

/** `gpu=1, linux` */
export function capabilitiesText(capabilities: Readonly<Record<string, number>>): string {
  return Object.entries(capabilities)
    .map(([name, value]) => (value < 0 ? name : `${name}=${value}`))
    .join(', ')
}

const FUNCTION_COLUMNS: readonly TableColumn<Function>[] = [
  {
    title: 'function',
    sort: 'function',
    cell: ({ name }) => viewLink(functionName(name), 'functions', name),
  },
  { title: 'ended', sort: 'ended', cell: (row) => count(row.count), isNumber: true },
  {
    title: 'failed',
    sort: 'failed',
    cell: ({ failed }) => count(failed),
    isNumber: true,
    mark: ({ failed }) => (failed > 0 ? 'bad' : ''),
  },
  { title: 'mean', sort: 'mean', cell: (row) => duration(row.meanMs), isNumber: true },
  { title: 'half', sort: 'p50', cell: (row) => duration(row.p50Ms), isNumber: true },
  { title: '90 %', sort: 'p90', cell: (row) => duration(row.p90Ms), isNumber: true, isExtra: true },
  { title: '99 %', sort: 'p99', cell: (row) => duration(row.p99Ms), isNumber: true },
  { title: 'longest', sort: 'max', cell: (row) => duration(row.maxMs), isNumber: true },
  {
    title: 'memory',
    sort: 'memory',
    cell: ({ peakBytes }) => bytes(peakBytes),
    isNumber: true,
    isExtra: true,
  },
]

const CLIENT_COLUMNS: readonly TableColumn<Client>[] = [
  { title: 'client', sort: 'client', cell: ({ id, name }) => name || id },
  { title: 'host', sort: 'host', cell: ({ host }) => host || UNKNOWN },
  { title: 'unfinished', sort: 'unfinished', cell: (row) => count(row.unfinished), isNumber: true },
  { title: 'stored', sort: 'stored', cell: (row) => bytes(row.bytes), isNumber: true },
  {
    title: 'created in a task on',
    sort: 'worker',
    cell: ({ worker }) => (worker === null ? '' : viewLink(shortWorker(worker), 'workers', worker)),
    isExtra: true,
  },
]

const GRAPH_COLUMNS: readonly TableColumn<Graph>[] = [
  { title: 'graph', sort: 'graph', cell: ({ id }) => viewLink(shortId(id), 'graphs', id) },
  { title: 'client', sort: 'client', cell: ({ clientName, client }) => clientName || client },
  {
    title: 'state',
    sort: 'state',
    cell: ({ status }) => status,
    mark: ({ status }) => stateMark(status),
  },
  { title: 'nodes', sort: 'nodes', cell: ({ total }) => count(total), isNumber: true },
  {
    title: 'succeeded',
    sort: 'done',
    cell: ({ counts, total }) => percent(total === 0 ? 0 : (100 * counts.succeeded) / total),
    isNumber: true,
  },
  { title: 'running', cell: ({ counts }) => count(counts.running), isNumber: true },
  {
    title: 'failed',
    sort: 'failed',
    cell: ({ counts }) => count(counts.failed),
    isNumber: true,
    mark: ({ counts }) => (counts.failed > 0 ? 'bad' : ''),
  },
  { title: 'began', sort: 'begun', cell: ({ begun }) => clock(begun), isNumber: true },
  {
    title: 'takes',
    cell: ({ begun, ended }, now) => {
      return ended === null ? since(begun, now) : duration(Date.parse(ended) - Date.parse(begun))
    },
    isNumber: true,
    isExtra: true,
  },
]

const LOG_COLUMNS: readonly TableColumn<Line>[] = [
  { title: 'time', sort: 'time', cell: ({ time }) => clock(time) },
  { title: 'kind', sort: 'kind', cell: ({ kind }) => kind, isExtra: true },
  {
    title: 'what',
    cell: ({ text, task, worker, since: sinceFirst }) => {
      const whole = sinceFirst === null ? text : `${text} (since ${clock(sinceFirst)})`
      if (task !== null) return viewLink(whole, 'tasks', task)
      return worker === null ? whole : viewLink(whole, 'workers', worker)
    },
    mark: ({ isBad }) => (isBad ? 'wrap bad' : 'wrap'),
  },
]

const WORKERS: TableSetup<Worker> = {
  caption: 'Workers',
  columns: WORKER_COLUMNS,
  sort: 'host',
  search: { column: 'worker', label: 'id contains' },
  choice: { column: 'state', values: ['busy', 'idle', 'starting', 'leaving'] },
  isLive: ({ running, silentSince }) => running.length > 0 || silentSince !== null,
}

const TASKS: TableSetup<Task> = {
  caption: 'Tasks',
  columns: TASK_COLUMNS,
  search: { column: 'any', label: 'id, name, function or client contains' },
  choice: {
    column: 'state',
    values: ['waiting', 'running', 'success', 'failed', 'canceled', 'workerDied', 'noWorker'],
  },
  note:
    'Waiting tasks are counted by function and reason: the scheduler does not list them ' +
    'one by one. Tasks appear as running with the next heartbeat of their worker.',
}

const GRAPHS: TableSetup<Graph> = {
  caption: 'Graphs',
  columns: GRAPH_COLUMNS,
  search: { column: 'client', label: 'client contains' },
  choice: {
    column: 'state',
    values: ['running', 'canceling', 'success', 'failed', 'canceled'],
  },
  isLive: ({ ended }) => ended === null,
  isReported: ({ graphs }) => graphs !== null,
  note: 'The oldest graphs that have not ended, and the last ones that have.',
}

const LOG: TableSetup<Line> = {
  caption: 'Log',
  columns: LOG_COLUMNS,
  search: { column: 'text', label: 'text contains' },
  choice: { column: 'kind', values: ['scheduler', 'worker', 'client', 'failure'] },
  note:
    'The last 2,000 lines, the newest first, since this server has been watching. What happens ' +
    'again within a minute is one line that counts, with the time of the last one.',
}

const FUNCTIONS: TableSetup<Function> = {
  caption: 'Functions',
  columns: FUNCTION_COLUMNS,
  sort: '-ended',
  search: { column: 'function', label: 'name contains' },
  note: 'Percentiles of more than 20 tasks are within 5 %.',
}

const CLIENTS: TableSetup<Client> = {
  caption: 'Clients',
  columns: CLIENT_COLUMNS,
  search: { column: 'client', label: 'name or id contains' },
}

/** The view of this name; undefined if it is not one of these. `searched`: of clients. */
export function listView(name: string, host: ViewHost, searched?: string): View | undefined {
  switch (name) {
    case 'workers':
      return new ListView(name, WORKERS, host)
    case 'tasks':
      return new ListView(name, TASKS, host)
    case 'graphs':
      return new ListView(name, GRAPHS, host)
    case 'log':
      return new ListView(name, LOG, host)
    case 'functions':
      return new ListView(name, FUNCTIONS, host)
    case 'clients':
      return new ListView(name, { ...CLIENTS, searched }, host)
    default:
      return undefined
  }
}

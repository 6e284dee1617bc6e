// The columns of the tables about a cluster, for `scaler status`, the listing commands and the web
// monitor, and how sizes and times are written in them and in `scaler top`.

import type {
  AllocatorInfo,
  ClusterInfo,
  ConnectedClient,
  FailureInfo,
  LostWorker,
  StorageServerInfo,
  WaitingInfo,
  WorkerInfo,
} from '../../client/monitor/cluster-info.js'
import type { ExplainedTask, ObjectInfo } from '../../client/monitor/operator-reply.js'
import { sizeText } from '../../base/text.js'
import { type Column, grouped, plainText, UNKNOWN } from '../table.js'
import { comparedNeeds, LOSS_TEXTS } from './problem.js'

/** A worker with its host. */
export type WorkerRow = WorkerInfo & { readonly host: string }

/** The workers of all hosts. */
export function workerRows({ hosts }: ClusterInfo): readonly WorkerRow[] {
  return hosts.flatMap(({ host, workers }) => workers.map((worker) => ({ host, ...worker })))
}

/** A worker without what depends on the time at which it is looked at. */
type WorkerFacts = Omit<WorkerRow, 'running' | 'silentS'>

/** Columns of workers, except for what they run. */
export const WORKER_FACTS: readonly Column<WorkerFacts>[] = [
  { name: 'worker', cell: ({ id }) => id, aliases: ({ name }) => [name] },
  { name: 'state', cell: ({ state }) => state, isText: true },
  { name: 'queued', cell: ({ queued }) => grouped(queued), value: ({ queued }) => queued },
  { name: 'cpu', cell: ({ cpu }) => `${cpu} %`, value: ({ cpu }) => cpu },
  { name: 'memory', cell: ({ rssBytes }) => sizeText(rssBytes), value: ({ rssBytes }) => rssBytes },
  { name: 'lag', cell: ({ lagMs }) => `${lagMs} ms`, value: ({ lagMs }) => lagMs / 1_000 },
  { name: 'host', isExtra: true, cell: ({ host }) => host, isText: true },
  { name: 'name', isExtra: true, cell: ({ name }) => name, isText: true },
  {
    name: 'capabilities',
    isExtra: true,
    cell: ({ capabilities }) => capabilitiesText(capabilities),
    isText: true,
  },
  { name: 'version', isExtra: true, cell: ({ version }) => version ?? UNKNOWN, isText: true },
]

/** What workers run. */
const RUNNING: Column<WorkerRow> = {
  name: 'running',
  cell: runningText,
  value: ({ running }) => running.map(({ name, task }) => `${name} ${task}`).join(' '),
  isText: true,
}

/** Columns of workers. */
export const WORKER_COLUMNS: readonly Column<WorkerRow>[] = [
  ...WORKER_FACTS.filter(({ isExtra }) => isExtra !== true),
  RUNNING,
  ...WORKER_FACTS.filter(({ isExtra }) => isExtra === true),
]

function runningText({ running }: WorkerInfo): string {
  const [first] = running
  if (first === undefined) return ''
  const more = running.length > 1 ? ` +${running.length - 1}` : ''
  const name = first.name === '' ? first.task.slice(0, SHORT_ID) : first.name
  return `${name} ${span(first.sinceMs / 1_000)}${more}`
}

/** `gpu=2, linux` */
export function capabilitiesText(capabilities: WorkerInfo['capabilities']): string {
  return Object.entries(capabilities)
    .map(([name, value]) => (value < 0 ? name : `${name}=${value}`))
    .join(', ')
}

/** Ids of tasks are shown up to here; that is almost always enough to name one. */
export const SHORT_ID = 8

/** A task that runs, or the tasks of one function that wait for the same reason. */
export interface TaskRow {
  /** Undefined: they wait. */
  readonly task: string | undefined
  readonly name: string
  /** `running`, or the reason for waiting. */
  readonly state: string
  /** What they require. */
  readonly requirement: string
  readonly count: number
  /** For how long: it has run, or the first of them has waited; undefined if that is unknown. */
  readonly seconds: number | undefined
  readonly worker: string | undefined
  readonly host: string | undefined
  /** Undefined if it is not known: it is known of tasks that wait. */
  readonly client: string | undefined
  /** Its name. */
  readonly clientName: string | undefined
}

/** Where a task is of which that is not known. */
const NOWHERE = {
  worker: undefined,
  host: undefined,
  client: undefined,
  clientName: undefined,
} as const

/** What runs, as of the last heartbeats, and how many tasks of each function wait and why. */
export function taskRows(info: ClusterInfo): readonly TaskRow[] {
  const waiting = info.waiting.map((kind): TaskRow => {
    const { function: name, reason: state, ...rest } = kind
    return { name, state, ...rest, seconds: waitedSeconds(kind), task: undefined, ...NOWHERE }
  })
  return [...runningRows(info), ...waiting]
}

/** For how long tasks have waited; undefined for nodes of graphs: that is not measured. */
export function waitedSeconds({ reason, seconds }: WaitingInfo): number | undefined {
  return reason === 'dependency' && seconds === 0 ? undefined : seconds
}

/** Tasks that wait, each by itself. */
export function waitingRows(
  tasks: readonly ExplainedTask[],
  { clients }: ClusterInfo,
): readonly TaskRow[] {
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return tasks.map(({ task, name, function: fn, reason, requirement, seconds, client }) => ({
    ...NOWHERE,
    task,
    name: name ?? fn ?? '',
    state: reason ?? 'waiting',
    requirement: requirement ?? '',
    count: 1,
    seconds: seconds ?? undefined,
    client: client ?? undefined,
    clientName: client === null ? undefined : names.get(client) || peerName(client),
  }))
}

/** What runs, as of the last heartbeats. */
export function runningRows(info: ClusterInfo): readonly TaskRow[] {
  return workerRows(info).flatMap(({ running: runs, id, host }) => {
    return runs.map(({ task, name, sinceMs }): TaskRow => {
      return {
        ...NOWHERE,
        task,
        name,
        state: 'running',
        requirement: '',
        count: 1,
        seconds: sinceMs / 1_000,
        worker: id,
        host,
      }
    })
  })
}

/** What tasks require; where there is too little room for all of it, in what that differs. */
export const NEEDS_COLUMN: Column<{ readonly requirement: string }> = {
  name: 'needs',
  cell: ({ requirement }) => requirement,
  isText: true,
  shorten: (cells) => {
    const different = new Set(cells.filter((text) => text !== ''))
    if (different.size < 2) return cells
    const { common } = comparedNeeds([...different])
    if (common.length === 0) return cells
    return cells.map((text) => {
      const rest = text.split(', ').filter((need) => !common.includes(need))
      return text === '' || rest.length === 0 ? text : ['…', ...rest].join(', ')
    })
  },
}

/** Columns of tasks. */
export const TASK_COLUMNS: readonly Column<TaskRow>[] = [
  { name: 'name', cell: ({ name }) => functionName(name), value: ({ name }) => name },
  { name: 'state', cell: ({ state }) => state, isText: true },
  { name: 'count', cell: ({ count }) => grouped(count), value: ({ count }) => count },
  { name: 'for', cell: ({ seconds }) => span(seconds), value: ({ seconds }) => seconds },
  {
    name: 'task',
    cell: ({ task }) => task?.slice(0, SHORT_ID) ?? '',
    value: ({ task }) => task,
    isText: true,
  },
  NEEDS_COLUMN,
  {
    name: 'worker',
    isExtra: true,
    cell: ({ worker }) => worker ?? '',
    value: ({ worker }) => worker,
    aliases: ({ worker }) => [worker && peerName(worker)],
    isText: true,
  },
  {
    name: 'host',
    isExtra: true,
    cell: ({ host }) => host ?? '',
    value: ({ host }) => host,
    isText: true,
  },
  {
    name: 'client',
    isExtra: true,
    cell: ({ clientName }) => clientName ?? '',
    value: ({ client }) => client,
    isText: true,
  },
]

/** Columns of allocators. */
export const ALLOCATOR_COLUMNS: readonly Column<AllocatorInfo>[] = [
  { name: 'allocator', cell: ({ name }) => name },
  { name: 'provider', cell: ({ provider }) => provider, isText: true },
  { name: 'running', cell: (row) => grouped(row.running), value: (row) => row.running },
  { name: 'pending', cell: (row) => grouped(row.pending), value: (row) => row.pending },
  { name: 'action', cell: (row) => (row.paused ? 'paused' : row.action), isText: true },
  {
    name: 'reason',
    cell: ({ reason }) => plainText(reason),
    isText: true,
    // Cut where it is too long, but not left out.
    shorten: (cells) => cells,
  },
  { name: 'room', isExtra: true, cell: (row) => grouped(row.room), value: (row) => row.room },
]

/** Columns of object storage servers. */
export const STORAGE_SERVER_COLUMNS: readonly Column<StorageServerInfo>[] = [
  { name: 'object storage server', cell: ({ address }) => plainText(address) },
  { name: 'state', cell: ({ state }) => state, isText: true },
  { name: 'objects', cell: ({ objects }) => grouped(objects), value: ({ objects }) => objects },
  { name: 'stored', cell: ({ bytes }) => sizeText(bytes), value: ({ bytes }) => bytes },
]

/** Columns of clients. */
export const CLIENT_COLUMNS: readonly Column<ConnectedClient>[] = [
  {
    name: 'client',
    cell: ({ name, id }) => (name === '' ? id : `${name} (${id.split('|', 1)[0]})`),
    value: ({ name, id }) => `${name} ${id}`,
    aliases: ({ name, id }) => [name, id],
  },
  { name: 'host', isExtra: true, cell: ({ host }) => host, isText: true },
  { name: 'unfinished', cell: (row) => grouped(row.unfinished), value: (row) => row.unfinished },
  {
    name: 'stored',
    cell: ({ bytes }) => (bytes === undefined ? UNKNOWN : sizeText(bytes)),
    value: ({ bytes }) => bytes,
  },
  {
    name: 'worker',
    isExtra: true,
    cell: ({ worker }) => worker ?? '',
    value: ({ worker }) => worker,
    aliases: ({ worker }) => [worker && peerName(worker)],
    isText: true,
  },
  { name: 'name', cell: ({ name }) => name, isHidden: true },
  { name: 'id', isExtra: true, cell: ({ id }) => id, isText: true },
]

/** An object with the name of its owner: as given to the client, or its process id. */
type ObjectRow = ObjectInfo & { readonly ownerName: string | null }

/** Adds the names of their owners to objects. */
export function objectRows(
  objects: readonly ObjectInfo[],
  { clients }: ClusterInfo,
): readonly ObjectRow[] {
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return objects.map((object) => {
    const { owner } = object
    const ownerName = owner === null ? null : names.get(owner) || (owner.split('|', 1)[0] ?? null)
    return { ...object, ownerName }
  })
}

/** Columns of objects. Ids of one client begin alike. */
export const OBJECT_COLUMNS: readonly Column<ObjectRow>[] = [
  { name: 'object', cell: ({ id }) => id.slice(-SHORT_ID), value: ({ id }) => id, isText: true },
  { name: 'name', cell: ({ name }) => name, isText: true },
  { name: 'size', cell: (row) => sizeText(row.sizeBytes), value: (row) => row.sizeBytes },
  { name: 'age', cell: (row) => span(row.ageMs / 1_000), value: (row) => row.ageMs / 1_000 },
  { name: 'copies', cell: (row) => grouped(row.holderCount), value: (row) => row.holderCount },
  {
    name: 'owner',
    cell: ({ ownerName }) => ownerName ?? '',
    value: ({ ownerName, owner }) => `${ownerName ?? ''} ${owner ?? ''}`,
    aliases: ({ owner }) => [owner ?? undefined],
    isText: true,
  },
  { name: 'users', isExtra: true, cell: ({ users }) => grouped(users), value: (row) => row.users },
  {
    name: 'place',
    isExtra: true,
    cell: ({ place, server }) => (server === null ? place : plainText(server)),
    value: ({ place, server }) => `${place} ${server ?? ''}`,
    isText: true,
  },
]

/** A worker that was lost, and how long ago that was, in seconds. */
export type LostRow = LostWorker & { readonly secondsAgo: number }

/** The last lost worker first. */
export function lostRows({ lost, time }: ClusterInfo): readonly LostRow[] {
  return (lost?.workers ?? []).toReversed().map((worker) => {
    return { ...worker, secondsAgo: Math.max(0, (time.getTime() - worker.time.getTime()) / 1_000) }
  })
}

/** Columns of lost workers. */
export const LOST_COLUMNS: readonly Column<LostRow>[] = [
  { name: 'lost', cell: ({ id }) => id },
  { name: 'ago', cell: (row) => span(row.secondsAgo), value: (row) => row.secondsAgo },
  { name: 'had', cell: lostTasksText, isText: true },
  {
    name: 'cause',
    cell: ({ cause, hasReturned }) => (hasReturned ? 'has returned' : LOSS_TEXTS[cause]),
    isText: true,
  },
  { name: 'host', isExtra: true, cell: ({ host }) => host, isText: true },
  { name: 'name', isExtra: true, cell: ({ name }) => name, isText: true },
]

function lostTasksText({ tasks: [first], taskCount }: LostWorker): string {
  if (first === undefined) return 'no task'
  const more = taskCount > 1 ? ` +${grouped(taskCount - 1)}` : ''
  return `${functionName(first.name)} ${first.task.slice(0, SHORT_ID)}${more}`
}

/** A failure, how long ago it was, in seconds, and short names of its worker and client. */
export interface FailureRow extends FailureInfo {
  readonly secondsAgo: number
  readonly workerName: string
  readonly clientName: string
}

/** The last failure first. */
export function failureRows({ failures, time, clients }: ClusterInfo): readonly FailureRow[] {
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return failures.toReversed().map((failure) => {
    const secondsAgo = Math.max(0, (time.getTime() - failure.time.getTime()) / 1_000)
    const { client = '', worker = '' } = failure
    const clientName = names.get(client) || peerName(client)
    return { ...failure, secondsAgo, workerName: peerName(worker), clientName }
  })
}

/** The name in an identity, `<pid>|<name>|<hex digits>`; the beginning of any other identity. */
export function peerName(id: string): string {
  return /^\d+\|(.+)\|[0-9a-f]+$/s.exec(id)?.[1] ?? id.slice(0, SHORT_ID)
}

type ErrorParts = Pick<FailureInfo, 'errorName' | 'message'>

/** `RangeError: too far`: an error; '' if the worker does not report it. */
export function errorText({ errorName, message }: ErrorParts): string {
  return [errorName, message].filter((part) => part !== '').join(': ')
}

/** The same on one line; `–` if the worker does not report it. */
export function errorLine({ errorName, message }: ErrorParts): string {
  return errorText({ errorName, message: message.split('\n', 1)[0] ?? '' }) || UNKNOWN
}

/** Columns of failures. */
export const FAILURE_COLUMNS: readonly Column<FailureRow>[] = [
  {
    name: 'failure',
    cell: (row) => `${functionName(row.function)} ${errorLine(row)}`,
  },
  { name: 'ago', cell: (row) => span(row.secondsAgo), value: (row) => row.secondsAgo },
  {
    name: 'worker',
    cell: ({ workerName }) => workerName,
    value: ({ worker }) => worker ?? '',
    isText: true,
  },
  {
    name: 'task',
    cell: ({ task }) => task.slice(0, SHORT_ID),
    value: ({ task }) => task,
    isText: true,
  },
  {
    name: 'client',
    isExtra: true,
    cell: ({ clientName }) => clientName,
    value: ({ client }) => client ?? '',
    isText: true,
  },
  {
    name: 'attempts',
    isExtra: true,
    cell: (row) => String(row.attempts),
    value: (row) => row.attempts,
  },
  {
    name: 'name',
    isExtra: true,
    cell: (row) => (row.name === row.function ? '' : row.name),
    value: ({ name }) => name,
    isText: true,
  },
  { name: 'function', cell: (row) => row.function, isHidden: true },
  { name: 'error', cell: ({ errorName }) => errorName, isHidden: true },
  { name: 'message', cell: ({ message }) => message, isHidden: true },
]

/** `price()`. */
export function functionName(name: string): string {
  if (name === '') return '(unnamed)'
  return name.startsWith('(') || /[^\p{ID_Continue}$.]/u.test(name) ? name : `${name}()`
}

/** `12 s`, `3 min`, `5 h`, `2 d`; `–` if it is unknown. */
export function span(seconds: number | undefined): string {
  if (seconds === undefined) return UNKNOWN
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

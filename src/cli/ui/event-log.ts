// What has happened in the cluster, as lines for people: workers and clients that come and go,
// failures, problems, and what the scheduler did not report. What happens often is one line.

import type {
  ClusterEvent,
  ClusterInfo,
  ConnectedClient,
  FailureInfo,
  LostWorker,
  WorkerInfo,
} from '../../client/monitor/cluster-info.js'
import { errorLine, functionName } from '../report/columns.js'
import { LOSS_TEXTS, problemsOf } from '../report/problem.js'
import { countText, grouped } from '../table.js'
import { groupId } from './failure-groups.js'

/** A line. */
export interface LogEntry {
  /** Its number, counted from 1. */
  readonly id: string
  /** Of what happens again and again: the last time. */
  readonly time: Date
  /** When that began; undefined if it happened at one time only. */
  readonly since: Date | undefined
  readonly kind: 'scheduler' | 'worker' | 'client' | 'failure'
  /** Something is wrong. */
  readonly isBad: boolean
  readonly text: string
  /** What it is about. */
  readonly task: string | undefined
  readonly worker: string | undefined
}

type Line = Pick<LogEntry, 'time' | 'kind' | 'text'> &
  Partial<LogEntry> & { readonly repeat?: Repeat }

/** Lines with the same key follow each other as one line that counts. */
interface Repeat {
  readonly key: string
  readonly count: number
  /** When it happened first. */
  readonly first: Date
  readonly textOf: (count: number) => string
}

/** A line that counts. */
interface Counting {
  readonly entry: LogEntry
  readonly first: Date
  readonly count: number
}

const MAX_ENTRIES = 2_000
/** More peers than this that come or go together on one host are one line. */
const MAX_NAMED = 3
/** A problem that returns sooner is not a new one; what happens again sooner has no new line. */
const FORGET_MS = 60_000
/** Kinds of lines that are counted at a time. */
const MAX_COUNTING = 200

/** The last lines; at most 2,000. */
export class EventLog {
  readonly #entries: LogEntry[] = []
  #count = 0
  #uptimeS: number | undefined
  /** The losses that have a line, by worker: each state lists them again. */
  #losses = new Map<string, number>()
  /** The hosts of the workers of the last state. */
  #hosts: Hosts = new Map()
  /** Those that have come or gone since the last state. */
  #peers = newPeers()
  /** The problems, and when they were last seen. */
  readonly #problems = new Map<string, number>()
  /** By key; only entries that are listed. */
  readonly #counting = new Map<string, Counting>()

  /** The last line first. */
  list(): readonly LogEntry[] {
    return this.#entries.toReversed()
  }

  /** The scheduler reports again after this time. */
  onSilence(ms: number, nowMs: number): void {
    const text = `the scheduler had not reported for ${Math.round(ms / 1_000)} s`
    this.#add({ time: new Date(nowMs), kind: 'scheduler', text, isBad: true })
  }

  /** A report has come. `failures`: those that are new. */
  onReport(events: readonly ClusterEvent[], failures: readonly FailureInfo[], nowMs: number): void {
    const lines: Line[] = failureLines(failures)
    const info = events.findLast((event) => event.type === 'sample')?.info
    if (info !== undefined) lines.push(...this.#stateLines(info, nowMs))
    const time = new Date(nowMs)
    const peers = this.#peers
    let lost = 0
    for (const event of events) {
      if (event.type === 'lost') lost += event.count
      else if (event.type === 'client') peers[`${event.change}Clients`].push(event.client)
      else if (event.type === 'worker') peers[`${event.change}Workers`].push(event.worker)
    }
    // Only a state tells who was lost, and the hosts of workers.
    if (info !== undefined) {
      const hosts = hostsOf(info)
      lines.push(...peerLines(peers, { lost: info.lost, hosts, before: this.#hosts }, time))
      this.#hosts = hosts
      this.#peers = newPeers()
    }
    if (lost > 0) {
      const textOf = (count: number): string => {
        return `${countText(count, 'event')} not reported: too many at a time`
      }
      const repeat = { key: 'lost', count: lost, first: time, textOf }
      lines.push({ time, kind: 'scheduler', text: textOf(lost), isBad: true, repeat })
    }
    lines.sort((a, b) => a.time.getTime() - b.time.getTime())
    for (const line of lines) this.#add(line)
  }

  #stateLines(info: ClusterInfo, nowMs: number): readonly Line[] {
    const lines = [...this.#schedulerLines(info), ...this.#problemLines(info, nowMs)]
    const all = info.lost?.workers ?? []
    // The time of a loss is a little different in each state.
    const fresh = all.filter(({ id, time }) => {
      return Math.abs((this.#losses.get(id) ?? 0) - time.getTime()) >= 1_000
    })
    this.#losses = new Map(all.map(({ id, time }) => [id, time.getTime()]))
    return [...lines, ...lossLines(fresh)]
  }

  #schedulerLines(info: ClusterInfo): readonly Line[] {
    const { uptimeS, version, address } = info.scheduler
    const before = this.#uptimeS
    this.#uptimeS = uptimeS ?? 0
    const name = `the scheduler${address === undefined ? '' : ` at ${address}`}`
    const time = info.time
    if (before === undefined) {
      const text = `${name} reports${version === undefined ? '' : ` (version ${version})`}`
      return [{ time, kind: 'scheduler', text }]
    }
    if (uptimeS === undefined || uptimeS >= before) return []
    return [{ time, kind: 'scheduler', text: `${name} has been started again`, isBad: true }]
  }

  #problemLines(info: ClusterInfo, nowMs: number): readonly Line[] {
    const lines: Line[] = []
    // Lost workers have lines of their own.
    for (const { what, advice } of problemsOf({ ...info, lost: undefined })) {
      const key = withoutCounts(what)
      if (!this.#problems.has(key)) {
        lines.push({ time: info.time, kind: 'scheduler', text: `${what}; ${advice}`, isBad: true })
      }
      this.#problems.set(key, nowMs)
    }
    for (const [key, seenMs] of this.#problems) {
      if (nowMs - seenMs > FORGET_MS) this.#problems.delete(key)
    }
    return lines
  }

  #add({ repeat, ...line }: Line): void {
    const open = repeat && this.#counting.get(repeat.key)
    const isOpen =
      open !== undefined && line.time.getTime() - open.entry.time.getTime() <= FORGET_MS
    if (!isOpen) this.#count += 1
    const id = isOpen ? open.entry.id : String(this.#count)
    const first = isOpen ? open.first : (repeat?.first ?? line.time)
    const since = first < line.time ? first : undefined
    const count = (repeat?.count ?? 0) + (isOpen ? open.count : 0)
    const text = repeat?.textOf(count) ?? line.text
    const unknown = { isBad: false, task: undefined, worker: undefined }
    const entry: LogEntry = { ...unknown, ...line, id, since, text }
    // It moves to the end, where it is seen.
    const before = isOpen ? this.#entries.indexOf(open.entry) : -1
    if (before >= 0) this.#entries.splice(before, 1)
    this.#entries.push(entry)
    if (repeat !== undefined) {
      this.#counting.delete(repeat.key)
      this.#counting.set(repeat.key, { entry, count, first })
    }
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
    this.#forget(line.time.getTime())
  }

  /** Lines that count no longer: those that are not listed any more are among them. */
  #forget(nowMs: number): void {
    for (const [key, { entry }] of this.#counting) {
      const isListed = this.#counting.size <= MAX_COUNTING
      if (isListed && nowMs - entry.time.getTime() <= FORGET_MS) return
      this.#counting.delete(key)
    }
  }
}

/** The same for a problem whatever its extent. */
function withoutCounts(what: string): string {
  return what.replace(/^[\d,]+ tasks?(.*) waits?:/, '$1:').replace(/[\d.]+ ms/, 'ms')
}

/** `left on vm`, or the id of a worker without a name. */
export function workerAt({ id, name, host }: LostWorker): string {
  return `${name || id}${host === '' ? '' : ` on ${host}`}`
}

/** Many workers of a host that are lost in the same way in one report are one line. */
function lossLines(losses: readonly LostWorker[]): readonly Line[] {
  const groups = groupedBy(losses, ({ host, cause }) => `${cause} ${host}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length <= MAX_NAMED) {
      return group.map((loss) => lossLine(loss, `worker ${workerAt(loss)} was`, loss.id))
    }
    const where = first.host === '' ? '' : ` on ${first.host}`
    const taskCount = group.reduce((sum, loss) => sum + loss.taskCount, 0)
    return [lossLine({ ...first, taskCount }, `${grouped(group.length)} workers${where} were`)]
  })
}

function lossLine({ time, cause, taskCount }: LostWorker, who: string, worker?: string): Line {
  const again = taskCount === 0 ? '' : `; ${countText(taskCount, 'task')} taken back`
  const text = `${who} lost (${LOSS_TEXTS[cause]})${again}`
  return { time, kind: 'worker', text, isBad: true, worker }
}

/** Failures with the same cause are one line. */
function failureLines(failures: readonly FailureInfo[]): Line[] {
  const groups = groupedBy(failures, groupId)
  return [...groups].flatMap(([key, group]) => {
    const last = group.at(-1)
    if (last === undefined) return []
    const { time, task, worker } = last
    const name = functionName(last.function)
    const what = errorLine(last)
    const textOf = (count: number): string => {
      const who = count === 1 ? `a task of ${name}` : `${grouped(count)} tasks of ${name}`
      return `${who} failed: ${what}`
    }
    const count = group.length
    const first = group[0]?.time ?? time
    const repeat = { key: `failure ${key}`, count, first, textOf }
    return [{ time, kind: 'failure', text: textOf(count), isBad: true, task, worker, repeat }]
  })
}

interface Peers {
  readonly joinedWorkers: WorkerInfo[]
  readonly leftWorkers: WorkerInfo[]
  readonly joinedClients: ConnectedClient[]
  readonly leftClients: ConnectedClient[]
}

function newPeers(): Peers {
  return { joinedWorkers: [], leftWorkers: [], joinedClients: [], leftClients: [] }
}

/** The host of each worker. */
type Hosts = ReadonlyMap<string, string>

function hostsOf({ hosts }: ClusterInfo): Hosts {
  return new Map(hosts.flatMap(({ host, workers }) => workers.map(({ id }) => [id, host] as const)))
}

/** What is known of the workers. `before`: the hosts of the last state. */
interface Known {
  readonly lost: ClusterInfo['lost']
  readonly hosts: Hosts
  readonly before: Hosts
}

function peerLines(peers: Peers, { lost, hosts, before }: Known, time: Date): readonly Line[] {
  // These have lines of their own.
  const missing = lost?.workers.filter(({ hasReturned }) => !hasReturned)
  const lostIds = new Set(missing?.map(({ id }) => id))
  const left = peers.leftWorkers.filter(({ id }) => !lostIds.has(id))
  const named = ({ id, name }: WorkerInfo): Peer => {
    return { id, name: name || id, host: hosts.get(id) ?? before.get(id) ?? '' }
  }
  const client = ({ id, name, host }: ConnectedClient): Peer => ({ id, name: name || id, host })
  return [
    ...linesOf('worker', 'joined', peers.joinedWorkers.map(named), time),
    ...linesOf('worker', 'left', left.map(named), time),
    ...linesOf('client', 'connected', peers.joinedClients.map(client), time),
    ...linesOf('client', 'left', peers.leftClients.map(client), time),
  ]
}

interface Peer {
  readonly id: string
  readonly name: string
  readonly host: string
}

function linesOf(
  kind: 'worker' | 'client',
  change: string,
  peers: readonly Peer[],
  time: Date,
): readonly Line[] {
  return [...groupedBy(peers, ({ host }) => host)].flatMap(([host, group]): Line[] => {
    const where = host === '' ? '' : ` on ${host}`
    if (group.length > MAX_NAMED) {
      return [{ time, kind, text: `${grouped(group.length)} ${kind}s ${change}${where}` }]
    }
    return group.map(({ id, name }) => {
      const worker = kind === 'worker' ? id : undefined
      return { time, kind, text: `${kind} ${name} ${change}${where}`, worker }
    })
  })
}

function groupedBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

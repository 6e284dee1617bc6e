// What an examination of a scheduler has found, and what follows from it. No sockets here.

import { idToHex } from '../base/ids.js'
import type { InstantMs } from '../base/machine.js'
import { formatAddress, parseAddress, type Address } from '../transport/address.js'
import type { SchedulerReport } from '../wire/message.js'
import { clockDifference, clockText, isFarOff, type ClockDifference } from './connect-clock.js'
import { monitorBeside, type FindingText, type SchedulerAnswer } from './connect-finding.js'
import type { MonitorView } from './connect-monitor.js'
import type { FoundClient, FoundHost, FoundWaiting } from './connect-peers.js'
import type { TrialTask } from './connect-trial.js'

/** All that was found; what was not reached is undefined. */
export interface Diagnosis {
  readonly address: string
  readonly scheduler: FoundScheduler | undefined
  readonly workers: WorkerCount | undefined
  /** Where they are: the first 1,000 of them. Undefined if the scheduler does not say so. */
  readonly hosts: readonly FoundHost[] | undefined
  /** The first 1,000 clients, without this one. */
  readonly clients: readonly FoundClient[] | undefined
  /** Why tasks wait; the most first, at most 200. */
  readonly waiting: readonly FoundWaiting[] | undefined
  readonly monitor: FoundMonitor | undefined
  readonly task: TrialTask | undefined
  /** The first fatal one ended the examination. */
  readonly problems: readonly DiagnosisProblem[]
}

/** What is wrong, and where. */
export interface DiagnosisProblem extends FindingText {
  readonly part: 'scheduler' | 'workers' | 'monitor' | 'task'
  /** False: things work nevertheless, as far as could be seen. */
  readonly isFatal: boolean
}

/** A scheduler that was found. */
export interface FoundScheduler {
  /** Where it is, `127.0.0.1 port 2345`. */
  readonly remote: string
  /** `1.9.9`: a scheduler of Python, or one that speaks as they do; it tells no more. */
  readonly kind: 'scaler-ts' | '1.9.9'
  readonly version: string | undefined
  /** What it runs on: `node/20.20.2`. */
  readonly runtime: string | undefined
  /** In hex; '' of a 1.9.9 one. */
  readonly id: string
  /** What it understands beyond 1.9.9, as bits (docs/protocol.md#features). */
  readonly features: number
  readonly roundTrip: RoundTrip
  readonly clock: ClockDifference | undefined
}

/** How long a scheduler takes to answer, in milliseconds. */
export interface RoundTrip {
  readonly medianMs: number
  readonly minMs: number
  readonly maxMs: number
  readonly count: number
}

/** The workers of a scheduler, in numbers. */
export interface WorkerCount {
  readonly total: number
  /** Of these, those that run JavaScript; undefined if the scheduler does not say so. */
  readonly suitable: number | undefined
  /** Those that have nothing to do: of the suitable ones, or of all if that is not known. */
  readonly idle: number
}

/** What monitors see, and where. */
export interface FoundMonitor extends Pick<
  MonitorView,
  'waitingTasks' | 'runningTasks' | 'objects'
> {
  readonly address: string
}

/** What its answers say of a scheduler. `now` and `wallClock` are the same moment on two clocks. */
export function foundScheduler(
  { remote, schedulerId, features, roundTripsMs, report: timed }: SchedulerAnswer,
  now: InstantMs,
  wallClock: number,
): FoundScheduler {
  return {
    remote,
    kind: schedulerId === '' ? '1.9.9' : 'scaler-ts',
    version: timed?.report.version,
    runtime: timed?.report.runtime,
    id: idToHex(schedulerId),
    features,
    roundTrip: roundTripOf(roundTripsMs),
    clock:
      timed === undefined
        ? undefined
        : clockDifference(timed.report.clockMS, wallClock - (now - timed.at), timed.roundTripMs),
  }
}

/** The workers, by what the scheduler says, or else by what monitors see. */
export function countWorkers(
  report: SchedulerReport | undefined,
  view: MonitorView | undefined,
): WorkerCount | undefined {
  if (report !== undefined) {
    const { workers: total, suitable, idle } = report
    return { total, suitable, idle }
  }
  if (view === undefined) return undefined
  return { total: view.workers, suitable: undefined, idle: view.idleWorkers }
}

/** Why no task would run, if so. */
export function workerProblem(
  { total, suitable }: WorkerCount,
  address: string,
): DiagnosisProblem | undefined {
  const advice = `start some: scaler_cluster ${address}`
  if (total === 0) {
    const what = 'the scheduler has no workers: no task would run'
    return { part: 'workers', isFatal: true, what, advice }
  }
  if (suitable !== 0) return undefined
  const who = total === 1 ? 'its only worker does not run' : `none of its ${total} workers runs`
  const what = `${who} JavaScript: no task of ours would run`
  return { part: 'workers', isFatal: true, what, advice }
}

/** That a clock is far from that of this machine, if so. `whose`: of whom, as in `its`. */
export function clockProblem(
  part: 'scheduler' | 'task',
  whose: string,
  clock: ClockDifference | undefined,
): DiagnosisProblem | undefined {
  if (clock === undefined || !isFarOff(clock)) return undefined
  const what = `the clock of ${whose} ${clockText(clock)}`
  const advice = 'set both by the network (NTP): times in logs and certificates mislead otherwise'
  return { part, isFatal: false, what, advice }
}

/** That the worker which ran a task is of another version than this package, if so. */
export function workerVersionProblem(
  { version, worker }: TrialTask,
  own: string,
): DiagnosisProblem | undefined {
  if (version === undefined || version === own) return undefined
  const who = `the worker that ran the task${worker === '' ? '' : `, ${worker},`}`
  const what = `${who} is of version ${version}, this is ${own}`
  return { part: 'task', isFatal: false, what, advice: '' }
}

/** That the scheduler is of another version than this package, if so. */
export function versionProblem(
  { version }: FoundScheduler,
  own: string,
): DiagnosisProblem | undefined {
  if (version === undefined || version === own) return undefined
  const what = `the scheduler is of version ${version}, this is ${own}`
  return { part: 'scheduler', isFatal: false, what, advice: '' }
}

/**
 * Where monitors connect: what the scheduler says it has bound, seen from here, or else two ports
 * up. Undefined if there is no such port.
 */
export function monitorOf(
  address: Address,
  report: SchedulerReport | undefined,
): string | undefined {
  if (report === undefined) {
    const beside = monitorBeside(address)
    return beside && formatAddress(beside)
  }
  const bound = parseAddress(report.monitorAddress)
  if (bound.kind === 'ipc' || address.kind === 'ipc') return report.monitorAddress
  // What it has bound for all, or for its own machine, is reached as the scheduler itself was.
  const isOurs = isLoopback(bound.host) && isLoopback(address.host)
  const isSpecific = !EVERYWHERE.has(bound.host) && !isLoopback(bound.host)
  return isSpecific || isOurs
    ? report.monitorAddress
    : formatAddress({ ...address, port: bound.port })
}

const EVERYWHERE: ReadonlySet<string> = new Set(['*', '0.0.0.0', '::'])

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function roundTripOf(roundTripsMs: readonly number[]): RoundTrip {
  const sorted = roundTripsMs.toSorted((a, b) => a - b)
  const at = (index: number): number => Math.round((sorted[index] ?? 0) * 1e3) / 1e3
  return {
    medianMs: at(sorted.length >> 1),
    minMs: at(0),
    maxMs: at(sorted.length - 1),
    count: sorted.length,
  }
}

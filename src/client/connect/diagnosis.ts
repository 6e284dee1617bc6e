// The examination behind `scaler doctor`: the scheduler, what it publishes for monitors, and a task
// that does nothing, in this order, for as long as it makes sense to go on.

import { runInThisContext } from 'node:vm'
import { ScalerError } from '../../base/errors.js'
import { idToHex } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import { packageVersion } from '../../runtime/process-statistics.js'
import { type Address, formatAddress, parseConnectAddress } from '../../transport/address.js'
import type { SchedulerReport } from '../../wire/message.js'
import { Client } from '../client.js'
import { clockDifference, type ClockDifference, clockText, isFarOff, tenths } from './clock.js'
import { schedulerBehind } from './locate.js'
import {
  asSeenFrom,
  describe,
  type FindingText,
  monitorBeside,
  type NoScheduler,
} from './no-scheduler.js'
import {
  type FoundClient,
  foundClients,
  type FoundHost,
  foundHosts,
  type FoundWaiting,
  foundWaiting,
} from './peers.js'
import { findServers, type FoundServer } from './storage-servers.js'
import { type MonitorView, probeScheduler, readMonitor, type SchedulerAnswer } from './probe.js'
import { countWorkers, type WorkerCount, workerProblem } from './workers.js'

/** The results; undefined for steps that were not reached. */
export interface Diagnosis {
  readonly address: string
  readonly scheduler: FoundScheduler | undefined
  readonly workers: WorkerCount | undefined
  /** The hosts with the first 1,000 workers. Undefined if the scheduler does not report them. */
  readonly hosts: readonly FoundHost[] | undefined
  /** The first 1,000 clients, except this one. */
  readonly clients: readonly FoundClient[] | undefined
  /** Why tasks wait, in order of their number; at most 200 entries. */
  readonly waiting: readonly FoundWaiting[] | undefined
  readonly monitor: FoundMonitor | undefined
  readonly task: TrialTask | undefined
  /** The object storage servers that the scheduler reports, at most 20. */
  readonly storageServers: readonly FoundServer[] | undefined
  /** The first fatal one ended the examination. */
  readonly problems: readonly DiagnosisProblem[]
}

/** A problem and the part that it concerns. */
export interface DiagnosisProblem extends FindingText {
  readonly part: 'scheduler' | 'workers' | 'monitor' | 'task' | 'storage'
  /** False: a remark; tasks still run. */
  readonly isFatal: boolean
}

/** A scheduler that was found. */
export interface FoundScheduler {
  /** Where it is, `127.0.0.1 port 2345`. */
  readonly remote: string
  /**
   * `1.9.9`: a Python scheduler, or another one that supports only its protocol and reports no
   * more.
   */
  readonly kind: 'scaler-ts' | '1.9.9'
  readonly version: string | undefined
  /** Its runtime: `node/20.20.2`. */
  readonly runtime: string | undefined
  /** In hex; '' for a 1.9.9 scheduler. */
  readonly id: string
  /** The features beyond 1.9.9, as bits (docs/protocol.md#features). */
  readonly features: number
  readonly roundTrip: RoundTrip
  readonly clock: ClockDifference | undefined
}

/** How long a scheduler takes to answer, in milliseconds. */
interface RoundTrip {
  readonly medianMs: number
  readonly minMs: number
  readonly maxMs: number
  readonly count: number
}

/** What monitors see, and where. */
export interface FoundMonitor extends Pick<
  MonitorView,
  'waitingTasks' | 'runningTasks' | 'objects'
> {
  readonly address: string
}

/** A scheduler, from its answers. `now` and `wallClock` are the same moment on two clocks. */
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

/** Reports a clock that is far from that of this machine. `whose` names its owner. */
export function clockProblem(
  part: 'scheduler' | 'task',
  whose: string,
  clock: ClockDifference | undefined,
): DiagnosisProblem | undefined {
  if (clock === undefined || !isFarOff(clock)) return undefined
  const what = `the clock of ${whose} ${clockText(clock)}`
  const advice = 'synchronize both (NTP): times in logs and certificates mislead otherwise'
  return { part, isFatal: false, what, advice }
}

/** Reports an object storage server that the scheduler, or this machine, cannot reach. */
export function serverProblem(server: FoundServer): DiagnosisProblem | undefined {
  const { address, state, problem, trouble } = server
  if (state !== 'away' && trouble === '') return undefined
  const [who, why] = state === 'away' ? ['the scheduler', problem] : ['this machine', trouble]
  const what = `${who} cannot use the object storage server ${address} (${why})`
  const advice = 'start it, or open its port: until then, large values take a longer way'
  return { part: 'storage', isFatal: false, what, advice }
}

/** Reports a worker that has another version of this package. */
export function workerVersionProblem(
  { version, worker }: TrialTask,
  own: string,
): DiagnosisProblem | undefined {
  if (version === undefined || version === own) return undefined
  const who = `the worker that ran the task${worker === '' ? '' : `, ${worker},`}`
  const what = `${who} has version ${version}, this is ${own}`
  return { part: 'task', isFatal: false, what, advice: '' }
}

/** Reports a scheduler that has another version of this package. */
export function versionProblem(
  { version }: FoundScheduler,
  own: string,
): DiagnosisProblem | undefined {
  if (version === undefined || version === own) return undefined
  const what = `the scheduler has version ${version}, this is ${own}`
  return { part: 'scheduler', isFatal: false, what, advice: '' }
}

/**
 * Where monitors connect: the address that the scheduler reports, as seen from this machine, or
 * else two ports above the scheduler. Undefined if there is no such port.
 */
export function monitorOf(
  address: Address,
  report: SchedulerReport | undefined,
): string | undefined {
  if (report === undefined) {
    const beside = monitorBeside(address)
    return beside && formatAddress(beside)
  }
  return report.monitorAddress === '' ? undefined : asSeenFrom(address, report.monitorAddress)
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

// A task that does nothing: whether the whole path works, from a client to a worker and back.

/** Its result. */
export interface TrialTask {
  /** From `submit` to the result, in milliseconds, including the upload of the function. */
  readonly durationMs: number
  /** The name of the worker that ran it, or ''. */
  readonly worker: string
  /** The version of the package there; undefined if unknown. */
  readonly version: string | undefined
  /** Its runtime, `node/20.20.2`. */
  readonly runtime: string
  readonly clock: ClockDifference
}

/**
 * Returns its time, its runtime, and the version of the package there. Sent as text, because a
 * function of this package is sent by reference, and workers may have another version.
 */
const TRIAL = `() => {
  const now = Date.now()
  let version = ''
  try {
    const main = process.getBuiltinModule('module').createRequire(process.argv[1])
    version = main('../../package.json').version
  } catch {}
  return [now, \`node/\${process.versions.node}\`, String(version)]
}`

type Trial = () => [now: number, runtime: string, version: string]

/**
 * Runs a task that does nothing, twice, with its own client. Rejects with `ConnectError` if the
 * scheduler does not answer within `timeoutMs`, with `TimeoutError` if a task has not ended within
 * it, and with any other error that ended it.
 */
export async function runTrialTask(address: string, timeoutMs: number): Promise<TrialTask> {
  const client = await Client.visit(address, { timeoutMs })
  try {
    const trial = runInThisContext(TRIAL, { filename: 'trial.js' }) as Trial
    const run = (): Promise<TrialTask> => runOnce(client, trial, timeoutMs)
    const { durationMs } = await run()
    // The function has been uploaded: the shorter round trip gives a better measurement of the
    // clock.
    return { ...(await run()), durationMs }
  } finally {
    await client.close()
  }
}

async function runOnce(client: Client, trial: Trial, timeoutMs: number): Promise<TrialTask> {
  const begun = performance.now()
  const begunAt = Date.now()
  const future = client.with({ name: 'doctor' }).submit(trial)
  const [clock, runtime, version] = await future.result({ timeoutMs })
  const durationMs = performance.now() - begun
  return {
    durationMs: tenths(durationMs),
    worker: future.profile?.worker ?? '',
    version: version === '' ? undefined : version,
    runtime,
    clock: clockDifference(clock, begunAt + durationMs / 2, durationMs),
  }
}

/** What to examine. */
interface DiagnosisOptions {
  /** How long each step may take. */
  readonly timeoutMs: number
  /** Default: as the scheduler reports, or two ports above it. */
  readonly monitorAddress?: string | undefined
  /** Whether to ignore workers: none are required, and no task is submitted. */
  readonly isSchedulerOnly: boolean
}

const HEARTBEATS = 9
/** How long to wait for the state that is published once a second. */
const MONITOR_LIMITS_MS = { least: 1_500, most: 2_500 } as const

/**
 * Examines the scheduler at `text`, or the one whose address for monitors this is. Rejects with
 * `ConfigError` for an invalid address.
 */
export async function diagnose(text: string, options: DiagnosisOptions): Promise<Diagnosis> {
  const address = parseConnectAddress(text)
  if (options.monitorAddress !== undefined) parseConnectAddress(options.monitorAddress)
  return new Examination(address, options).run()
}

/** One examination. */
class Examination {
  readonly #options: DiagnosisOptions
  #address: Address
  #text: string
  #monitorAddress: string | undefined
  readonly #problems: DiagnosisProblem[] = []
  #scheduler: FoundScheduler | undefined
  #report: SchedulerReport | undefined
  #monitor: FoundMonitor | undefined
  #workers: WorkerCount | undefined
  #task: TrialTask | undefined
  #servers: readonly FoundServer[] | undefined

  constructor(address: Address, options: DiagnosisOptions) {
    this.#address = address
    this.#text = formatAddress(address)
    this.#options = options
    this.#monitorAddress = options.monitorAddress
  }

  async run(): Promise<Diagnosis> {
    const { isSchedulerOnly } = this.#options
    await this.#checkScheduler()
    if (!this.#hasFailed) await this.#checkMonitor()
    if (!this.#hasFailed && !isSchedulerOnly) this.#checkWorkers()
    if (!this.#hasFailed && !isSchedulerOnly) await this.#tryTask()
    if (!this.#hasFailed) await this.#checkStorage()
    const report = this.#report
    return {
      address: this.#text,
      scheduler: this.#scheduler,
      workers: this.#workers,
      hosts: report && foundHosts(report),
      clients: report && foundClients(report),
      waiting: report && foundWaiting(report),
      monitor: this.#monitor,
      task: this.#task,
      storageServers: this.#servers,
      problems: this.#problems,
    }
  }

  get #hasFailed(): boolean {
    return this.#problems.some(({ isFatal }) => isFatal)
  }

  async #checkScheduler(): Promise<void> {
    const limitMs = this.#options.timeoutMs
    const options = { limitMs, heartbeats: HEARTBEATS, wantsPeers: true }
    const answer = await probeScheduler(this.#address, options)
    if (answer.kind !== 'scheduler') return this.#onNoScheduler(answer)
    this.#report = answer.last
    this.#scheduler = foundScheduler(answer, performance.now(), Date.now())
    this.#add(versionProblem(this.#scheduler, packageVersion()))
    this.#add(clockProblem('scheduler', 'the scheduler', this.#scheduler.clock))
  }

  async #onNoScheduler(finding: NoScheduler): Promise<void> {
    const scheduler = await schedulerBehind(finding, this.#address)
    if (scheduler !== undefined) return this.#goTo(scheduler)
    const text = describe(finding, this.#address, this.#options.timeoutMs)
    this.#add({ part: 'scheduler', isFatal: true, ...text })
  }

  /** The address was that for monitors. */
  #goTo(scheduler: Address): Promise<void> {
    this.#monitorAddress ??= this.#text
    this.#address = scheduler
    this.#text = formatAddress(scheduler)
    return this.#checkScheduler()
  }

  async #checkMonitor(): Promise<void> {
    const address = this.#monitorAddress ?? monitorOf(this.#address, this.#report)
    const { least, most } = MONITOR_LIMITS_MS
    const limitMs = Math.min(most, Math.max(least, this.#options.timeoutMs))
    const view = address === undefined ? undefined : await readMonitor(address, limitMs)
    this.#workers = countWorkers(this.#report, view)
    if (address === undefined || view === undefined) {
      const where = address ?? 'any port'
      const what = `nothing was published at ${where}: monitors would receive nothing`
      const advice = 'set --monitor-address if it differs, or open its port'
      return this.#add({ part: 'monitor', isFatal: false, what, advice })
    }
    const { waitingTasks, runningTasks, objects } = view
    this.#monitor = { address, waitingTasks, runningTasks, objects }
  }

  #checkWorkers(): void {
    if (this.#workers === undefined) return
    const waiting = this.#report && foundWaiting(this.#report)
    this.#add(workerProblem(this.#workers, this.#text, waiting))
  }

  async #tryTask(): Promise<void> {
    // It would only wait; a note says so.
    if (this.#workers?.suitable === 0) return
    if (this.#scheduler?.kind === '1.9.9') {
      const what = 'no task was submitted: the workers of a 1.9.9 scheduler may run Python only'
      return this.#add({ part: 'task', isFatal: false, what, advice: '' })
    }
    try {
      this.#task = await runTrialTask(this.#text, this.#options.timeoutMs)
      this.#add(workerVersionProblem(this.#task, packageVersion()))
      this.#add(clockProblem('task', 'its worker', this.#task.clock))
    } catch (error) {
      if (!(error instanceof ScalerError)) throw error
      this.#add({ part: 'task', isFatal: true, ...this.#describeFailure(error) })
    }
  }

  async #checkStorage(): Promise<void> {
    if (this.#scheduler?.kind === '1.9.9') return
    try {
      this.#servers = await findServers(this.#text, this.#options.timeoutMs)
      for (const server of this.#servers) this.#add(serverProblem(server))
    } catch (error) {
      if (!(error instanceof ScalerError)) throw error
      const what = `the object storage servers could not be checked: ${error.message}`
      this.#add({ part: 'storage', isFatal: false, what, advice: '' })
    }
  }

  #describeFailure(error: ScalerError): FindingText {
    if (error.code !== 'ERR_SCALER_TIMEOUT') {
      return { what: `a task that does nothing failed: ${error.message}`, advice: '' }
    }
    const idle = this.#workers?.idle ?? 0
    return {
      what: `no worker has run a task within ${this.#options.timeoutMs / 1_000} s`,
      advice:
        idle > 0 ? 'allow more time (--timeout-seconds)' : 'check whether all of them are busy',
    }
  }

  #add(problem: DiagnosisProblem | undefined): void {
    if (problem !== undefined) this.#problems.push(problem)
  }
}

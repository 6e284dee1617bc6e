// The examination behind `scaler doctor`: the scheduler, what it tells monitors, and a task that
// does nothing, in this order, for as long as it makes sense to go on.

import { ScalerError } from '../base/errors.js'
import { packageVersion } from '../runtime/package-version.js'
import { formatAddress, parseConnectAddress, type Address } from '../transport/address.js'
import type { SchedulerReport } from '../wire/message.js'
import {
  describeFinding,
  schedulerBeside,
  type ConnectFinding,
  type FindingText,
} from './connect-finding.js'
import { foundClients, foundHosts, foundWaiting } from './connect-peers.js'
import { readMonitor } from './connect-monitor.js'
import {
  clockProblem,
  countWorkers,
  foundScheduler,
  monitorOf,
  versionProblem,
  workerProblem,
  workerVersionProblem,
  type Diagnosis,
  type DiagnosisProblem,
  type FoundMonitor,
  type FoundScheduler,
  type WorkerCount,
} from './connect-outcome.js'
import { ConnectProbe } from './connect-probe.js'
import { runTrialTask, type TrialTask } from './connect-trial.js'

/** What to examine. */
export interface DiagnosisOptions {
  /** How long each step may take. */
  readonly timeoutMs: number
  /** Default: as the scheduler says, or two ports up from it. */
  readonly monitorAddress?: string | undefined
  /** Whether workers do not matter: none need be there, and no task is submitted. */
  readonly isSchedulerOnly: boolean
}

const HEARTBEATS = 9
/** Monitors are told the state once a second: so long that has to be waited for, and no longer. */
const MONITOR_LIMITS_MS = { least: 1_500, most: 2_500 } as const
/** Looking at a second address, to confirm a guess. */
const GUESS_LIMIT_MS = 1_000

/** Examines the scheduler at `text`. Throws `ConfigError` if one of the addresses is none. */
export async function diagnose(text: string, options: DiagnosisOptions): Promise<Diagnosis> {
  const address = parseConnectAddress(text)
  if (options.monitorAddress !== undefined) parseConnectAddress(options.monitorAddress)
  return new Examination(address, options).run()
}

/** One examination. */
class Examination {
  readonly #address: Address
  readonly #text: string
  readonly #options: DiagnosisOptions
  readonly #problems: DiagnosisProblem[] = []
  #scheduler: FoundScheduler | undefined
  #report: SchedulerReport | undefined
  #monitor: FoundMonitor | undefined
  #workers: WorkerCount | undefined
  #task: TrialTask | undefined

  constructor(address: Address, options: DiagnosisOptions) {
    this.#address = address
    this.#text = formatAddress(address)
    this.#options = options
  }

  async run(): Promise<Diagnosis> {
    const { isSchedulerOnly } = this.#options
    await this.#lookAtScheduler()
    if (!this.#isHopeless) await this.#lookAtMonitor()
    if (!this.#isHopeless && !isSchedulerOnly) this.#judgeWorkers()
    if (!this.#isHopeless && !isSchedulerOnly) await this.#tryTask()
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
      problems: this.#problems,
    }
  }

  get #isHopeless(): boolean {
    return this.#problems.some(({ isFatal }) => isFatal)
  }

  async #lookAtScheduler(): Promise<void> {
    const limitMs = this.#options.timeoutMs
    const probe = new ConnectProbe(this.#address, {
      limitMs,
      heartbeats: HEARTBEATS,
      wantsPeers: true,
    })
    const finding = await probe.finished
    if (finding.kind !== 'scheduler') return this.#onStranger(finding, probe.elapsedMs)
    const { answer } = finding
    this.#report = answer.last
    this.#scheduler = foundScheduler(answer, performance.now(), Date.now())
    this.#add(versionProblem(this.#scheduler, packageVersion()))
    this.#add(clockProblem('scheduler', 'the scheduler', this.#scheduler.clock))
  }

  async #onStranger(finding: ConnectFinding, elapsedMs: number): Promise<void> {
    const text = describeFinding(finding, this.#address, elapsedMs)
    const advice = (await this.#confirmGuess(finding)) ?? text.advice
    this.#add({ part: 'scheduler', isFatal: true, what: text.what, advice })
  }

  /** Whether the scheduler is two ports down from what turned out to be its monitors' address. */
  async #confirmGuess({ kind }: ConnectFinding): Promise<string | undefined> {
    const guess = kind === 'wrongSocket' ? schedulerBeside(this.#address) : undefined
    if (guess === undefined) return undefined
    const probe = new ConnectProbe(guess, { limitMs: GUESS_LIMIT_MS, heartbeats: 1 })
    const finding = await probe.finished
    if (finding.kind !== 'scheduler') return undefined
    return `the scheduler answers at ${formatAddress(guess)}: use that`
  }

  async #lookAtMonitor(): Promise<void> {
    const address = this.#options.monitorAddress ?? monitorOf(this.#address, this.#report)
    const { least, most } = MONITOR_LIMITS_MS
    const limitMs = Math.min(most, Math.max(least, this.#options.timeoutMs))
    const view = address === undefined ? undefined : await readMonitor(address, limitMs)
    this.#workers = countWorkers(this.#report, view)
    if (address === undefined || view === undefined) {
      const what = `nothing was published at ${address ?? 'any port'}: monitors would see nothing`
      const advice = 'say --monitor-address if it is another one, or let its port through'
      return this.#add({ part: 'monitor', isFatal: false, what, advice })
    }
    const { waitingTasks, runningTasks, objects } = view
    this.#monitor = { address, waitingTasks, runningTasks, objects }
  }

  #judgeWorkers(): void {
    if (this.#workers !== undefined) this.#add(workerProblem(this.#workers, this.#text))
  }

  async #tryTask(): Promise<void> {
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

  #describeFailure(error: ScalerError): FindingText {
    if (error.code !== 'ERR_SCALER_TIMEOUT') {
      return { what: `a task that does nothing failed: ${error.message}`, advice: '' }
    }
    const idle = this.#workers?.idle ?? 0
    return {
      what: `no worker has run a task within ${this.#options.timeoutMs / 1_000} s`,
      advice: idle > 0 ? 'does it need more time (--timeout-seconds)?' : 'are all of them busy?',
    }
  }

  #add(problem: DiagnosisProblem | undefined): void {
    if (problem !== undefined) this.#problems.push(problem)
  }
}

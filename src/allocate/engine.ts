// The shell of an allocator: a monitor of the scheduler, a provider, and the machine between them.
// It turns reports and lists of units into events, and actions into orders. What it asks of the
// provider goes one after the other, so that a list shows what was started before it.

import { identity, taskId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { messageOf } from '../base/text.js'
import { MonitorLink } from '../client/monitor/links.js'
import { AllocatorMachine } from '../core/allocate/allocator-machine.js'
import type {
  AllocatorAction,
  AllocatorEvent,
  Announcement,
  Decision,
  ListedUnit,
} from '../core/allocate/events.js'
import { Driver } from '../runtime/driver.js'
import { ConnectReport } from '../transport/bounded-log.js'
import type { AllocatorStatus, OperatorRequest } from '../wire/message.js'
import type { CheckedAllocatorOptions } from './options.js'
import type { Provider } from './provider.js'
import { CommandProvider } from './provider/command.js'
import { KubernetesProvider } from './provider/kubernetes/provider.js'
import { ProcessProvider } from './provider/process.js'
import { SlurmProvider } from './provider/slurm.js'
import { viewOf } from './view.js'
import { workerScript } from './worker-command.js'

const HEARTBEAT_MS = 2_000

/** A scheduler reports once a second. Without a report for this long, something is wrong. */
const SILENCE_MS = 10_000

/** Changes of units are listed after this long, many at a time. */
const CHANGE_MS = 1_000

/** Running tasks of a drained worker may take this long: there should be none. */
const DRAIN_MS = 3_600_000

/** How an allocator ended. */
export interface AllocatorEnd {
  /** Why it has ended, as a text. */
  readonly reason: string
  /** Whether something other than `stop` ended it. */
  readonly isFailure: boolean
}

/** What happens to decisions. */
type DecisionListener = (decision: Decision, time: Date) => void

/** A running allocator. */
export class AllocatorEngine {
  readonly ended: Promise<AllocatorEnd>
  readonly #options: CheckedAllocatorOptions
  readonly #logger: Logger
  readonly #provider: Provider
  readonly #driver: Driver<AllocatorEvent, AllocatorAction>
  readonly #link: MonitorLink
  readonly #onDecision: DecisionListener
  /** The last order to the provider. */
  #work: Promise<void> = Promise.resolve()
  /** Undefined while units are being listed. */
  #listTimer: NodeJS.Timeout | undefined
  /** Whether units may have changed since the last list began. */
  #hasChanged = false
  #listProblem = ''
  readonly #silenceTimer: NodeJS.Timeout
  #isSilent = false
  /** Lists are not waited for at the end. */
  readonly #ending = new AbortController()
  #isStopped = false
  #requestNumber = 0
  #resolveEnded: (end: AllocatorEnd) => void = () => {}

  /** `provider` is ready for use. */
  constructor(options: CheckedAllocatorOptions, onDecision: DecisionListener, provider: Provider) {
    this.#options = options
    this.#logger = options.logger
    this.#provider = provider
    this.#onDecision = onDecision
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve))
    const { workerRuntime: runtime, dryRun: isDryRun, ...rest } = options
    this.#driver = new Driver<AllocatorEvent, AllocatorAction>({
      machine: new AllocatorMachine({ ...rest, runtime, isDryRun }),
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: (error) => this.#onFault(error),
    })
    const setup = {
      address: options.address,
      heartbeatIntervalMs: HEARTBEAT_MS,
      logger: this.#logger,
      tls: options.tls,
    }
    const report = new ConnectReport(options.address)
    this.#link = new MonitorLink(
      setup,
      { events: false, failures: false },
      {
        onConnectFailed: (end) => report.onFailed(this.#logger, end),
        onReport: (_, picture, link) => {
          report.onConnected()
          this.#onHeard()
          const info = picture.isComplete ? picture.info(Date.now()) : undefined
          if (info !== undefined) this.#handle({ type: 'viewed', view: viewOf(info) })
          link.read()
        },
        onOrder: (request) => this.#onOrder(request),
        onRefused: () => {
          const reason = `the scheduler at ${options.address} is older, or one of Python Scaler`
          this.#finish({ reason: `${reason}: it knows no allocators`, isFailure: true })
        },
        onFault: (error) => this.#onFault(error),
      },
    )
    this.#silenceTimer = setTimeout(() => {
      this.#isSilent = true
      this.#logger.warn(this.#link.silence, { seconds: SILENCE_MS / 1_000 })
    }, SILENCE_MS)
    provider.subscribe?.(() => this.#onChange())
    this.#list()
  }

  /** Rejects with `ConfigError` if the provider lacks what it needs. */
  static async start(
    options: CheckedAllocatorOptions,
    onDecision: DecisionListener,
  ): Promise<AllocatorEngine> {
    // It throws for what no provider could start.
    workerScript(options, '')
    const provider = providerOf(options)
    await provider.open?.()
    return new AllocatorEngine(options, onDecision, provider)
  }

  /** Ends the allocator. Its workers go on, until they are idle. */
  async stop(): Promise<void> {
    this.#finish({ reason: 'stopped', isFailure: false })
    await this.#work
    await this.ended
  }

  #onHeard(): void {
    if (this.#isStopped) return
    if (this.#isSilent) this.#logger.info('the scheduler answers')
    this.#isSilent = false
    this.#silenceTimer.refresh()
  }

  #handle(event: AllocatorEvent): void {
    if (!this.#isStopped) this.#driver.handle(event)
  }

  #perform(action: AllocatorAction): void {
    switch (action.type) {
      case 'start':
        return this.#start(action.units)
      case 'drain':
        return this.#drain(action.unit, action.workers)
      case 'cancel':
        return this.#do('units could not be ended', () => this.#provider.cancel(action.units))
      case 'inspect':
        return this.#do('the output of a unit could not be read', async () => {
          const output = await this.#provider.output(action.unit)
          this.#handle({ type: 'inspected', key: action.unit.key, output })
        })
      case 'announce':
        return this.#link.announce(statusOf(action.report))
      case 'decided':
        return this.#onDecided(action.decision)
      case 'log':
        return this.#logger[action.level](action.text, action.fields)
    }
  }

  #onDecided(decision: Decision): void {
    const { action, units, reason, waitingTasks, waitingSeconds, workers, pending } = decision
    const numbers = { waitingTasks, waitingSeconds, workers, pending }
    const what = units === 0 ? action : `${action} ${units === 1 ? '1 unit' : `${units} units`}`
    this.#logger.info(`${what}: ${reason}`, { provider: this.#options.provider, ...numbers })
    this.#onDecision(decision, new Date())
  }

  #start(asked: number): void {
    this.#do('units could not be started', async () => {
      try {
        const { units, problem } = await this.#provider.start(asked)
        this.#handle({ type: 'started', asked, units, problem })
      } catch (error) {
        this.#handle({ type: 'started', asked, units: [], problem: messageOf(error) })
      }
    })
  }

  /** Workers that take no orders, those of Python, are ended with their unit. */
  #drain(unit: ListedUnit, workers: readonly string[]): void {
    if (this.#options.workerRuntime === 'python') {
      return this.#do('units could not be ended', () => this.#provider.cancel([unit]))
    }
    for (const worker of workers) {
      this.#requestNumber += 1
      this.#link.request({
        kind: 'operatorRequest',
        number: this.#requestNumber,
        action: 'drain',
        task: '',
        taskId: taskId(''),
        worker: identity(worker),
        lines: 0,
        limitMS: DRAIN_MS,
        allocator: '',
      })
    }
  }

  #onOrder({ number, action }: OperatorRequest): void {
    const isKnown = action === 'pause' || action === 'resume'
    if (isKnown) this.#handle({ type: 'pauseOrdered', isPaused: action === 'pause' })
    const nothing = { note: '', tasks: [], stack: [], lines: [], objects: [] }
    const outcome = isKnown ? 'done' : 'unsupported'
    const answer = { kind: 'operatorAnswer', number, outcome, worker: identity('') } as const
    this.#link.answer({ ...answer, ...nothing })
  }

  /** Lists the units, and again after the interval. */
  #list(): void {
    this.#listTimer = undefined
    this.#do('units could not be listed', async () => {
      const begunAt = performance.now()
      this.#hasChanged = false
      try {
        const units = await this.#provider.list(this.#ending.signal)
        this.#listProblem = ''
        this.#handle({ type: 'listed', units, begunAt })
      } catch (error) {
        const problem = messageOf(error)
        if (problem !== this.#listProblem && !this.#isStopped) {
          this.#logger.warn('the provider could not list its units', { problem })
        }
        this.#listProblem = problem
        this.#handle({ type: 'listFailed', problem })
      }
      this.#listLater()
    })
  }

  #listLater(): void {
    if (this.#isStopped) return
    clearTimeout(this.#listTimer)
    const { listIntervalMs } = this.#options
    const pauseMs = this.#hasChanged ? Math.min(CHANGE_MS, listIntervalMs) : listIntervalMs
    this.#listTimer = setTimeout(() => this.#list(), pauseMs)
  }

  #onChange(): void {
    // The next list is soon, or follows one that is being made.
    if (this.#hasChanged) return
    this.#hasChanged = true
    if (this.#listTimer !== undefined) this.#listLater()
  }

  #do(what: string, work: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#isStopped) return
      try {
        await work()
      } catch (error) {
        this.#logger.warn(what, { problem: messageOf(error) })
      }
    })
  }

  #onFault(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#logger.error('internal error, shutting down the allocator', { error: text })
    this.#finish({ reason: 'a bug in the allocator', isFailure: true })
  }

  #finish(end: AllocatorEnd): void {
    if (this.#isStopped) return
    this.#isStopped = true
    clearTimeout(this.#listTimer)
    clearTimeout(this.#silenceTimer)
    this.#ending.abort()
    this.#driver.stop()
    this.#provider.close?.()
    void this.#link.close().then(() => this.#resolveEnded(end))
  }
}

function providerOf(options: CheckedAllocatorOptions): Provider {
  switch (options.provider) {
    case 'local':
    case 'ssh':
      return new ProcessProvider(options)
    case 'slurm':
      return new SlurmProvider(options)
    case 'kubernetes':
      return new KubernetesProvider(options)
    case 'command':
      return new CommandProvider(options)
  }
}

function statusOf({ offers, action, reason, ...report }: Announcement): AllocatorStatus {
  return {
    ...report,
    offers: [...offers].map(([name, value]) => ({ name, value })),
    decision: action === 'back-off' ? 'backOff' : action,
    why: reason,
  }
}

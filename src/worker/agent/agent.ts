// The agent: one process that serves any number of workers, each with an identity, a connection and
// a processor of its own. User code never runs in it, so it cannot take the workers down.

import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ScalerError } from '../../base/errors.js'
import type { LogFields, Logger } from '../../base/logger.js'
import type { InstantMs } from '../../base/machine.js'
import { agentVerdict, type AgentLimits } from '../../core/worker/life.js'
import { HostObjects } from '../../core/worker/host-objects.js'
import { HostUnits } from '../../core/worker/queue/units.js'
import { isStartFailure, requireProcesses } from '../../runtime/child-environment.js'
import { newIdentity, peerInfo } from '../../runtime/peer-info.js'
import { StorageChild } from '../../runtime/storage/child.js'
import { isLoopback, parseAddress, schemeOf } from '../../transport/address.js'
import { ProcessSampler } from '../../runtime/process-statistics.js'
import { ConnectReport } from '../../transport/bounded-log.js'
import { checkCertificates } from '../../transport/tls/credentials.js'
import type { TaskHosting } from './hosting.js'
import { type AgentOptions, checkAgentOptions, type CheckedAgentOptions } from './options.js'
import { SparePool } from './spare-pool.js'
import { AgentStore } from './store.js'
import { type AgentEnd, AgentWorker, type AgentWorkerOptions } from './worker.js'

// A logger that adds the worker's identity to each line, as in the scheduler's log: many workers
// share one agent, and often one name.

/** `logger`, with `fields` added to every line. */
export function withFields(logger: Logger, fields: LogFields): Logger {
  return {
    debug: (text, more) => logger.debug(text, { ...fields, ...more }),
    info: (text, more) => logger.info(text, { ...fields, ...more }),
    warn: (text, more) => logger.warn(text, { ...fields, ...more }),
    error: (text, more) => logger.error(text, { ...fields, ...more }),
    isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
  }
}

// A start that takes long, and why: the log of the agent says it.

/**
 * A start has failed if for this long, in milliseconds, the system refuses to start a process: less
 * than a minute, because a worker logs it once per minute.
 */
const REFUSED_MS = 55_000

/** The same if processors do start, but do not become ready. */
const USELESS_MS = 295_000

/** No worker has become ready for this long, in milliseconds: processors may hang. */
const NO_PROGRESS_MS = 10_000
const NO_PROGRESS =
  `no worker has become ready for ${NO_PROGRESS_MS / 1_000} s; the machine is very busy, or a ` +
  'limit of processes or memory is too low (ulimit -u, ulimit -v)'

/** Follows the log of an agent that starts. */
export class StartWatch {
  /** The log of the agent. */
  readonly logger: Logger
  readonly #onDelayed: (text: string) => void
  readonly #told = new Set<string>()
  /** When a worker first had this trouble. */
  readonly #troubles = new Map<string, InstantMs>()
  #fail: (error: Error) => void = () => {}
  #progressAt: InstantMs | undefined
  #isOver = false

  /** `onDelayed` is called once for each reason. */
  constructor(logger: Logger, onDelayed: (text: string) => void) {
    this.#onDelayed = onDelayed
    const info = (text: string, fields?: LogFields): void => {
      logger.info(text, fields)
      // A scheduler that cannot be reached is a reason of its own.
      if (/^(connected|registered)\b/.test(text)) this.#progressAt = performance.now()
    }
    const warn = (text: string, fields: LogFields = {}): void => {
      logger.warn(text, fields)
      // Only lines about processors that are started again have one of these.
      if ('pauseMs' in fields || 'afterMs' in fields) this.#onTrouble(text, fields)
    }
    this.logger = { ...withFields(logger, {}), info, warn }
  }

  /**
   * Settles as `ready` does, or rejects once the processors of a worker cannot be started for a
   * long time. A machine that is only slow does not make it fail.
   */
  async orFailure(ready: Promise<void>): Promise<void> {
    const failed = new Promise<never>((_, reject) => (this.#fail = reject))
    // If this process was blocked, what it has received is read first.
    const timer = setInterval(() => setImmediate(() => this.#look()), NO_PROGRESS_MS / 4).unref()
    try {
      await Promise.race([ready, failed])
    } finally {
      this.#isOver = true
      clearInterval(timer)
    }
  }

  #look(): void {
    const silentMs = performance.now() - (this.#progressAt ?? Infinity)
    const isUnexplained = silentMs >= NO_PROGRESS_MS && this.#troubles.size === 0
    if (isUnexplained && !this.#isOver) this.#tell(NO_PROGRESS)
  }

  #onTrouble(text: string, { worker }: LogFields): void {
    if (this.#isOver) return
    this.#tell(text)
    const key = `${String(worker)} ${text}`
    const now = performance.now()
    const since = this.#troubles.get(key) ?? now
    this.#troubles.set(key, since)
    if (now - since < (isStartFailure(text) ? REFUSED_MS : USELESS_MS)) return
    this.#fail(new ScalerError('ERR_SCALER_EMBEDDED', text.replace(/; [a-z ]+$/, '')))
  }

  #tell(text: string): void {
    if (this.#told.has(text)) return
    this.#told.add(text)
    this.#onDelayed(text)
  }
}

export type { AgentEnd } from './worker.js'

/** An agent that shuts down logs what it waits for after this time, in milliseconds. */
const TELL_DELAY_MS = 100

/** The longest time that Node's timers accept. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Workers in this process. They keep it alive until they have stopped. */
export class Agent {
  /** Resolves when all workers are registered with the scheduler; rejects if one stops first. */
  readonly ready: Promise<void>
  /** Resolves when all workers have stopped, with their connections and processors. */
  readonly ended: Promise<AgentEnd>
  readonly #settings: CheckedAgentOptions
  readonly #shared: Omit<AgentWorkerOptions, 'identity' | 'info' | 'logger' | 'hosting'>
  /** Those that have not ended, if it is elastic; otherwise all. */
  #workers: readonly AgentWorker[] = []
  /** How many workers have been started. */
  #count = 0
  readonly #started: Promise<void>
  readonly #spares: SparePool
  readonly #store: AgentStore
  readonly #storage: StorageChild | undefined
  readonly #limits: AgentLimits
  #lifeTimer: NodeJS.Timeout | undefined
  #isStopping = false
  /** Set if it leaves because of a limit. */
  #limitEnd: AgentEnd | undefined
  #onStop: () => void = () => {}

  /** `hostings`: undefined: it is elastic. */
  private constructor(
    settings: CheckedAgentOptions,
    spares: SparePool,
    hostings: readonly TaskHosting[] | undefined,
  ) {
    this.#settings = settings
    this.#limits = limitsOf(settings)
    this.#spares = spares
    this.#store = new AgentStore(settings.logger, settings.objectDirectory)
    if (settings.objectStorage) this.#storage = newStorage(settings)
    const units = new HostUnits(settings.capabilities)
    // Not within the turn of the worker that released them.
    const onFree = (): unknown => setImmediate(() => this.#nudge())
    units.listen(onFree)
    for (const { gateway } of hostings ?? []) gateway.concurrency.listen(onFree)
    this.#shared = {
      settings,
      agentId: randomBytes(8).toString('hex'),
      units,
      sampler: new ProcessSampler(),
      report: new ConnectReport(settings.address),
      spares,
      hostObjects: new HostObjects(this.#store),
      store: this.#store,
    }
    const stopped = new Promise<void>((resolve) => (this.#onStop = resolve))
    this.#started = hostings === undefined ? Promise.resolve() : this.#start(hostings)
    this.ready = this.#started.then(() => this.#allReady())
    // Not before, which would delay the start. A rejection here is not an unhandled one.
    this.ready.then(
      () => this.#store.tidy(),
      () => {},
    )
    const over = hostings === undefined ? stopped : this.#started
    this.ended = over.then(() => this.#allEnded())
    void this.#started.then(() => this.#lookAtLife())
  }

  /**
   * Starts the workers; they connect in the background. Rejects with `ConfigError` for a bad
   * option. `spares`: of `poolOf`, with the same options. `hostings`: what runs the tasks of each
   * worker, if that is not processors of Node.
   */
  static async start(
    options: AgentOptions,
    spares?: SparePool,
    hostings: readonly TaskHosting[] = [],
  ): Promise<Agent> {
    const settings = checked(options)
    return new Agent(settings, spares ?? newPool(settings), hostings)
  }

  /**
   * Starts an elastic agent: one without workers, to which `add` adds some. Each leaves on its own;
   * the agent ends when it is stopped. Rejects with `ConfigError` for a bad option.
   */
  static async startElastic(options: AgentOptions, spares?: SparePool): Promise<Agent> {
    const settings = checked(options)
    return new Agent(settings, spares ?? newPool(settings), undefined)
  }

  /**
   * Adds a worker to an elastic agent; undefined once the agent is stopping. `allocation`: as in
   * the options, for this worker.
   */
  add(allocation: string): AgentWorker | undefined {
    if (this.#isStopping) return undefined
    const [name = ''] = this.#settings.names
    const worker = this.#begin(name, allocation, undefined)
    void worker.ended.then(() => {
      this.#workers = this.#workers.filter((each) => each !== worker)
      if (this.#workers.length === 0) this.#spares.empty()
    })
    return worker
  }

  /**
   * Shuts all workers down gracefully: tasks that they have not started run elsewhere, and running
   * ones get `drainMs` to finish; with `isUrgent`, or on the second call, they get no time.
   * Resolves when everything is closed.
   */
  async stop({ isUrgent = false }: { readonly isUrgent?: boolean } = {}): Promise<void> {
    const isAgain = this.#isStopping
    this.#isStopping = true
    this.#onStop()
    clearTimeout(this.#lifeTimer)
    await this.#started
    const ended = this.#workers.map((worker) => worker.stop(isUrgent))
    // By then it is known which tasks have started.
    const timer = setTimeout(() => this.#tellDraining(), TELL_DELAY_MS)
    await Promise.all([this.#spares.close(), ...ended])
    clearTimeout(timer)
    await this.#storage?.close(isUrgent || isAgain)
  }

  /**
   * Starts one worker per turn of the event loop: starting a process takes a while, and workers
   * that already run must not wait for all of them.
   */
  async #start(hostings: readonly TaskHosting[]): Promise<void> {
    const { names, allocation } = this.#settings
    for (const [index, name] of names.entries()) {
      if (index > 0) await nextTurn()
      if (this.#isStopping) return
      this.#begin(name, allocation, hostings[index])
    }
  }

  #begin(name: string, allocation: string, hosting: TaskHosting | undefined): AgentWorker {
    const { endsMS, logger: agentLogger } = this.#settings
    const index = this.#count
    this.#count += 1
    const identity = newIdentity(name)
    const logger = withFields(agentLogger, { worker: identity, index })
    logger.info(`Worker[${index}] started`)
    const info = peerInfo({ name, endsMS, allocation })
    const worker = new AgentWorker({ ...this.#shared, identity, info, logger, hosting })
    this.#workers = [...this.#workers, worker]
    void worker.ended.then(({ reason, isFailure }) => {
      logger[isFailure ? 'error' : 'info'](`Worker[${index}] ended: ${reason}`)
    })
    return worker
  }

  #nudge(): void {
    for (const worker of this.#workers) worker.nudge()
  }

  /** Ends the agent if it has been idle for too long, or its time is nearly over. */
  #lookAtLife(): void {
    if (this.#isStopping) return
    const now = performance.now()
    const idleSince = this.#workers.map((worker) => worker.idleSince)
    const verdict = agentVerdict(this.#limits, idleSince, now)
    if ('endsBecause' in verdict) {
      this.#settings.logger.info(`Cluster: leaving, ${verdict.endsBecause}`)
      this.#limitEnd = { reason: verdict.endsBecause, isFailure: false }
      void this.stop()
      return
    }
    if (verdict.nextLookAt === Infinity) return
    const delayMs = Math.min(MAX_TIMER_MS, Math.ceil(verdict.nextLookAt - now))
    this.#lifeTimer = setTimeout(() => this.#lookAtLife(), delayMs)
  }

  #tellDraining(): void {
    const tasks = this.#workers.reduce((sum, worker) => sum + worker.drainingCount, 0)
    if (tasks === 0) return
    const { drainMs, logger } = this.#settings
    const running = tasks === 1 ? '1 running task' : `${tasks} running tasks`
    const wait = `waiting up to ${drainMs / 1_000} s for ${running}`
    const text = `shutting down: ${wait}; a second signal exits immediately`
    logger.info(text, { tasks, drainMs })
  }

  async #allReady(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ready))
  }

  /** Resolves with the first failure, if there is one. */
  async #allEnded(): Promise<AgentEnd> {
    const ends = await Promise.all(this.#workers.map((worker) => worker.ended))
    clearTimeout(this.#lifeTimer)
    await this.#spares.close()
    this.#store.close()
    await this.#storage?.close()
    const failure = ends.find((end) => end.isFailure)
    return failure ?? this.#limitEnd ?? ends[0] ?? { reason: 'stopped', isFailure: false }
  }
}

/** Nothing is started with certificates that cannot be used. */
function checked(options: AgentOptions): CheckedAgentOptions {
  requireProcesses()
  const settings = checkAgentOptions(options)
  checkCertificates(settings.address, settings.tls)
  return settings
}

/** A server for the machine of these workers, which others reach if they reach its scheduler. */
function newStorage({ address, objectDirectory, ...options }: CheckedAgentOptions): StorageChild {
  const scheduler = parseAddress(address)
  const isLocal = scheduler.kind === 'ipc' || isLoopback(scheduler.host)
  const directory = objectDirectory === undefined ? [] : ['--object-directory', objectDirectory]
  const scheme = schemeOf(scheduler).replace('ipc:', 'tcp:')
  const own = `${scheme}${isLocal ? '127.0.0.1' : '*'}:0`
  return new StorageChild([own, '--scheduler', address, ...directory], options, () => {})
}

/**
 * Takes in processors that have been started for an agent which does not know its scheduler's
 * address yet. Throws `ConfigError` for a bad option.
 */
export function poolOf(
  options: AgentOptions,
  children: readonly (ChildProcess | Error)[],
): SparePool {
  const pool = newPool(checkAgentOptions(options))
  pool.adopt(children)
  return pool
}

function limitsOf({ idleTimeoutMs, endsMS, drainMs }: CheckedAgentOptions): AgentLimits {
  const startedAt = performance.now()
  const endsAt = endsMS === 0 ? Infinity : startedAt + endsMS - Date.now()
  return { idleTimeoutMs, startedAt, endsAt, drainMs }
}

function newPool({ processor, spareProcessors: count, logger }: CheckedAgentOptions): SparePool {
  return new SparePool({ processor, count, logger })
}

// The agent: one process that serves any number of workers, each with an identity, a connection and
// a processor of its own. User code never runs in it, so whatever that does, the workers stay
// alive.

import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { identity as identityOf, type Identity } from '../base/ids.js'
import { HostUnits } from '../core/worker/queue/units.js'
import { peerInfo } from '../runtime/peer-info.js'
import { ProcessSampler } from '../runtime/process-statistics.js'
import { checkAgentOptions, type AgentOptions, type CheckedAgentOptions } from './agent-options.js'
import { AgentWorker, type AgentEnd } from './agent-worker.js'
import { ConnectReport } from './connect-report.js'
import { SparePool } from './spare-pool.js'
import { withFields } from './worker-logger.js'

export type { AgentEnd } from './agent-worker.js'

/** An agent that leaves says what it waits for if that takes longer, in milliseconds. */
const TELL_DELAY_MS = 100

/** Workers in this process. They keep it alive until they have ended. */
export class Agent {
  /** Resolves when the scheduler knows all workers; rejects when one ends before that. */
  readonly ready: Promise<void>
  /** Resolves when all workers have ended, with their connections and processors. */
  readonly ended: Promise<AgentEnd>
  readonly #settings: CheckedAgentOptions
  readonly #workers: AgentWorker[] = []
  readonly #started: Promise<void>
  readonly #spares: SparePool
  #isStopping = false

  private constructor(settings: CheckedAgentOptions) {
    const { processor, spareProcessors: count, logger } = settings
    this.#settings = settings
    this.#spares = new SparePool({ processor, count, logger })
    this.#started = this.#start(settings)
    this.ready = this.#started.then(() => this.#allReady())
    // Who does not ask is not told.
    this.ready.catch(() => {})
    this.ended = this.#started.then(() => this.#allEnded())
  }

  /**
   * Starts the workers; they connect in the background. Rejects with `ConfigError` for a bad
   * option.
   */
  static async start(options: AgentOptions): Promise<Agent> {
    return new Agent(checkAgentOptions(options))
  }

  /**
   * Shuts all workers down gracefully: tasks that they have not begun run elsewhere, and those that
   * run have `drainMs` to end. If `isUrgent`, or when it is called again, they are not waited for.
   * Resolves when nothing is left of them.
   */
  async stop({ isUrgent = false }: { readonly isUrgent?: boolean } = {}): Promise<void> {
    this.#isStopping = true
    await this.#started
    const ended = this.#workers.map((worker) => worker.stop(isUrgent))
    // By then it has shown what has begun.
    const timer = setTimeout(() => this.#tellDraining(), TELL_DELAY_MS)
    await Promise.all([this.#spares.close(), ...ended])
    clearTimeout(timer)
  }

  /**
   * One worker a turn: starting a process takes a while, and those that run must not wait for all.
   */
  async #start(settings: CheckedAgentOptions): Promise<void> {
    const agentId = randomBytes(8).toString('hex')
    const units = new HostUnits(settings.capabilities)
    units.listen(() => {
      // Not within the turn of the worker that had them.
      setImmediate(() => {
        for (const worker of this.#workers) worker.nudge()
      })
    })
    const { endsMS, allocation } = settings
    const sampler = new ProcessSampler()
    const report = new ConnectReport(settings.address)
    const spares = this.#spares
    for (const [index, name] of settings.names.entries()) {
      if (index > 0) await nextTurn()
      if (this.#isStopping) return
      const identity = newWorkerIdentity(name)
      const logger = withFields(settings.logger, { worker: identity, index })
      logger.info(`Worker[${index}] started`)
      const shared = { settings, agentId, units, sampler, report, spares }
      const info = peerInfo({ name, endsMS, allocation })
      const worker = new AgentWorker({ ...shared, identity, info, logger })
      this.#workers.push(worker)
      void worker.ended.then(({ reason, isFailure }) => {
        logger[isFailure ? 'error' : 'info'](`Worker[${index}] ended: ${reason}`)
      })
    }
  }

  #tellDraining(): void {
    const tasks = this.#workers.reduce((sum, worker) => sum + worker.drainingCount, 0)
    if (tasks === 0) return
    const { drainMs, logger } = this.#settings
    const running = tasks === 1 ? '1 task still runs' : `${tasks} tasks still run`
    const text = `leaving: ${running}, at most ${drainMs / 1_000} s; a second signal ends at once`
    logger.info(text, { tasks, drainMs })
  }

  async #allReady(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ready))
  }

  /** The first failure is the reason, if there is one. */
  async #allEnded(): Promise<AgentEnd> {
    const ends = await Promise.all(this.#workers.map((worker) => worker.ended))
    await this.#spares.close()
    const failure = ends.find((end) => end.isFailure)
    return failure ?? ends[0] ?? { reason: 'stopped', isFailure: false }
  }
}

/**
 * A new worker identity (docs/protocol.md#identities): text in UTF-8, as one character per byte.
 */
function newWorkerIdentity(name: string): Identity {
  const text = `${process.pid}|${name}|${randomBytes(16).toString('hex')}`
  return identityOf(Buffer.from(text, 'utf8').toString('latin1'))
}

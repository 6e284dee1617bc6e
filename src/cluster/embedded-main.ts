// The program of the processes that SchedulerClusterCombo starts: a scheduler or an agent. It reads
// its options as one line of JSON from stdin and exits when stdin closes, so it never outlives the
// program that started it: immediately, unless it has received the order to shut down gracefully.
// It reports as lines of JSON on stdout.

import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { silentLogger, type LogFields, type Logger, type LogLevel } from '../base/logger.js'
import { messageOf } from '../base/text.js'
import { takeCertificates, tlsVariables } from '../runtime/child-environment.js'
import type * as schedulerModule from '../scheduler/scheduler.js'
import type * as agentModule from '../worker/agent/agent.js'
import type { AgentOptions } from '../worker/agent/options.js'
import type { SparePool } from '../worker/agent/spare-pool.js'
import { spawnProcessor } from '../worker/agent/spawn.js'
import type { AgentOrder, SchedulerOrder } from './options.js'
import {
  DEPTH_VARIABLE,
  orderlyEndMs,
  type EmbeddedLine,
  type EmbeddedReport,
  type Logging,
  reportLine,
} from './embedded-lines.js'

/** The line that starts a child. */
type EmbeddedStart = Exclude<EmbeddedLine, { role: 'end' | 'prepare' }>

/** What both kinds of agents have. */
type RunningAgent = Pick<agentModule.Agent, 'ready' | 'ended' | 'stop'>

/** A part that runs until it is stopped. */
interface Running {
  readonly ended: Promise<{ readonly reason: string; readonly isFailure: boolean }>
  /** Stops it; if urgent, without waiting for running tasks. */
  readonly end: (isUrgent: boolean) => Promise<void>
}

/** A part that does not shut down within this time plus its own is terminated. */
const END_TIMEOUT_MS = 5000

function report(message: EmbeddedReport): void {
  process.stdout.write(reportLine(message))
}

function newLogger({ isLogged, isDebugLogged }: Logging): Logger {
  if (!isLogged) return silentLogger
  const log =
    (level: LogLevel) =>
    (text: string, fields: LogFields = {}): void =>
      report({ event: 'log', level, text, fields })
  return {
    debug: isDebugLogged ? log('debug') : () => {},
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    isLevelEnabled: (level) => level !== 'debug' || isDebugLogged,
  }
}

/** The process has one role, and loads only what that role needs. */
const loadScheduler = async (): Promise<typeof schedulerModule> => {
  await import('../core/scheduler/scheduler-machine.js')
  return import('../scheduler/scheduler.js')
}
const loadAgent = (): Promise<typeof agentModule> => import('../worker/agent/agent.js')

async function startScheduler(options: SchedulerOrder, logger: Logger): Promise<Running> {
  const { Scheduler } = await loadScheduler()
  const scheduler = await Scheduler.start({ ...options, logger })
  const { address, monitorAddress, metricsAddress } = scheduler
  report({ event: 'listening', address, monitorAddress, metricsAddress })
  return { ended: scheduler.ended, end: () => scheduler.close() }
}

/** Processors that run before their agent knows where its scheduler is. */
class PreparedProcessors {
  readonly #children: readonly (ChildProcess | Error)[]
  readonly #pool: Promise<SparePool>

  /**
   * Starts one for each worker, but not more than there are cores. It is the first thing that an
   * agent does, because it takes longest. A failure is reported when the agent starts.
   */
  constructor({ range, ...options }: AgentOrder, logger: Logger) {
    const { workers, execArgv = [], cwd } = options
    const env = environmentFor(options)
    const count = Math.min(range?.min ?? workers, Math.max(availableParallelism(), 2))
    const how = { execArgv, env, cwd, workers }
    this.#children = Array.from({ length: count }, () => spawnProcessor(how))
    this.#pool = this.#adopt({ ...options, env, logger })
    this.#pool.catch(() => undefined)
  }

  /** The pool of the agent that has the same options. */
  pool(): Promise<SparePool> {
    return this.#pool
  }

  /** There will be no agent: they may not even have begun to watch for its end. */
  kill(): void {
    for (const child of this.#children) if (!(child instanceof Error)) killGroup(child)
  }

  async #adopt(options: AgentOptions): Promise<SparePool> {
    const { poolOf } = await loadAgent()
    return poolOf(options, this.#children)
  }
}

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    // It has exited.
  }
}

/** How an agent with a fixed number of workers is started, or one whose number follows the work. */
async function starterOf(
  range: AgentOrder['range'],
): Promise<(options: AgentOptions, spares?: SparePool) => Promise<RunningAgent>> {
  if (range === undefined) {
    const { Agent } = await loadAgent()
    return (options, spares) => Agent.start(options, spares)
  }
  const { ElasticAgent } = await import('./elastic-agent.js')
  return (options, spares) => ElasticAgent.start(options, range, spares)
}

async function startAgent(
  { range, ...order }: AgentOrder,
  logger: Logger,
  prepared: PreparedProcessors | undefined,
): Promise<Running> {
  const { StartWatch } = await loadAgent()
  const watch = new StartWatch(logger, (text) => report({ event: 'delayed', text }))
  const options = { ...order, env: environmentFor(order), logger: watch.logger }
  const start = await starterOf(range)
  const running = await start(options, await prepared?.pool())
  watch.orFailure(running.ready).then(() => report({ event: 'ready' }), reportFailure)
  return { ended: running.ended, end: (isUrgent) => running.stop({ isUrgent }) }
}

/** Adds the nesting depth of clusters and the certificates, even to a minimal environment. */
function environmentFor({ env = process.env, tls }: AgentOrder): NodeJS.ProcessEnv {
  return { ...env, [DEPTH_VARIABLE]: process.env[DEPTH_VARIABLE], ...tlsVariables(tls) }
}

function reportFailure(error: unknown): void {
  const text = messageOf(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  report({ event: 'failed', text, ...(code === undefined ? {} : { code }) })
}

/** One part of an embedded cluster. */
class Part {
  #running: Running | undefined
  #prepared: PreparedProcessors | undefined
  #endMs = END_TIMEOUT_MS

  /** Runs until stdin closes. */
  async serve(): Promise<void> {
    // Ctrl-C in a terminal is for the program that started this one, which then stops this process.
    process.on('SIGINT', () => {})
    // Loaded when it is needed: this file is loaded by all processes.
    const { createInterface } = process.getBuiltinModule('node:readline')
    let isOrderly = false
    for await (const text of createInterface({ input: process.stdin })) {
      const line = JSON.parse(text) as EmbeddedLine
      if (line.role === 'end') isOrderly = true
      else if (line.role === 'prepare') {
        this.#prepared = new PreparedProcessors(line.options, newLogger(line))
      } else if (this.#running === undefined) await this.#start(line)
    }
    await this.#end(isOrderly)
  }

  /** It cannot start. */
  fail(error: unknown): void {
    this.#prepared?.kill()
    reportFailure(error)
    process.stdout.write('', () => process.exit(1))
  }

  async #start(line: EmbeddedStart): Promise<void> {
    this.#endMs += orderlyEndMs(line)
    const logger = newLogger(line)
    this.#running =
      line.role === 'scheduler'
        ? await startScheduler(line.options, logger)
        : await startAgent(line.options, logger, this.#prepared)
    void this.#running.ended.then(({ isFailure }) => process.exit(isFailure ? 1 : 0))
    const { saveMemory } = await import('../runtime/process-usage.js')
    saveMemory()
  }

  /** Without the order to shut down gracefully, no program is left to wait for running tasks. */
  async #end(isOrderly: boolean): Promise<void> {
    setTimeout(() => process.exit(1), isOrderly ? this.#endMs : END_TIMEOUT_MS).unref()
    if (this.#running === undefined) this.#prepared?.kill()
    await this.#running?.end(!isOrderly)
    process.exit(0)
  }
}

/** Runs the part of this process until an order ends it. */
export async function runPart(role: string): Promise<void> {
  takeCertificates()
  // Reports go to a pipe whose reader may have exited: then stdin has closed as well.
  process.stdout.on('error', () => {})
  report({ event: 'alive' })
  // Load what the role needs while waiting for the order. A failure is reported when it starts. An
  // agent has other things to do first.
  if (role === 'scheduler') loadScheduler().catch(() => undefined)
  const part = new Part()
  await part.serve().catch((error: unknown) => part.fail(error))
}

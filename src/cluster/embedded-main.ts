// The program of the processes that SchedulerClusterCombo starts: a scheduler or an agent. It reads
// its options as one line of JSON from stdin and exits when stdin closes, so it never outlives the
// program that started it: immediately, unless it has received the order to shut down gracefully.
// It reports as lines of JSON on stdout.

import { availableParallelism } from 'node:os'
import { silentLogger, type LogFields, type Logger, type LogLevel } from '../base/logger.js'
import type * as schedulerModule from '../scheduler/scheduler.js'
import type * as agentModule from '../worker/agent/agent.js'
import type { SparePool } from '../worker/agent/spare-pool.js'
import { spawnProcessor } from '../worker/agent/spawn.js'
import type { AgentOrder, SchedulerOrder } from './options.js'
import {
  DEPTH_VARIABLE,
  orderlyEndMs,
  type EmbeddedLine,
  type EmbeddedReport,
  type Logging,
} from './embedded-lines.js'

/** The line that starts a child. */
type EmbeddedStart = Exclude<EmbeddedLine, { role: 'end' | 'prepare' }>

/** A part that runs until it is stopped. */
interface Running {
  readonly ended: Promise<{ readonly reason: string; readonly isFailure: boolean }>
  /** Stops it; if urgent, without waiting for running tasks. */
  readonly end: (isUrgent: boolean) => Promise<void>
}

/** A part that does not shut down within this time plus its own is terminated. */
const END_TIMEOUT_MS = 5000

function report(message: EmbeddedReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
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

/**
 * Starts processors while the scheduler starts, for each worker, but not more than there are cores.
 * It is the first thing that an agent does, because it takes longest. A failure is reported when
 * the agent starts.
 */
async function prepareAgent(options: AgentOrder, logger: Logger): Promise<SparePool> {
  const { workers, execArgv = [], cwd } = options
  const env = environmentFor(options.env)
  const count = Math.min(workers, Math.max(availableParallelism(), 2))
  const children = Array.from({ length: count }, () => spawnProcessor({ execArgv, env, cwd }))
  const { poolOf } = await loadAgent()
  return poolOf({ ...options, env, logger }, children)
}

async function startAgent(
  options: AgentOrder,
  logger: Logger,
  spares: SparePool | undefined,
): Promise<Running> {
  const { Agent } = await loadAgent()
  const agent = await Agent.start({ ...options, env: environmentFor(options.env), logger }, spares)
  agent.ready.then(() => report({ event: 'ready' }), reportFailure)
  return { ended: agent.ended, end: (isUrgent) => agent.stop({ isUrgent }) }
}

/** Adds the nesting depth of clusters, even to a minimal environment. */
function environmentFor(env: NodeJS.ProcessEnv | undefined): NodeJS.ProcessEnv {
  if (env === undefined) return process.env
  return { ...env, [DEPTH_VARIABLE]: process.env[DEPTH_VARIABLE] }
}

function reportFailure(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  report({ event: 'failed', text, ...(code === undefined ? {} : { code }) })
}

async function serve(): Promise<void> {
  // Ctrl-C in a terminal is for the program that started this one, which then stops this process.
  process.on('SIGINT', () => {})
  // Loaded when it is needed: this file is loaded by all processes.
  const { createInterface } = process.getBuiltinModule('node:readline')
  const lines = createInterface({ input: process.stdin })
  let running: Running | undefined
  let preparing: Promise<SparePool | undefined> | undefined
  let isOrderly = false
  let endMs = END_TIMEOUT_MS
  for await (const text of lines) {
    const line = JSON.parse(text) as EmbeddedLine
    if (line.role === 'end') isOrderly = true
    else if (line.role === 'prepare') {
      preparing = prepareAgent(line.options, newLogger(line)).catch(() => undefined)
    } else if (running === undefined) {
      endMs += orderlyEndMs(line)
      running = await start(line, await preparing)
      void running.ended.then(({ isFailure }) => process.exit(isFailure ? 1 : 0))
    }
  }
  setTimeout(() => process.exit(1), isOrderly ? endMs : END_TIMEOUT_MS).unref()
  // Without the order to shut down gracefully, no program is left to wait for running tasks.
  await running?.end(!isOrderly)
  process.exit(0)
}

function start(line: EmbeddedStart, spares: SparePool | undefined): Promise<Running> {
  const logger = newLogger(line)
  return line.role === 'scheduler'
    ? startScheduler(line.options, logger)
    : startAgent(line.options, logger, spares)
}

/** Runs the part of this process until it is told to end. */
export async function runPart(role: string): Promise<void> {
  // Reports go to a pipe whose reader may have exited: then stdin has closed as well.
  process.stdout.on('error', () => {})
  // Load what the role needs while waiting for the order. A failure is reported when it starts. An
  // agent has other things to do first.
  if (role === 'scheduler') loadScheduler().catch(() => undefined)
  try {
    await serve()
  } catch (error) {
    reportFailure(error)
    process.exitCode = 1
    process.stdin.destroy()
  }
}

// The options of an agent: names, defaults and bounds, checked in one place for code and commands.

import { statSync } from 'node:fs'
import { availableParallelism, hostname } from 'node:os'
import { ConfigError } from '../../base/errors.js'
import { type Logger, silentLogger } from '../../base/logger.js'
import { checkOptions, type OptionTable, type Settled, show } from '../../base/option.js'
import { counted } from '../../base/text.js'
import { loggerOption } from '../../runtime/log/option.js'
import { parseConnectAddress } from '../../transport/address.js'
import { tlsVariables } from '../../runtime/child-environment.js'
import { TLS_OPTION, type TlsOption, tlsOption } from '../../transport/tls/options.js'
import type { TaskCapability } from '../../wire/message.js'
import { checkDirectoryOption } from '../../runtime/directory-option.js'
import type { ProcessorOptions } from './spawn.js'

// What started an agent, and when it will terminate it: given by options, or by Slurm.

/** The allocation, as reported to the scheduler. */
interface Allocation {
  /** When the agent will be terminated, in ms since 1970 by this clock; 0 = no known limit. */
  readonly endsMS: number
  /** '' = unknown. */
  readonly allocation: string
}

const NAME = /^[^\p{Cc}]{1,128}$/u

/** The allocation from options, or from `env` of a Slurm job. Throws `ConfigError`. */
export function allocationOf(
  options: Pick<AgentOptions, 'timeLimitMs' | 'lifetimeMs' | 'allocation'>,
  env: NodeJS.ProcessEnv,
  nowMS: number,
): Allocation {
  const { timeLimitMs, lifetimeMs, allocation } = options
  if (allocation !== undefined && !NAME.test(allocation)) {
    const rule = '1 to 128 characters without control characters'
    throw new ConfigError(`option allocation: expected ${rule}, got ${show(allocation)}`)
  }
  const job = env['SLURM_JOB_ID'] ?? ''
  const after = (ms: number): number => (ms === 0 ? 0 : nowMS + ms)
  const limitMS = timeLimitMs === undefined ? slurmEndMS(env) : after(timeLimitMs)
  const ends = [limitMS, after(lifetimeMs ?? 0)].filter((endMS) => endMS > 0)
  return {
    endsMS: ends.length === 0 ? 0 : Math.min(...ends),
    allocation: allocation ?? (NAME.test(job) ? `slurm-${job}` : ''),
  }
}

/** Slurm gives it in seconds since 1970. */
function slurmEndMS(env: NodeJS.ProcessEnv): number {
  const seconds = Number(env['SLURM_JOB_END_TIME'] ?? 0)
  return Number.isSafeInteger(seconds * 1_000) && seconds > 0 ? seconds * 1_000 : 0
}

/** The options of an agent. Times are in milliseconds, sizes in bytes. */
export interface AgentOptions extends TlsOption {
  /** The address of the scheduler: `tcp://host:port`, `tls://host:port`, `ipc:///path`. */
  readonly address: string
  /** Number of workers. 1 to 4,096. */
  readonly workers: number
  /** One per worker, without `|`. Default: the host's name up to the first dot, for each. */
  readonly workerNames?: readonly string[] | undefined
  /**
   * What tasks can require with `capabilities`: `['linux', 'gpu=2']`, or `{ linux: -1, gpu: 2 }`. A
   * number is how many units all workers together can use at a time, 0 to 100,000; a name alone
   * (-1) has no limit. At most 64 names. Default: none.
   */
  readonly capabilities?: readonly string[] | Readonly<Record<string, number>> | undefined
  /**
   * 0: after how long the agent will be terminated by whatever started it; 0 = never, or unknown.
   * The agent drains `drainMs` before, and the scheduler gives it no task that takes longer than
   * what is left, as measured. Default in a Slurm job: the time left (`SLURM_JOB_END_TIME`). Up to
   * 2^40.
   */
  readonly timeLimitMs?: number | undefined
  /**
   * 0: the agent ends on its own after this long, in the same way; 0 = never. Up to 2^40.
   */
  readonly lifetimeMs?: number | undefined
  /**
   * 0: the agent drains and ends once none of its workers has had a task for this long; 0 = never.
   * Time without a connection to the scheduler does not count. Up to 2^40.
   */
  readonly idleTimeoutMs?: number | undefined
  /**
   * A label for what the agent was started as part of. Default: `slurm-ID` in a Slurm job
   * (`SLURM_JOB_ID`), else nothing. Up to 128 characters, without control characters.
   */
  readonly allocation?: string | undefined
  /**
   * 2,000: how often each worker sends a heartbeat to the scheduler. 10 to 3,600,000. A broken link
   * is noticed after four times that, but after 5 seconds at the earliest and 8 at the latest.
   */
  readonly heartbeatIntervalMs?: number | undefined
  /**
   * 0: a task that runs for longer on these workers is stopped, and fails with `TaskTimeoutError`;
   * a shorter `timeoutMs` of its own comes first. 0 = never. Up to 2,147,483,647.
   */
  readonly taskTimeoutMs?: number | undefined
  /** 300,000: a worker exits after the scheduler has been silent for this long. 100 to 10^9. */
  readonly deathTimeoutMs?: number | undefined
  /**
   * 0: how long a worker that is stopped waits for its running tasks; tasks that do not finish in
   * time, and those that it has not started, run elsewhere. (The command waits for 20 seconds.)
   * 0 to 3,600,000.
   */
  readonly drainMs?: number | undefined
  /**
   * True: the name, message and stack of errors are also sent to the scheduler, which keeps them
   * for monitors. Clients get errors either way.
   */
  readonly errorTexts?: boolean | undefined
  /** 8,192: results up to this size travel inside the result message. 0 to 16,777,216. */
  readonly inlineLimitBytes?: number | undefined
  /**
   * 3,000 (500 in `SchedulerClusterCombo.start` and `Client.local`): how long after SIGTERM a
   * processor is killed. 0 to 3,600,000.
   */
  readonly killDelayMs?: number | undefined
  /**
   * 1,000: how long a task that listens to its abort signal gets to finish on its own after it was
   * cancelled or has timed out. 0 to 3,600,000.
   */
  readonly cancelGraceMs?: number | undefined
  /**
   * 1: processors started in advance, for all workers together, so that one that is killed with its
   * task is replaced immediately. Each takes about 50 MB of memory. 0 to 16.
   */
  readonly spareProcessors?: number | undefined
  /**
   * 1,073,741,824 (1 GiB): how many bytes of objects each worker caches beyond those that its tasks
   * need; the least recently used are dropped first. 0 to 2^40.
   */
  readonly objectCacheBytes?: number | undefined
  /**
   * Where large objects from a scheduler on another machine are kept in files, once for all
   * workers; '' = nowhere, each worker gets them in messages. An existing directory of this
   * machine, as an absolute path; it should be in memory. Default: `/dev/shm` on Linux.
   */
  readonly objectDirectory?: string | undefined
  /**
   * False: start an object storage server on this machine. Large results of the workers stay there,
   * and what the workers need from elsewhere comes there once for all of them.
   */
  readonly objectStorage?: boolean | undefined
  /**
   * 30,000: how often an idle processor collects garbage after it has run tasks; 0 = only when Node
   * does so on its own. Up to 86,400,000.
   */
  readonly garbageCollectIntervalMs?: number | undefined
  /**
   * 1,073,741,824 (1 GiB): an idle processor that holds more memory than this releases what it can.
   * 0 = never. Up to 2^40.
   */
  readonly trimMemoryThresholdBytes?: number | undefined
  /** Node's command line options for processors: `--max-old-space-size=…`. Default: none. */
  readonly execArgv?: readonly string[] | undefined
  /** The environment of the processors. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined
  /** The working directory of the processors. Default: that of this process. */
  readonly cwd?: string | undefined
  /**
   * Silent by default; the `logging…` options create one instead. It also receives what tasks write
   * to stdout and stderr.
   */
  readonly logger?: Logger | undefined
}

/** The options that are converted to another form. */
type Converted =
  | 'workers'
  | 'workerNames'
  | 'capabilities'
  | 'timeLimitMs'
  | 'lifetimeMs'
  | 'allocation'
  | 'execArgv'
  | 'env'
  | 'cwd'
  | 'killDelayMs'
  | 'objectDirectory'
  | 'tls'

/** The options of an agent with all defaults filled in. */
export interface CheckedAgentOptions
  extends Settled<AgentOptions, Converted>, Allocation, TlsOption {
  /** One per worker. */
  readonly names: readonly string[]
  /** As workers send them in their heartbeats. */
  readonly capabilities: readonly TaskCapability[]
  readonly processor: ProcessorOptions
  /** Undefined: the default. */
  readonly objectDirectory: string | undefined
}

const MAX_NAME_LENGTH = 128
const MAX_CAPABILITIES = 64
const MAX_UNITS = 100_000
const CAPABILITY = /^([^\s,=\p{C}]{1,128})(?:=(\d+(?:\.\d+)?))?$/u
const UP_TO_AN_HOUR = { kind: 'duration', min: 0, max: 3_600_000 } as const

/** The options of an agent, for code and commands. */
export const AGENT_OPTIONS: OptionTable<AgentOptions> = {
  address: { type: { kind: 'text' }, description: 'the address of the scheduler' },
  workers: {
    type: { kind: 'integer', min: 1, max: 4_096 },
    description: 'number of workers; the default leaves one core for everything else',
    commandDefault: Math.max(1, availableParallelism() - 1),
    defaultText: 'cores - 1',
    flag: 'num-of-workers',
    short: ['-n'],
  },
  workerNames: {
    type: { kind: 'list', separator: 'commas' },
    description: 'comma-separated names, one per worker',
    defaultText: 'the name of the host',
    flag: 'worker-names',
    short: ['-wn'],
  },
  capabilities: {
    type: { kind: 'list', separator: 'commas', isRecord: true },
    description: 'comma-separated names that tasks can require, or units of them (gpu=2)',
    flag: 'capabilities',
  },
  timeLimitMs: {
    type: { kind: 'duration', min: 0, max: 1_099_511_627_776 },
    description: 'the workers will be terminated after this long, and drain before; 0 = no limit',
    defaultText: 'the time left in the Slurm job, or 0',
    flag: 'time-limit-seconds',
  },
  lifetimeMs: {
    type: { kind: 'duration', min: 0, max: 1_099_511_627_776 },
    description: 'end after this long, and drain before; 0 = never',
    default: 0,
    flag: 'lifetime-seconds',
  },
  idleTimeoutMs: {
    type: { kind: 'duration', min: 0, max: 1_099_511_627_776 },
    description: 'end once no worker has had a task for this long; 0 = never',
    default: 0,
    flag: 'idle-timeout-seconds',
  },
  allocation: {
    type: { kind: 'text' },
    description: 'report to the scheduler what the workers were started as part of',
    defaultText: 'the id of the Slurm job',
    flag: 'allocation',
  },
  heartbeatIntervalMs: {
    type: { kind: 'duration', min: 10, max: 3_600_000 },
    description: 'how often the workers send a heartbeat',
    default: 2_000,
    flag: 'heartbeat-interval',
    short: ['-hi'],
  },
  taskTimeoutMs: {
    type: { kind: 'duration', min: 0, max: 2_147_483_647 },
    description: 'stop a task that runs for longer on these workers; 0 = never',
    default: 0,
    flag: 'task-timeout-seconds',
    short: ['-tts'],
  },
  deathTimeoutMs: {
    type: { kind: 'duration', min: 100, max: 1_000_000_000 },
    description: 'exit after the scheduler has been silent for this long',
    default: 300_000,
    flag: 'death-timeout-seconds',
    short: ['-ds'],
  },
  drainMs: {
    type: UP_TO_AN_HOUR,
    description: 'how long to wait for running tasks on shutdown; the others run elsewhere',
    default: 0,
    commandDefault: 20_000,
    flag: 'drain-seconds',
  },
  errorTexts: {
    type: { kind: 'boolean' },
    description: 'send the names, messages and stacks of task errors to monitors',
    default: true,
    flag: 'error-texts',
  },
  inlineLimitBytes: {
    type: { kind: 'integer', min: 0, max: 16_777_216 },
    description: 'results up to this size travel inside the result message',
    default: 8_192,
    flag: 'inline-limit-bytes',
  },
  killDelayMs: {
    type: UP_TO_AN_HOUR,
    description: 'how long after SIGTERM to kill a processor',
    default: 3_000,
    flag: 'kill-delay-seconds',
  },
  cancelGraceMs: {
    type: UP_TO_AN_HOUR,
    description: 'how long a cancelled task that listens to its abort signal gets to finish',
    default: 1_000,
    flag: 'cancel-grace-seconds',
  },
  spareProcessors: {
    type: { kind: 'integer', min: 0, max: 16 },
    description: 'processes kept ready to replace a killed one; each takes about 50 MB',
    default: 1,
    flag: 'spare-processors',
  },
  objectCacheBytes: {
    type: { kind: 'integer', min: 0, max: 1_099_511_627_776 },
    description: 'how many bytes of objects each worker caches beyond those its tasks need',
    default: 1_073_741_824,
    flag: 'object-cache-bytes',
  },
  objectDirectory: {
    type: { kind: 'text' },
    description: 'where the workers share large objects in files; empty = nowhere',
    defaultText: '/dev/shm (Linux)',
    flag: 'object-directory',
  },
  objectStorage: {
    type: { kind: 'boolean' },
    description: 'start an object storage server beside the workers, for their large results',
    default: false,
    flag: 'object-storage',
  },
  garbageCollectIntervalMs: {
    type: { kind: 'duration', min: 0, max: 86_400_000 },
    description: 'how often idle processors collect garbage after running tasks; 0 = never',
    default: 30_000,
    flag: 'garbage-collect-interval-seconds',
    short: ['-gc'],
  },
  trimMemoryThresholdBytes: {
    type: { kind: 'integer', min: 0, max: 1_099_511_627_776 },
    description: 'release the memory of an idle processor that holds more than this; 0 = never',
    default: 1_073_741_824,
    flag: 'trim-memory-threshold-bytes',
    short: ['-tm'],
  },
  execArgv: { type: { kind: 'list', separator: 'words' }, description: 'options of Node' },
  env: { type: { kind: 'object' }, description: 'the environment of the processors' },
  cwd: { type: { kind: 'text' }, description: 'the working directory of the processors' },
  ...TLS_OPTION,
  logger: { type: { kind: 'object' }, description: 'where log lines go' },
}

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value. */
export function checkAgentOptions(options: AgentOptions): CheckedAgentOptions {
  const checked = checkOptions('agent', AGENT_OPTIONS, options)
  const { workers, workerNames, capabilities, timeLimitMs, ...others } = checked
  const { lifetimeMs, allocation, execArgv = [], env, cwd, tls, ...more } = others
  const { killDelayMs, logger, objectDirectory, ...rest } = more
  checkDirectoryOption('objectDirectory', objectDirectory)
  if (rest.address === undefined)
    throw new ConfigError('option address: expected text, got nothing')
  if (workers === undefined) throw new ConfigError('option workers: expected a number, got nothing')
  parseConnectAddress(rest.address)
  return {
    ...(rest as Settled<AgentOptions, Converted>),
    names: checkNames(workerNames, workers),
    ...allocationOf({ timeLimitMs, lifetimeMs, allocation }, process.env, Date.now()),
    objectDirectory,
    capabilities: checkCapabilities((capabilities ?? []) as readonly string[]),
    processor: {
      execArgv,
      workers,
      env: { ...checkEnv(env), ...tlsVariables(tls) },
      cwd: checkCwd(cwd),
      killDelayMs: killDelayMs as number,
    },
    logger: loggerOption('logger', logger) ?? silentLogger,
    tls: tlsOption(tls),
  }
}

/** Reads texts such as `linux`, or `gpu=2`. Throws `ConfigError`. */
export function checkCapabilities(texts: readonly string[]): readonly TaskCapability[] {
  const found = new Map<string, number>()
  const wrong = (why: string, got: string): ConfigError => {
    return new ConfigError(`option capabilities: expected ${why}, got ${JSON.stringify(got)}`)
  }
  for (const text of texts) {
    const [, name, number] = CAPABILITY.exec(text) ?? []
    if (name === undefined) throw wrong('names such as linux, or gpu=2 with a number', text)
    const value = number === undefined ? -1 : Number(number)
    if (!Number.isInteger(value) || value > MAX_UNITS) {
      throw wrong(`a whole number of ${name} from 0 to ${MAX_UNITS}`, text)
    }
    if (found.has(name)) throw wrong('each name once', text)
    found.set(name, value)
  }
  if (found.size > MAX_CAPABILITIES) {
    throw new ConfigError(`option capabilities: expected at most ${MAX_CAPABILITIES} names`)
  }
  return [...found].map(([name, value]) => ({ name, value }))
}

function checkNames(names: readonly string[] | undefined, count: number): readonly string[] {
  if (names === undefined) return new Array<string>(count).fill(hostname().split('.', 1)[0] ?? '')
  if (!Array.isArray(names) || names.length !== count) {
    const got = Array.isArray(names)
      ? `${counted(names.length, 'name')} for ${counted(count, 'worker')}`
      : 'no list'
    throw new ConfigError(`option workerNames: expected one name per worker, got ${got}`)
  }
  for (const name of names as readonly unknown[]) {
    const isName = typeof name === 'string' && /^[^|\p{Cc}]+$/u.test(name)
    if (isName && name.length <= MAX_NAME_LENGTH) continue
    const rule = `1 to ${MAX_NAME_LENGTH} characters without | and control characters`
    throw new ConfigError(`option workerNames: expected ${rule}, got ${JSON.stringify(name)}`)
  }
  return [...(names as readonly string[])]
}

function checkEnv(env: NodeJS.ProcessEnv | undefined): NodeJS.ProcessEnv {
  if (env === undefined) return process.env
  if (typeof env !== 'object' || env === null || Array.isArray(env)) {
    throw new ConfigError(`option env: expected an object, got ${show(env)}`)
  }
  for (const [name, value] of Object.entries(env as Readonly<Record<string, unknown>>)) {
    if (typeof value === 'string' || value === undefined) continue
    throw new ConfigError(`option env: expected text for ${name}, got ${show(value)}`)
  }
  return env
}

function checkCwd(cwd: string | undefined): string | undefined {
  if (cwd === undefined || isDirectory(cwd)) return cwd
  throw new ConfigError(`option cwd: ${JSON.stringify(cwd)} is not a directory`)
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

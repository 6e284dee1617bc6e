// The options of workers that pass their tasks on to IBM Spectrum Symphony.

import { hostname } from 'node:os'
import { ConfigError } from '../../base/errors.js'
import { checkOptions, type OptionTable, type Settled, show } from '../../base/option.js'
import { AGENT_OPTIONS, type AgentOptions } from '../agent/options.js'

/** The options that both have. */
type SharedOption =
  | 'capabilities'
  | 'timeLimitMs'
  | 'allocation'
  | 'heartbeatIntervalMs'
  | 'taskTimeoutMs'
  | 'deathTimeoutMs'
  | 'drainMs'
  | 'errorTexts'
  | 'objectCacheBytes'

/** The runtimes whose tasks can go to Symphony. */
const RUNTIMES = ['python', 'node'] as const

/** A runtime whose tasks can go to Symphony. */
type SymphonyRuntime = (typeof RUNTIMES)[number]

/** The options of `scaler symphony-cluster`. Times are in milliseconds, sizes in bytes. */
export interface SymphonyOptions extends Pick<AgentOptions, SharedOption> {
  /**
   * How many tasks are given to Symphony at a time, without nested ones that exceed it. 1 to
   * 100,000. Default: the number of cores of this machine, less one.
   */
  readonly baseConcurrency: number
  /** Default: the host's name up to the first dot. 1 to 128 characters, without `|`. */
  readonly workerName?: string | undefined
  /**
   * Whose tasks are taken: `python`, `node`, or both. A service of the documents runs only those of
   * Python clients. Default: `python`.
   */
  readonly runtimes?: readonly string[] | undefined
  /** `python3`: the Python that has IBM's library. */
  readonly python?: string | undefined
}

/** The options of workers for Symphony, for commands. */
export const SYMPHONY_OPTIONS: OptionTable<SymphonyOptions> = {
  baseConcurrency: {
    type: { kind: 'integer', min: 1, max: 100_000 },
    description: 'how many tasks to give to Symphony at a time; nested tasks may exceed it',
    commandDefault: AGENT_OPTIONS.workers.commandDefault ?? 1,
    defaultText: 'cores of this machine - 1',
    flag: 'base-concurrency',
    short: ['-n'],
  },
  workerName: {
    type: { kind: 'text' },
    description: 'the name of the workers',
    defaultText: 'the name of the host',
    flag: 'worker-name',
    short: ['-w'],
  },
  runtimes: {
    type: { kind: 'list', separator: 'commas' },
    description: 'whose tasks to take: python, node, or both, separated by a comma',
    default: ['python'],
    flag: 'runtimes',
  },
  python: {
    type: { kind: 'text' },
    description: "the Python that has IBM's library soamapi",
    default: 'python3',
    flag: 'python',
  },
  capabilities: AGENT_OPTIONS.capabilities,
  timeLimitMs: AGENT_OPTIONS.timeLimitMs,
  allocation: AGENT_OPTIONS.allocation,
  heartbeatIntervalMs: AGENT_OPTIONS.heartbeatIntervalMs,
  taskTimeoutMs: AGENT_OPTIONS.taskTimeoutMs,
  deathTimeoutMs: AGENT_OPTIONS.deathTimeoutMs,
  drainMs: AGENT_OPTIONS.drainMs,
  errorTexts: AGENT_OPTIONS.errorTexts,
  objectCacheBytes: AGENT_OPTIONS.objectCacheBytes,
}

/** The options with all defaults filled in. */
interface CheckedSymphonyOptions extends Settled<
  SymphonyOptions,
  SharedOption | 'workerName' | 'runtimes'
> {
  readonly name: string
  /** Without duplicates, at least one. */
  readonly runtimes: readonly SymphonyRuntime[]
  /** Those of the agent, to be checked by it. */
  readonly agent: Pick<AgentOptions, SharedOption>
}

/** A name of workers: see `SymphonyOptions`. */
const NAME = /^[^|\p{Cc}]{1,128}$/u

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value. */
export function checkSymphonyOptions(options: SymphonyOptions): CheckedSymphonyOptions {
  const checked = checkOptions('symphony cluster', SYMPHONY_OPTIONS, options)
  const { baseConcurrency, workerName, runtimes = [], python = '', ...agent } = checked
  if (baseConcurrency === undefined) {
    throw new ConfigError('option baseConcurrency: expected a number, got nothing')
  }
  if (workerName !== undefined && !NAME.test(workerName)) {
    const rule = '1 to 128 characters without | and control characters'
    throw new ConfigError(`option workerName: expected ${rule}, got ${show(workerName)}`)
  }
  if (python === '') throw new ConfigError('option python: expected a program, got ""')
  return {
    baseConcurrency,
    name: workerName ?? hostname().split('.', 1)[0] ?? '',
    runtimes: checkRuntimes(runtimes),
    python,
    agent,
  }
}

function checkRuntimes(names: readonly string[]): readonly SymphonyRuntime[] {
  const found = RUNTIMES.filter((name) => names.includes(name))
  const wrong = names.find((name) => !(RUNTIMES as readonly string[]).includes(name))
  if (wrong === undefined && found.length > 0) return found
  const got = wrong === undefined ? 'nothing' : show(wrong)
  throw new ConfigError(`option runtimes: expected ${RUNTIMES.join(' or ')}, or both, got ${got}`)
}

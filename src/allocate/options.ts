// The options of an allocator: names, defaults and bounds, checked in one place for code and
// commands.

import { ConfigError } from '../base/errors.js'
import { type Logger, silentLogger } from '../base/logger.js'
import { nearestName } from '../base/nearest-name.js'
import { checkOptions, type OptionTable, type Settled, show } from '../base/option.js'
import { loggerOption } from '../runtime/log/option.js'
import { checkAddressOption, parseConnectAddress } from '../transport/address.js'
import { TLS_OPTION, type TlsOption, tlsOption } from '../transport/tls/options.js'
import { AGENT_OPTIONS, checkCapabilities } from '../worker/agent/options.js'

/** What can start workers. */
export const PROVIDERS = ['local', 'ssh', 'slurm', 'kubernetes', 'command'] as const
/** One of them. */
export type ProviderName = (typeof PROVIDERS)[number]

/** The options of an allocator. Times are in milliseconds. */
export interface AllocatorOptions extends TlsOption {
  /** What starts the workers: `local`, `ssh`, `slurm`, `kubernetes` or `command`. */
  readonly provider: ProviderName
  /** The address of the scheduler: `tcp://host:port`. */
  readonly address: string
  /**
   * The name of this allocator, unique at its scheduler. An allocator that is started again finds
   * its workers by it. Default: the name of the provider. 1 to 64 letters, digits, `.`, `_`, `-`.
   */
  readonly name?: string | undefined
  /** 0: workers to keep, even without work. 0 to 100,000. */
  readonly minWorkers?: number | undefined
  /** 200: workers to have at most. 1 to 100,000. */
  readonly maxWorkers?: number | undefined
  /** 1: workers of one unit: a job, or a process on a host. 1 to 4,096. */
  readonly workersPerUnit?: number | undefined
  /** 30,000: how long the work that waits may take. 1,000 to 86,400,000. */
  readonly backlogMs?: number | undefined
  /** 60,000: how long workers are idle before they leave. 1,000 to 86,400,000. */
  readonly idleMs?: number | undefined
  /** 20: units that may be queued at the provider. 1 to 10,000. */
  readonly maxQueuedUnits?: number | undefined
  /** 0: how long workers live; 0 = until they are idle. Up to 2^40. */
  readonly lifetimeMs?: number | undefined
  /** 600,000: a unit that runs this long without a worker is ended. 1,000 to 86,400,000. */
  readonly startTimeoutMs?: number | undefined
  /** 5,000: how often to ask the provider for its units. 500 to 3,600,000. */
  readonly listIntervalMs?: number | undefined
  /** What the workers offer, as for a cluster: `['gpu=2']`. Default: nothing. */
  readonly capabilities?: readonly string[] | Readonly<Record<string, number>> | undefined
  /** The scheduler's address for the workers, if theirs differs. Default: `address`. */
  readonly workerAddress?: string | undefined
  /**
   * What to run instead of this package's `scaler_cluster`: a shell command in which `{address}`,
   * `{workers}`, `{allocation}` and `{names}` are replaced. Default: `scaler_cluster` of this
   * package, run by this Node, at the same paths everywhere.
   */
  readonly workerCommand?: string | undefined
  /** `javascript`: which tasks the workers run: `javascript` or `python`. */
  readonly workerRuntime?: 'javascript' | 'python' | undefined
  /** Further flags for `scaler_cluster`, as a shell reads them. Default: none. */
  readonly workerArgs?: string | undefined
  /** Shell lines to run before the workers: `module load node`. Default: none. */
  readonly preamble?: string | undefined
  /** False: only decide, and start nothing. */
  readonly dryRun?: boolean | undefined
  /** ssh: the hosts, each for one unit. */
  readonly hosts?: readonly string[] | undefined
  /**
   * ssh: the command, with its flags, separated by spaces. Default:
   * `ssh -o BatchMode=yes -o ConnectTimeout=10`.
   */
  readonly sshCommand?: string | undefined
  /** slurm: the partition. Default: that of the cluster. */
  readonly partition?: string | undefined
  /** slurm: the account. Default: that of the user. */
  readonly account?: string | undefined
  /** slurm: further arguments of `sbatch`: `--mem=4G --gres=gpu:1`. Default: none. */
  readonly sbatchArgs?: string | undefined
  /** slurm: where the output of jobs goes, visible to the jobs. Default: the working directory. */
  readonly outputDirectory?: string | undefined
  /** kubernetes: the container image of the workers, with `sh` and `scaler_cluster`. */
  readonly image?: string | undefined
  /** kubernetes: the namespace of the Jobs. Default: that of the context or service account. */
  readonly namespace?: string | undefined
  /** kubernetes: the context of the kubeconfig. Default: the current one. */
  readonly context?: string | undefined
  /** kubernetes: the service account of the workers. Default: that of the namespace. */
  readonly serviceAccount?: string | undefined
  /**
   * kubernetes: a file, YAML or JSON, with `metadata` and `spec` of a PodTemplateSpec, which is
   * merged into the pods of the workers. Default: none.
   */
  readonly podTemplate?: string | undefined
  /** command: a shell command that submits one unit and prints its id. */
  readonly submitCommand?: string | undefined
  /** command: one that prints a line `ID NAME STATE` for each unit. */
  readonly listCommand?: string | undefined
  /** command: one that ends a unit. */
  readonly cancelCommand?: string | undefined
  /** Silent by default. */
  readonly logger?: Logger | undefined
}

const A_DAY_MS = 86_400_000
const WAIT = { kind: 'duration', min: 1_000, max: A_DAY_MS } as const
const TEXT = { kind: 'text' } as const
const FLAGS = { kind: 'text', hasDashes: true } as const

/** The options of an allocator, for code and commands. */
export const ALLOCATOR_OPTIONS: OptionTable<AllocatorOptions> = {
  provider: {
    type: { kind: 'choice', choices: PROVIDERS },
    description: 'what starts the workers',
  },
  address: { type: TEXT, description: 'the address of the scheduler' },
  name: {
    type: TEXT,
    description: 'the name of this allocator, by which it finds its workers again',
    defaultText: 'the name of the provider',
    flag: 'name',
    variable: 'SCALER_ALLOCATE_NAME',
  },
  minWorkers: {
    type: { kind: 'integer', min: 0, max: 100_000 },
    description: 'workers to keep, even without work',
    default: 0,
    flag: 'min-workers',
  },
  maxWorkers: {
    type: { kind: 'integer', min: 1, max: 100_000 },
    description: 'workers to have at most',
    default: 200,
    flag: 'max-workers',
  },
  workersPerUnit: {
    type: { kind: 'integer', min: 1, max: 4_096 },
    description: 'workers of one unit: a job, or a process on a host',
    default: 1,
    flag: 'workers-per-unit',
  },
  backlogMs: {
    type: WAIT,
    description: 'how long the work that waits may take',
    default: 30_000,
    flag: 'backlog-seconds',
  },
  idleMs: {
    type: WAIT,
    description: 'how long workers are idle before they leave',
    default: 60_000,
    flag: 'idle-seconds',
  },
  maxQueuedUnits: {
    type: { kind: 'integer', min: 1, max: 10_000 },
    description: 'units that may be queued at the provider',
    default: 20,
    flag: 'backlog',
  },
  lifetimeMs: { ...AGENT_OPTIONS.lifetimeMs, description: 'how long workers live; 0 = no limit' },
  startTimeoutMs: {
    type: WAIT,
    description: 'end a unit that runs this long without a worker',
    default: 600_000,
    flag: 'start-timeout-seconds',
  },
  listIntervalMs: {
    type: { kind: 'duration', min: 500, max: 3_600_000 },
    description: 'how often to ask the provider for its units',
    default: 5_000,
    flag: 'list-interval-seconds',
  },
  capabilities: {
    ...AGENT_OPTIONS.capabilities,
    description: 'comma-separated names that the workers of a unit offer, or units (gpu=2)',
  },
  workerAddress: {
    type: TEXT,
    description: 'the address of the scheduler for the workers, if it differs',
    defaultText: 'that of the scheduler',
    flag: 'worker-address',
  },
  workerCommand: {
    type: TEXT,
    description: 'run this instead of scaler_cluster; {address}, {workers}, … are replaced',
    defaultText: 'scaler_cluster of this package',
    flag: 'worker-command',
  },
  workerRuntime: {
    type: { kind: 'choice', choices: ['javascript', 'python'] },
    description: 'whose tasks the workers run',
    default: 'javascript',
    flag: 'worker-runtime',
  },
  workerArgs: {
    type: FLAGS,
    description: 'further flags for scaler_cluster',
    flag: 'worker-args',
  },
  preamble: {
    type: TEXT,
    description: 'shell lines to run before the workers: module load node',
    flag: 'preamble',
  },
  dryRun: {
    type: { kind: 'boolean' },
    description: 'only decide, and start nothing',
    default: false,
    flag: 'dry-run',
  },
  hosts: {
    type: { kind: 'list', separator: 'commas' },
    description: 'ssh: the hosts, each for one unit',
    flag: 'hosts',
  },
  sshCommand: {
    type: TEXT,
    description: 'ssh: the command, with its flags',
    default: 'ssh -o BatchMode=yes -o ConnectTimeout=10',
    flag: 'ssh-command',
  },
  partition: { type: TEXT, description: 'slurm: the partition', flag: 'partition' },
  account: { type: TEXT, description: 'slurm: the account', flag: 'account' },
  sbatchArgs: {
    type: FLAGS,
    description: 'slurm: further arguments of sbatch',
    flag: 'sbatch-args',
  },
  outputDirectory: {
    type: TEXT,
    description: 'slurm: where the output of jobs goes',
    defaultText: 'the working directory',
    flag: 'output-directory',
  },
  image: {
    type: TEXT,
    description: 'kubernetes: the container image of the workers',
    flag: 'image',
  },
  namespace: {
    type: TEXT,
    description: 'kubernetes: the namespace of the Jobs',
    defaultText: 'that of the context',
    flag: 'namespace',
  },
  context: {
    type: TEXT,
    description: 'kubernetes: the context of the kubeconfig',
    defaultText: 'the current one',
    flag: 'context',
  },
  serviceAccount: {
    type: TEXT,
    description: 'kubernetes: the service account of the workers',
    defaultText: 'that of the namespace',
    flag: 'service-account',
  },
  podTemplate: {
    type: TEXT,
    description: 'kubernetes: a file with a pod template to merge, in YAML or JSON',
    flag: 'pod-template',
  },
  submitCommand: {
    type: TEXT,
    description: 'command: submit {script} as {name}, and print the id of the unit',
    flag: 'submit-command',
  },
  listCommand: {
    type: TEXT,
    description: 'command: print a line ID NAME STATE for each unit',
    flag: 'list-command',
  },
  cancelCommand: { type: TEXT, description: 'command: end the unit {id}', flag: 'cancel-command' },
  ...TLS_OPTION,
  logger: { type: { kind: 'object' }, description: 'where log lines go' },
}

/** The options that only one provider heeds. */
export const PROVIDER_OPTIONS: Readonly<Record<ProviderName, readonly (keyof AllocatorOptions)[]>> =
  {
    local: [],
    ssh: ['hosts', 'sshCommand'],
    slurm: ['partition', 'account', 'sbatchArgs', 'outputDirectory'],
    kubernetes: ['image', 'namespace', 'context', 'serviceAccount', 'podTemplate'],
    command: ['submitCommand', 'listCommand', 'cancelCommand'],
  }

/** Options without a default, which stay undefined. */
type Optional =
  | 'name'
  | 'capabilities'
  | 'workerAddress'
  | 'workerCommand'
  | 'workerArgs'
  | 'preamble'
  | 'hosts'
  | 'partition'
  | 'account'
  | 'sbatchArgs'
  | 'outputDirectory'
  | 'image'
  | 'namespace'
  | 'context'
  | 'serviceAccount'
  | 'podTemplate'
  | 'submitCommand'
  | 'listCommand'
  | 'cancelCommand'
  | 'tls'

/** The options of an allocator with all defaults filled in. */
export interface CheckedAllocatorOptions
  extends Settled<AllocatorOptions, Optional>, Pick<AllocatorOptions, Exclude<Optional, 'name'>> {
  readonly name: string
  /** What the workers offer, by name; -1: without a quantity. */
  readonly offers: ReadonlyMap<string, number>
}

const NAME = /^[\da-z][\w.-]{0,63}$/i

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value. */
export function checkAllocatorOptions(options: AllocatorOptions): CheckedAllocatorOptions {
  const checked = checkOptions('allocator', ALLOCATOR_OPTIONS, options)
  const { provider, address, name = provider } = checked
  if (provider === undefined) throw new ConfigError('option provider: expected text, got nothing')
  if (address === undefined) throw new ConfigError('option address: expected text, got nothing')
  parseConnectAddress(address)
  if (checked.workerAddress !== undefined)
    checkAddressOption('workerAddress', checked.workerAddress, parseConnectAddress)
  if (!NAME.test(name)) {
    const rule = '1 to 64 letters, digits, dots, underscores and dashes'
    throw new ConfigError(`option name: expected ${rule}, got ${show(name)}`)
  }
  const capabilities = checkCapabilities((checked.capabilities ?? []) as readonly string[])
  checkLimits(checked)
  checkProvider(provider, checked)
  if (provider === 'kubernetes') checkKubernetesNames(name, checked)
  return {
    ...(checked as CheckedAllocatorOptions),
    name,
    logger: loggerOption('logger', checked.logger) ?? silentLogger,
    tls: tlsOption(checked.tls),
    offers: new Map(capabilities.map(({ name: offer, value }) => [offer, value])),
  }
}

function checkLimits({
  minWorkers = 0,
  maxWorkers = 0,
  workersPerUnit = 0,
}: Partial<AllocatorOptions>): void {
  if (minWorkers > maxWorkers) {
    throw new ConfigError(
      `option minWorkers: expected at most maxWorkers (${maxWorkers}), got ${minWorkers}`,
    )
  }
  if (workersPerUnit > maxWorkers) {
    throw new ConfigError(
      `option workersPerUnit: expected at most maxWorkers (${maxWorkers}), got ${workersPerUnit}`,
    )
  }
}

/** The options that a provider cannot do without, and what values must be like. */
function checkProvider(provider: ProviderName, options: Partial<AllocatorOptions>): void {
  const required: Partial<Record<ProviderName, readonly (keyof AllocatorOptions)[]>> = {
    ssh: ['hosts'],
    kubernetes: ['image'],
    command: ['submitCommand', 'listCommand', 'cancelCommand'],
  }
  for (const option of required[provider] ?? []) {
    const value = options[option]
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== ''
    if (!isGiven) throw new ConfigError(`option ${option}: the provider ${provider} needs it`)
  }
  checkPlaceholders(options)
  const { workerCommand } = options
  if (workerCommand !== undefined && !/\{(allocation|names)\}/.test(workerCommand)) {
    const rule = 'expected {allocation} or {names} in it, by which the allocator knows its workers'
    throw new ConfigError(`option workerCommand: ${rule}, got ${show(workerCommand)}`)
  }
  if (options.workerRuntime === 'python' && workerCommand === undefined) {
    const why = 'workers of this package run no tasks of Python: workerCommand says what does'
    throw new ConfigError(`option workerRuntime: ${why}`)
  }
  for (const option of ['partition', 'account', 'sbatchArgs', 'outputDirectory'] as const) {
    const value = options[option]
    if (value === undefined || !/[\r\n]/.test(value)) continue
    throw new ConfigError(`option ${option}: expected one line, got ${show(value)}`)
  }
  const hosts = options.hosts ?? []
  for (const [at, host] of hosts.entries()) {
    const isName = /^[^\s-]\S*$/.test(host)
    if (isName && hosts.indexOf(host) === at) continue
    const rule = isName ? 'each name once' : 'names without spaces that begin with no dash'
    throw new ConfigError(`option hosts: expected ${rule}, got ${show(host)}`)
  }
}

/** The placeholders of each command. */
const PLACEHOLDERS: Partial<Record<keyof AllocatorOptions, readonly string[]>> = {
  submitCommand: ['script', 'name', 'workers', 'lifetime'],
  listCommand: ['name'],
  cancelCommand: ['id', 'name'],
  workerCommand: ['address', 'workers', 'allocation', 'names'],
}

/** Refuses misspelt placeholders. Other words in braces may be code: `awk '{print}'`. */
function checkPlaceholders(options: Partial<AllocatorOptions>): void {
  for (const [option, known] of Object.entries(PLACEHOLDERS)) {
    const command = options[option as keyof AllocatorOptions]
    if (typeof command !== 'string') continue
    for (const [, name = ''] of command.matchAll(/(?<![${])\{(\w{3,})\}(?!\})/g)) {
      if (known.includes(name)) continue
      const near = nearestName(name, known)
      if (near === undefined) continue
      throw new ConfigError(`option ${option}: nothing replaces {${name}}; is it {${near}}?`)
    }
  }
}

/** A DNS label, as Kubernetes requires it. */
const DNS_LABEL = /^[\da-z]([\da-z-]{0,61}[\da-z])?$/
/** A DNS name: labels with dots between them. */
const DNS_NAME = /^(?=.{1,253}$)[\da-z]([\da-z-]*[\da-z])?(\.[\da-z]([\da-z-]*[\da-z])?)*$/

/** Names that become names or labels in Kubernetes. */
function checkKubernetesNames(name: string, options: Partial<AllocatorOptions>): void {
  const { image, namespace, serviceAccount } = options
  const rules = [
    ['name', name, /^.{0,62}[\da-z]$/i, 'at most 63 characters, with a letter or digit at the end'],
    [
      'image',
      image,
      /^[^\s-]\S{0,1023}$/,
      'the name of an image, such as registry.example/scaler:1',
    ],
    ['namespace', namespace, DNS_LABEL, '1 to 63 lower-case letters, digits and dashes'],
    ['serviceAccount', serviceAccount, DNS_NAME, 'lower-case letters, digits, dashes and dots'],
  ] as const
  for (const [option, value, pattern, rule] of rules) {
    if (value === undefined || pattern.test(value)) continue
    throw new ConfigError(`option ${option}: expected ${rule}, got ${show(value)}`)
  }
}

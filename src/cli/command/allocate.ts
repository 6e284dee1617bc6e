// The command `scaler allocate`: starts workers as the work needs them, until it is stopped; and
// lists, pauses and resumes the allocators of a scheduler.

import { ConfigError, ProtectedModeError } from '../../base/errors.js'
import { silentLogger } from '../../base/logger.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import type { AllocatorInfo } from '../../client/monitor/cluster-info.js'
import {
  ALLOCATOR_OPTIONS,
  type AllocatorOptions,
  checkAllocatorOptions,
  type CheckedAllocatorOptions,
  type ProviderName,
  PROVIDER_OPTIONS,
  PROVIDERS,
} from '../../allocate/options.js'
import {
  ADDRESS,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  finished,
  interruptible,
  JSON_OPTION,
  REPORT_TIMEOUT_OPTION,
  type RunningCommand,
} from '../command.js'

/** The options that only the command has. */
const COMMAND_OPTIONS = {
  printScript: {
    type: { kind: 'boolean' },
    description: 'slurm: print the script that would be submitted, and exit',
    default: false,
    flag: 'print-script',
  },
  printManifest: {
    type: { kind: 'boolean' },
    description: 'kubernetes: print the Job of a unit as JSON, and exit',
    default: false,
    flag: 'print-manifest',
  },
  json: { ...JSON_OPTION, description: 'print each decision as a line of JSON instead of a log' },
  timeoutMs: { ...REPORT_TIMEOUT_OPTION, default: 10_000 },
} as const satisfies AnyOptionTable

/** What lists and changes allocators instead of starting one. */
const ORDERS = ['list', 'pause', 'resume']
/** Their options, of those of this command. */
const ORDER_OPTIONS = ['json', 'timeoutMs']

const ANY_ADDRESS = 'tcp://127.0.0.1:1'

/** `scaler allocate PROVIDER ADDRESS`, `scaler allocate list|pause|resume ADDRESS [NAME]`. */
export const ALLOCATE: CommandDefinition = {
  name: 'allocate',
  summary: 'Start workers as the work needs them: here, by ssh, in Slurm, in Kubernetes, …',
  positionals: [
    {
      name: 'provider',
      description: `what starts the workers: ${PROVIDERS.join(', ')}; or ${ORDERS.join(', ')}`,
      completion: [...PROVIDERS, ...ORDERS],
    },
    ADDRESS,
    {
      name: 'allocator',
      description: 'pause, resume: the name of the allocator',
      isOptional: true,
    },
  ],
  tables: [ALLOCATOR_OPTIONS, COMMAND_OPTIONS],
  examples: [
    'scaler allocate local tcp://127.0.0.1:2345 --max-workers 8',
    'scaler allocate slurm tcp://head.example:2345 --workers-per-unit 8 --partition short',
    'scaler allocate kubernetes tcp://scaler-scheduler:2345 --image registry.example/scaler:1',
    'scaler allocate ssh tcp://10.0.0.1:2345 --hosts a.example,b.example --workers-per-unit 16',
    'scaler allocate list tcp://127.0.0.1:2345',
  ],
  hasLog: true,
  isQuiet: ({ positionals: [provider = ''], values }) => {
    const isPrinted = values['printScript'] === true || values['printManifest'] === true
    return ORDERS.includes(provider) || values['json'] === true || isPrinted
  },
  check: (values) => {
    const own = optionsIn(ALLOCATOR_OPTIONS, values)
    // Which options a provider needs depends on the command line.
    checkAllocatorOptions({ ...own, provider: 'local', address: ANY_ADDRESS })
  },
  start: (input) => {
    const [provider = ''] = input.positionals
    return ORDERS.includes(provider) ? interruptible(order(input)) : allocate(input)
  },
}

async function allocate(input: CommandInput): Promise<RunningCommand> {
  const [given = '', address = '', extra] = input.positionals
  if (extra !== undefined) throw new ConfigError(`unexpected word ${JSON.stringify(extra)}`)
  const provider = PROVIDERS.find((name) => name === given)
  if (provider === undefined) {
    const known = [...PROVIDERS, ...ORDERS].join(', ')
    throw new ConfigError(`unknown provider ${JSON.stringify(given)}; there are ${known}`)
  }
  checkTyped(input, provider)
  const options = checkedOptions(input, provider, address)
  const { json, printScript, printManifest } = commandOptions(input)
  if (printScript) return printedScript(options)
  if (printManifest) return printedManifest(options)
  const { AllocatorEngine } = await import('../../allocate/engine.js')
  input.logger.info(`Allocator ${options.name}: starting workers with the provider ${provider}`, {
    address,
  })
  const engine = await AllocatorEngine.start(options, (decision, time) => {
    if (!json) return
    const line = { time, provider, ...decision }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  })
  // `| head -1`: what only prints its decisions ends without a reader.
  if (json && options.dryRun) process.stdout.once('error', () => void engine.stop())
  return { ended: engine.ended, stop: () => engine.stop() }
}

/**
 * Refuses flags that only other providers heed. Environment variables and files may have options
 * for several allocators.
 */
function checkTyped({ typed }: CommandInput, provider: ProviderName): void {
  for (const other of PROVIDERS) {
    if (other === provider) continue
    const foreign = PROVIDER_OPTIONS[other].find((name) => typed.has(name))
    if (foreign === undefined) continue
    throw new ConfigError(`option ${foreign}: only the provider ${other} has it, not ${provider}`)
  }
}

/** Refuses flags that are meant for the start of an allocator. */
function checkOrder({ positionals: [what, , name], typed }: CommandInput): void {
  if (what === 'list' && name !== undefined)
    throw new ConfigError(`unexpected word ${JSON.stringify(name)}`)
  const useless = Object.keys({ ...ALLOCATOR_OPTIONS, ...COMMAND_OPTIONS })
    .filter((option) => !ORDER_OPTIONS.includes(option))
    .find((option) => typed.has(option))
  if (useless !== undefined)
    throw new ConfigError(`option ${useless}: scaler allocate ${what} does not take it`)
}

function checkedOptions(
  { values, logger }: CommandInput,
  provider: ProviderName,
  address: string,
): CheckedAllocatorOptions {
  const own: AllocatorOptions = { ...optionsIn(ALLOCATOR_OPTIONS, values), provider, address }
  const warn = (text: string, fields?: object): void => {
    process.stderr.write(`${text}: ${JSON.stringify(fields)}\n`)
  }
  const isJson = values['json'] === true
  return checkAllocatorOptions({
    ...own,
    logger: isJson ? { ...silentLogger, warn, error: warn } : logger,
  })
}

async function printedManifest(options: CheckedAllocatorOptions): Promise<RunningCommand> {
  if (options.provider !== 'kubernetes') {
    throw new ConfigError('option printManifest: only the provider kubernetes has one')
  }
  const { jobOf } = await import('../../allocate/provider/kubernetes/job.js')
  const { readPodTemplate } = await import('../../allocate/provider/kubernetes/library.js')
  const job = jobOf(options, await readPodTemplate(options))
  process.stdout.write(`${JSON.stringify(job, undefined, 2)}\n`)
  return finished()
}

async function printedScript(options: CheckedAllocatorOptions): Promise<RunningCommand> {
  if (options.provider !== 'slurm') {
    throw new ConfigError('option printScript: only the provider slurm submits a script')
  }
  const { slurmScript } = await import('../../allocate/provider/slurm.js')
  process.stdout.write(slurmScript(options))
  return finished()
}

async function order(input: CommandInput): Promise<CommandEnd> {
  checkOrder(input)
  const [what, address = '', name] = input.positionals
  const { json, timeoutMs } = commandOptions(input)
  const { locate } = await import('../../client/connect/locate.js')
  const look = await import('../../client/monitor/look.js')
  const place = await locate(address, { timeoutMs, monitorAddress: undefined })
  const { address: found } = place
  if (found === undefined) throw look.requestRefusal(address)
  if (what === 'list') {
    const { allocators = [] } = await look.lookAtCluster(place, { timeoutMs })
    const text = json ? JSON.stringify(allocators) : await tableOf(allocators, input)
    process.stdout.write(`${text}\n`)
    return { reason: '', isFailure: false }
  }
  if (name === undefined)
    throw new ConfigError(`which allocator? scaler allocate ${what} ADDRESS NAME`)
  const action = what === 'pause' ? 'pause' : 'resume'
  const setup = { ...place, address: found }
  const reply = await look.requestOf(setup, { action, allocator: name }, timeoutMs)
  if (reply.outcome === 'refused') {
    throw new ProtectedModeError(
      `the scheduler is in protected mode, in which operators cannot ${action} an allocator`,
    )
  }
  if (reply.outcome !== 'done') {
    const why = reply.note === '' ? reply.outcome : reply.note
    return { reason: `allocator ${name}: ${why}`, isFailure: true }
  }
  const done = action === 'pause' ? 'paused' : 'resumed'
  process.stdout.write(json ? `${JSON.stringify({ name, done })}\n` : `${done} ${name}\n`)
  return { reason: '', isFailure: false }
}

async function tableOf(
  rows: readonly AllocatorInfo[],
  { color }: Pick<CommandInput, 'color'>,
): Promise<string> {
  if (rows.length === 0) return 'no allocators'
  const { ALLOCATOR_COLUMNS: columns } = await import('../report/columns.js')
  const { printWidth, tableLines } = await import('../table.js')
  return tableLines({ columns, rows }, { width: printWidth(process.stdout), color }).join('\n')
}

function commandOptions({ values }: CommandInput): OptionsOf<typeof COMMAND_OPTIONS> {
  return optionsIn<OptionsOf<typeof COMMAND_OPTIONS>>(COMMAND_OPTIONS, values)
}

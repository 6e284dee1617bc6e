// The command `scaler submit`: runs one function of a file in the cluster; JSON in and out.

import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { withoutFrames } from '../../../base/error-stack.js'
import { ConfigError, ConnectError, ScalerError } from '../../../base/errors.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../../base/option.js'
import type { Client } from '../../../client/client.js'
import {
  ADDRESS_OPTION,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  type RunningCommand,
} from '../../command.js'

/** The options of `scaler submit`. Those of the task are the same as in code. */
const SUBMIT_OPTIONS = {
  address: ADDRESS_OPTION,
  timeoutMs: {
    type: { kind: 'duration', min: 100, max: 3_600_000 },
    description: 'give up when the scheduler has been silent for this long',
    default: 10_000,
    flag: 'timeout-seconds',
    short: ['-t'],
  },
  taskTimeoutMs: {
    // The same environment variable is an option of workers, where 0 means never.
    type: { kind: 'duration', min: 0, max: 2_147_483_647 },
    description: 'stop the task if it runs for longer; 0 = never',
    default: 0,
    flag: 'task-timeout-seconds',
    short: ['-tts'],
  },
  retries: {
    type: { kind: 'integer', min: 0, max: 1_000_000 },
    description: 'how many times to run the task again after it has failed',
    default: 0,
    flag: 'retries',
  },
  maxWorkerDeaths: {
    type: { kind: 'integer', min: 0, max: 1_000_000 },
    description: 'how many times to run the task again after its worker was lost',
    defaultText: '3',
    flag: 'max-worker-deaths',
  },
  priority: {
    type: { kind: 'integer', min: -1_000_000_000, max: 1_000_000_000 },
    description: 'tasks with a higher priority run first',
    default: 0,
    flag: 'priority',
  },
  name: {
    type: { kind: 'text' },
    description: 'the name of the task in monitors',
    defaultText: 'the name of the function',
    flag: 'name',
  },
} as const satisfies AnyOptionTable

/** `scaler submit FILE#exportName [ARGS]`. */
export const SUBMIT: CommandDefinition = {
  name: 'submit',
  summary: 'Run an exported function in the cluster, and print its result as JSON.',
  positionals: [
    {
      name: 'function',
      description: 'FILE#exportName; without a name, the default export',
      completion: 'file',
    },
    {
      name: 'args',
      description:
        'JSON, or text that does not start like JSON; a single - reads a JSON list from stdin',
      isOptional: true,
      isVariadic: true,
    },
  ],
  tables: [SUBMIT_OPTIONS],
  examples: [
    'scaler submit --address tcp://127.0.0.1:2345 math.mjs#add 1 2',
    'SCALER_ADDRESS=tcp://127.0.0.1:2345 scaler submit people.mjs#greet Ada \'{"loud": true}\'',
    "echo '[[1, 2, 3]]' | scaler submit math.mjs#sum -",
  ],
  hasLog: false,
  start,
}

/** One submit, which can be stopped. */
interface Call {
  readonly input: CommandInput
  client: Client | undefined
  isStopped: boolean
}

function start(input: CommandInput): Promise<RunningCommand> {
  const call: Call = { input, client: undefined, isStopped: false }
  const ended = perform(call)
  const stop = async (): Promise<void> => {
    call.isStopped = true
    // This cancels the task and rejects its future.
    await call.client?.close()
  }
  return Promise.resolve({ ended, stop })
}

async function perform(call: Call): Promise<CommandEnd> {
  const { LoadFailure } = await import('./target.js')
  try {
    return await printResult(await runTask(call))
  } catch (error) {
    if (call.isStopped) return { reason: '', isFailure: true }
    const { color, calledAs } = call.input
    if (error instanceof LoadFailure) {
      return printError(error.cause, `${calledAs}: ${error.message}: `, color)
    }
    if (error instanceof ScalerError) throw error
    return printError(error, thrownBy(error, calledAs), color)
  } finally {
    await call.client?.close()
  }
}

/** Connects to a scheduler, by either of its addresses. */
async function connect(address: string, timeoutMs: number): Promise<Client> {
  const { Client: LoadedClient } = await import('../../../client/client.js')
  try {
    return await LoadedClient.connect(address, { timeoutMs })
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    const { schedulerPublishingAt } = await import('../../../client/connect/locate.js')
    const scheduler = await schedulerPublishingAt(address)
    if (scheduler === undefined) throw error
    return LoadedClient.connect(scheduler, { timeoutMs })
  }
}

async function runTask(call: Call): Promise<unknown> {
  const { positionals, values } = call.input
  const [target = '', ...words] = positionals
  const options = optionsIn<OptionsOf<typeof SUBMIT_OPTIONS>>(SUBMIT_OPTIONS, values)
  const { address, timeoutMs, taskTimeoutMs, ...task } = options
  if (address === undefined) {
    throw new ConfigError('no scheduler: use --address tcp://host:port, or set SCALER_ADDRESS')
  }
  const { loadTarget } = await import('./target.js')
  const fn = await loadTarget(target)
  const args = await readArguments(words)
  const client = await connect(address, timeoutMs)
  call.client = client
  if (call.isStopped) throw new Error('stopped')
  // Errors of the task keep only their stack in the worker: that of this command does not help.
  return withoutFrames(() => {
    return client.with({ ...task, timeoutMs: taskTimeoutMs || undefined }).submit(fn, ...args)
  })
}

async function readArguments(words: readonly string[]): Promise<readonly unknown[]> {
  const { readArgument, readArgumentList } = await import('./json.js')
  if (words.length === 1 && words[0] === '-') return readArgumentList(await buffer(process.stdin))
  return words.map((word, index) => readArgument(word, index + 1))
}

async function printResult(value: unknown): Promise<CommandEnd> {
  const { resultText } = await import('./json.js')
  process.stdout.write(`${resultText(value)}\n`)
  return { reason: '', isFailure: false }
}

/** An error prints its own name; other values need an introduction. */
function thrownBy(error: unknown, calledAs: string): string {
  return error instanceof Error ? '' : `${calledAs}: the function threw `
}

/** Prints what user code threw, with its stack in the worker. */
function printError(error: unknown, what: string, colors: boolean): CommandEnd {
  process.stderr.write(`${what}${inspect(error, { colors })}\n`)
  return { reason: '', isFailure: true }
}

// The commands `scaler explain` and `scaler cancel`: what the scheduler knows of one task, and
// orders about tasks.

import { ConfigError, ProtectedModeError } from '../../base/errors.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import type { TaskAnswer } from '../../client/monitor/task-answer.js'
import {
  CLUSTER_ADDRESS_OPTION,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  REPORT_TIMEOUT_OPTION,
} from '../command.js'
import type * as operateText from './operate-text.js'

/** The options of both commands. */
const OPERATE_OPTIONS = {
  address: CLUSTER_ADDRESS_OPTION,
  timeoutMs: { ...REPORT_TIMEOUT_OPTION, default: 10_000 },
  json: {
    type: { kind: 'boolean' },
    description: 'print JSON instead of text',
    default: false,
    flag: 'json',
  },
} as const satisfies AnyOptionTable

const TASK = 'the id of a task in hexadecimal digits, or its beginning, at least 4 digits'

/** `scaler explain TASK`. */
export const EXPLAIN: CommandDefinition = {
  name: 'explain',
  summary: 'Show the state of a task, why it waits, and which workers had it.',
  positionals: [{ name: 'task', description: TASK }],
  tables: [OPERATE_OPTIONS],
  examples: [
    'scaler explain 0001ad79a140 --address tcp://127.0.0.1:2345',
    'scaler explain 0001ad79a140 --json',
  ],
  hasLog: false,
  start: (input) => running(explain(input)),
}

/** `scaler cancel TASK…`. */
export const CANCEL: CommandDefinition = {
  name: 'cancel',
  summary: 'Cancel tasks of any client. A protected scheduler refuses this.',
  positionals: [{ name: 'tasks', description: TASK, isVariadic: true }],
  tables: [OPERATE_OPTIONS],
  examples: ['scaler cancel 0001ad79a140 --address tcp://127.0.0.1:2345'],
  hasLog: false,
  start: (input) => running(cancel(input)),
}

/** A signal stops it immediately: the process holds nothing that has to be closed. */
function running(ended: Promise<CommandEnd>): ReturnType<CommandDefinition['start']> {
  return Promise.resolve({ ended, stop: () => Promise.resolve() })
}

const DONE: CommandEnd = { reason: '', isFailure: false }

async function explain(input: CommandInput): Promise<CommandEnd> {
  const [task = ''] = input.positionals
  const { ask, text, options } = await prepare(input)
  const answer = await ask('explain', task)
  const [story] = answer.tasks
  if (answer.outcome !== 'done' || story === undefined) {
    return { reason: text.problemText(task, answer), isFailure: true }
  }
  const { json, address = '' } = options
  const shown = json ? JSON.stringify(story, undefined, 2) : text.explanationText(story, address)
  process.stdout.write(json ? `${shown}\n` : shown)
  return DONE
}

async function cancel(input: CommandInput): Promise<CommandEnd> {
  const { ask, text, options } = await prepare(input)
  const problems: string[] = []
  const results: object[] = []
  for (const task of input.positionals) {
    const answer = await ask('cancel', task)
    if (answer.outcome === 'refused') {
      throw new ProtectedModeError(
        'the scheduler is in protected mode, in which only its client can cancel a task',
      )
    }
    const isCancelled = answer.outcome === 'done'
    if (!isCancelled) problems.push(text.problemText(task, answer))
    if (options.json) results.push({ task, cancelled: isCancelled })
    else if (isCancelled) process.stdout.write(text.cancelText(answer))
  }
  if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`)
  return { reason: problems.join('; '), isFailure: problems.length > 0 }
}

interface Prepared {
  readonly options: OptionsOf<typeof OPERATE_OPTIONS>
  readonly text: typeof operateText
  readonly ask: (action: 'explain' | 'cancel', task: string) => Promise<TaskAnswer>
}

async function prepare({ values }: CommandInput): Promise<Prepared> {
  const options = optionsIn<OptionsOf<typeof OPERATE_OPTIONS>>(OPERATE_OPTIONS, values)
  const { address, timeoutMs } = options
  if (address === undefined) {
    throw new ConfigError('no scheduler: use --address tcp://host:port, or set SCALER_ADDRESS')
  }
  const { locate } = await import('../../client/connect/locate.js')
  const { requestOf, requestRefusal } = await import('../../client/monitor/look.js')
  const text = await import('./operate-text.js')
  const place = await locate(address, { timeoutMs, monitorAddress: undefined })
  const { address: found, ...rest } = place
  if (found === undefined) throw requestRefusal(address)
  const setup = { ...rest, address: found }
  const ask: Prepared['ask'] = (action, task) => requestOf(setup, { action, task, timeoutMs })
  return { options, text, ask }
}

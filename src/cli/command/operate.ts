// The commands of operators: `scaler explain` and `scaler cancel` for tasks, `scaler logs` and
// `scaler drain` for workers, `scaler stack` for both. The scheduler answers, or passes the answer
// of a worker on.

import { ConfigError, ProtectedModeError } from '../../base/errors.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import type { OperatorQuestion } from '../../client/monitor/look.js'
import type { OperatorReply } from '../../client/monitor/operator-reply.js'
import {
  CLUSTER_ADDRESS_OPTION,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  interruptible,
  JSON_OPTION,
  MONITOR_ADDRESS_OPTION,
  REPORT_TIMEOUT_OPTION,
} from '../command.js'
import type { WorkerRow } from '../report/columns.js'
import type * as operateText from './operate-text.js'

/** The options of all of them. */
const OPERATE_OPTIONS = {
  address: CLUSTER_ADDRESS_OPTION,
  monitorAddress: MONITOR_ADDRESS_OPTION,
  timeoutMs: { ...REPORT_TIMEOUT_OPTION, default: 10_000 },
  json: JSON_OPTION,
} as const satisfies AnyOptionTable

const LOGS_OPTIONS = {
  lines: {
    type: { kind: 'integer', min: 1, max: 5_000 },
    description: 'at most this many lines, the last ones; a worker keeps 64 KiB',
    default: 100,
    flag: 'lines',
    short: ['-n'],
  },
  ...OPERATE_OPTIONS,
} as const satisfies AnyOptionTable

const DRAIN_OPTIONS = {
  graceMs: {
    type: { kind: 'duration', min: 0, max: 2_592_000_000 },
    description: 'how long running tasks may take to finish; then they run elsewhere',
    default: 3_600_000,
    flag: 'grace-seconds',
    short: ['-g'],
  },
  ...OPERATE_OPTIONS,
} as const satisfies AnyOptionTable

const TASK = 'the id of a task in hexadecimal digits, or its beginning, at least 4 digits'
const WORKER = 'the id of a worker, its beginning, or its name'

/** `scaler explain TASK`. */
export const EXPLAIN: CommandDefinition = {
  name: 'explain',
  summary: 'Show the state of a task, why it waits, and which workers had it.',
  positionals: [{ name: 'task', description: TASK, takesAddress: true }],
  tables: [OPERATE_OPTIONS],
  examples: [
    'scaler explain 0001ad79a140 --address tcp://127.0.0.1:2345',
    'scaler explain 0001ad79a140 --json',
  ],
  hasLog: false,
  start: (input) => interruptible(explain(input)),
}

/** `scaler cancel TASK…`. */
export const CANCEL: CommandDefinition = {
  name: 'cancel',
  summary: 'Cancel tasks of any client. A protected scheduler refuses this.',
  positionals: [{ name: 'tasks', description: TASK, isVariadic: true, takesAddress: true }],
  tables: [OPERATE_OPTIONS],
  examples: ['scaler cancel 0001ad79a140 --address tcp://127.0.0.1:2345'],
  hasLog: false,
  start: (input) => interruptible(cancel(input)),
}

/** `scaler stack TASK|WORKER`. */
export const STACK: CommandDefinition = {
  name: 'stack',
  summary: 'Show which JavaScript a task or a worker is running, even in an endless loop.',
  positionals: [{ name: 'target', description: `${TASK}; or ${WORKER}`, takesAddress: true }],
  tables: [OPERATE_OPTIONS],
  examples: [
    'scaler stack 0001ad79a140 --address tcp://127.0.0.1:2345',
    'scaler stack left --json',
  ],
  hasLog: false,
  start: (input) => interruptible(stack(input)),
}

/** `scaler logs WORKER`. */
export const LOGS: CommandDefinition = {
  name: 'logs',
  summary: 'Show the last lines of a worker: its log, and what its tasks have printed.',
  positionals: [{ name: 'worker', description: WORKER, takesAddress: true }],
  tables: [LOGS_OPTIONS],
  examples: ['scaler logs left --lines 20 --address tcp://127.0.0.1:2345'],
  hasLog: false,
  start: (input) => interruptible(logs(input)),
}

/** `scaler drain WORKER|HOST…`. */
export const DRAIN: CommandDefinition = {
  name: 'drain',
  summary: 'Make workers leave when their running tasks end. A protected scheduler refuses this.',
  positionals: [
    {
      name: 'workers',
      description: `${WORKER}; or the name of a host`,
      isVariadic: true,
      takesAddress: true,
    },
  ],
  tables: [DRAIN_OPTIONS],
  examples: [
    'scaler drain left right --address tcp://127.0.0.1:2345',
    'scaler drain host7.example --grace-seconds 600',
  ],
  hasLog: false,
  start: (input) => interruptible(drain(input)),
}

const DONE: CommandEnd = { reason: '', isFailure: false }

/** Throws `ConfigError` for what no id of a task begins with. */
function checkTask(given: string): void {
  if (/^[\da-f]{4,64}$/i.test(given)) return
  const isHex = /^[\da-f]*$/i.test(given)
  const expected = isHex ? '4 to 64 digits of the id' : 'the hexadecimal digits of an id'
  throw new ConfigError(`task ${JSON.stringify(given)}: expected ${expected}`)
}

async function explain(input: CommandInput): Promise<CommandEnd> {
  const [task = ''] = input.positionals
  checkTask(task)
  const { address, ask, text, options } = await prepare(input)
  const answer = await ask({ action: 'explain', task })
  const [story] = answer.tasks
  if (answer.outcome !== 'done' || story === undefined) {
    return failed(text.problemText(`task ${task}`, answer))
  }
  print(options.json, story, () => text.explanationText(story, address))
  return DONE
}

async function cancel(input: CommandInput): Promise<CommandEnd> {
  for (const task of input.positionals) checkTask(task)
  const { ask, text, options } = await prepare(input)
  const problems: string[] = []
  const results: object[] = []
  for (const task of input.positionals) {
    const answer = await ask({ action: 'cancel', task })
    if (answer.outcome === 'refused') throw refusal('cancel a task')
    const isCancelled = answer.outcome === 'done'
    if (!isCancelled) problems.push(text.problemText(`task ${task}`, answer))
    // The whole id, of which a beginning may have been given.
    const id = answer.tasks[0]?.task ?? task
    if (options.json) results.push({ task: id, cancelled: isCancelled })
    else if (isCancelled) process.stdout.write(text.cancelText(answer))
  }
  if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`)
  return problems.length === 0 ? DONE : failed(problems.join('; '))
}

/** A worker with exactly this id or name, a task, or a worker by the beginning of its id. */
async function stack(input: CommandInput): Promise<CommandEnd> {
  const [given = ''] = input.positionals
  const { ask, text, options, workers } = await prepare(input)
  const found = text.meantWorkers(await workers(), given)
  const [worker] = found
  const isExact = worker !== undefined && text.isNamed(worker, given)
  const isTask = !isExact && /^[\da-f]{4,}$/i.test(given)
  const ofTask = isTask ? await ask({ action: 'stack', task: given }) : undefined
  const isUnknown = ofTask === undefined || ofTask.outcome === 'unknown'
  let answer = ofTask
  if (isUnknown && worker !== undefined && found.length === 1) {
    answer = await ask({ action: 'stack', worker: worker.id })
  }
  if (answer === undefined || (isUnknown && found.length > 1)) {
    return failed(text.choiceText(given, found))
  }
  if (answer.outcome !== 'done') {
    return failed(text.problemText(`${answer === ofTask ? 'task' : 'worker'} ${given}`, answer))
  }
  const { worker: asked, note, tasks, stack: frames } = answer
  print(options.json, { worker: asked, note, tasks, stack: frames }, () => text.stackText(answer))
  return DONE
}

async function logs(input: CommandInput): Promise<CommandEnd> {
  const [given = ''] = input.positionals
  const { ask, text, options, workers } = await prepare(input)
  const found = text.meantWorkers(await workers(), given)
  const [worker] = found
  if (worker === undefined || found.length > 1) return failed(text.choiceText(given, found))
  const { lines } = optionsIn<OptionsOf<typeof LOGS_OPTIONS>>(LOGS_OPTIONS, input.values)
  const answer = await ask({ action: 'logs', worker: worker.id, lines })
  if (answer.outcome !== 'done') return failed(text.problemText(`worker ${given}`, answer))
  print(options.json, answer.lines, () => text.linesText(answer))
  return DONE
}

async function drain(input: CommandInput): Promise<CommandEnd> {
  const { ask, text, options, workers } = await prepare(input)
  const { graceMs } = optionsIn<OptionsOf<typeof DRAIN_OPTIONS>>(DRAIN_OPTIONS, input.values)
  const all = await workers()
  const problems: string[] = []
  const results: object[] = []
  const order = async ({ id }: WorkerRow): Promise<void> => {
    const answer = await ask({ action: 'drain', worker: id, limitMs: graceMs })
    if (answer.outcome === 'refused') throw refusal('drain a worker')
    const draining = answer.outcome === 'done'
    if (!draining) problems.push(text.problemText(`worker ${id}`, answer))
    const tasks = answer.tasks.map(({ task }) => task)
    if (options.json) results.push({ worker: id, draining, running: tasks })
    else if (draining) process.stdout.write(text.drainText(id, answer, graceMs))
  }
  const meant = new Set<WorkerRow>()
  for (const given of input.positionals) {
    const ofHost = all.filter(({ host }) => host === given)
    const found = ofHost.length > 0 ? ofHost : text.meantWorkers(all, given)
    if (ofHost.length === 0 && found.length !== 1) problems.push(text.choiceText(given, found))
    for (const worker of found) meant.add(worker)
  }
  // Whoever misspells one of them may want to reconsider the others.
  if (problems.length > 0) return failed(`${problems.join('; ')}; no worker was drained`)
  for (const worker of meant) await order(worker)
  if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`)
  return problems.length === 0 ? DONE : failed(problems.join('; '))
}

function failed(reason: string): CommandEnd {
  return { reason, isFailure: true }
}

function refusal(what: string): ProtectedModeError {
  return new ProtectedModeError(
    `the scheduler is in protected mode, in which operators cannot ${what}`,
  )
}

function print(isJson: boolean, value: object, text: () => string): void {
  process.stdout.write(isJson ? `${JSON.stringify(value, undefined, 2)}\n` : text())
}

interface Prepared {
  /** Of the scheduler. */
  readonly address: string
  readonly options: OptionsOf<typeof OPERATE_OPTIONS>
  readonly text: typeof operateText
  readonly ask: (question: OperatorQuestion) => Promise<OperatorReply>
  readonly workers: () => Promise<readonly WorkerRow[]>
}

async function prepare({ values }: CommandInput): Promise<Prepared> {
  const options = optionsIn<OptionsOf<typeof OPERATE_OPTIONS>>(OPERATE_OPTIONS, values)
  const { monitorAddress, timeoutMs, address = monitorAddress } = options
  if (address === undefined) {
    throw new ConfigError('no scheduler: use --address tcp://host:port, or set SCALER_ADDRESS')
  }
  const { locate } = await import('../../client/connect/locate.js')
  const { lookAtCluster, requestOf, requestRefusal } = await import('../../client/monitor/look.js')
  const { workerRows } = await import('../report/columns.js')
  const text = await import('./operate-text.js')
  const place = await locate(address, { timeoutMs, monitorAddress })
  const { address: found } = place
  if (found === undefined) throw requestRefusal(address)
  return {
    address: found,
    options,
    text,
    ask: (question) => requestOf({ ...place, address: found }, question, timeoutMs),
    workers: async () => workerRows(await lookAtCluster(place, { timeoutMs })),
  }
}

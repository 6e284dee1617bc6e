// The commands `scaler workers`, `tasks`, `clients`, `objects` and `failures`: one table each,
// sorted and filtered by its columns, of what `scaler status` summarizes.

import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import { jsonText } from '../../base/text.js'
import type { MonitorSetup, SchedulerSetup } from '../../client/monitor/links.js'
import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
import {
  CLUSTER_ADDRESS,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  interruptible,
  JSON_OPTION,
  MONITOR_ADDRESS_OPTION,
  REPORT_TIMEOUT_OPTION,
} from '../command.js'
import type { Column } from '../table.js'
import type * as columns from '../report/columns.js'

/** The options of the listing commands. */
const LIST_OPTIONS = {
  sort: {
    type: { kind: 'list', separator: 'commas', hasDashes: true },
    description: 'columns to sort by, the most important first; -COLUMN: the largest first',
    flag: 'sort',
    short: ['-s'],
  },
  filter: {
    type: { kind: 'list', separator: 'words', isRepeatable: true },
    description:
      'only rows where COLUMN=VALUE, COLUMN!=VALUE, COLUMN~TEXT (a part of it), COLUMN>N or ' +
      'COLUMN<N, or with a word in any column; N may have a unit: 30s, 1.5GB; all must hold',
    flag: 'filter',
    short: ['-f'],
  },
  limit: {
    type: { kind: 'integer', min: 0, max: 1_000_000 },
    description: 'at most this many rows; 0 = all',
    default: 0,
    flag: 'limit',
    short: ['-n'],
  },
  json: {
    ...JSON_OPTION,
    description: 'print one JSON array instead of a table, with null for what is not known',
  },
  monitorAddress: MONITOR_ADDRESS_OPTION,
  timeoutMs: REPORT_TIMEOUT_OPTION,
} as const satisfies AnyOptionTable

/** The options of `scaler tasks`. */
const TASKS_OPTIONS = {
  ...LIST_OPTIONS,
  waiting: {
    type: { kind: 'integer', min: 0, max: 1_000 },
    description:
      'list the tasks that have waited longest, at most this many, each with its id and client, ' +
      'instead of how many wait',
    default: 0,
    flag: 'waiting',
    short: ['-w'],
  },
} as const satisfies AnyOptionTable

/** What a listing command lists. */
interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  /** In the order in which they are shown unless they are sorted. */
  readonly rows: (info: ClusterInfo) => readonly Row[]
  /** Requests rows that are not part of a report; undefined: these options do not ask for any. */
  readonly request?: (input: CommandInput) => RowRequest<Row> | undefined
  /** What is printed if there are none: `no workers`. */
  readonly none: string
  /** How many there are, if the scheduler does not tell which. */
  readonly untold?: (info: ClusterInfo) => number
  /** What else a reader of these rows may want to know, in one line; may be empty. */
  readonly note?: (rows: readonly Row[], info: ClusterInfo) => string
}

/** Requests the rows of a table that replace those of the report. */
type RowRequest<Row> = (
  setup: MonitorSetup,
  info: ClusterInfo,
  timeoutMs: number,
) => Promise<readonly Row[]>

type Columns = typeof columns

function listCommand<Row>(
  definition: Pick<CommandDefinition, 'name' | 'summary' | 'examples'> & {
    readonly tables?: CommandDefinition['tables']
  },
  listing: (columns: Columns) => Listing<Row>,
): CommandDefinition {
  return {
    tables: [LIST_OPTIONS],
    ...definition,
    positionals: [CLUSTER_ADDRESS],
    hasLog: false,
    start: async (input) => {
      const list = await prepared(input, listing(await import('../report/columns.js')))
      return interruptible(list())
    },
  }
}

/** `scaler workers ADDRESS`. */
export const WORKERS: CommandDefinition = listCommand(
  {
    name: 'workers',
    summary: 'List the workers: state, queue, resources, and what they run.',
    examples: [
      'scaler workers tcp://127.0.0.1:2345 --sort -memory --limit 10',
      "scaler workers tcp://127.0.0.1:2345 --filter state=busy 'memory>1.5GB'",
    ],
  },
  ({ WORKER_COLUMNS: columns, workerRows: rows }) => ({ columns, rows, none: 'no workers' }),
)

/** `scaler tasks ADDRESS`. */
export const TASKS: CommandDefinition = listCommand(
  {
    name: 'tasks',
    summary: 'List the tasks that run, and those that wait, by function and reason.',
    examples: [
      'scaler tasks tcp://127.0.0.1:2345 --sort -for',
      "scaler tasks tcp://127.0.0.1:2345 --filter state=running 'for>5min'",
      'scaler tasks tcp://127.0.0.1:2345 --waiting 20 --filter name=price',
    ],
    tables: [TASKS_OPTIONS],
  },
  ({ TASK_COLUMNS: columns, taskRows: rows, runningRows, waitingRows }) => ({
    columns,
    rows,
    request: ({ values }) => {
      const { waiting: lines } = optionsIn<OptionsOf<typeof TASKS_OPTIONS>>(TASKS_OPTIONS, values)
      if (lines === 0) return undefined
      return async (setup, info, timeoutMs) => {
        const { listWaiting } = await import('../../client/monitor/look.js')
        const waiting = await listWaiting(await addressed(setup), lines, timeoutMs)
        return [...runningRows(info), ...waitingRows(waiting, info)]
      }
    },
    none: 'no tasks',
    untold: ({ tasks }) => tasks.running + tasks.waiting,
    note: (shown) => {
      const isCounted = shown.some(({ task }) => task === undefined)
      return isCounted ? 'the ids of those that have waited longest: --waiting 20' : ''
    },
  }),
)

/** `scaler clients ADDRESS`. */
export const CLIENTS: CommandDefinition = listCommand(
  {
    name: 'clients',
    summary: 'List the clients, with their unfinished tasks and what they store.',
    examples: ['scaler clients tcp://127.0.0.1:2345 --sort -unfinished'],
  },
  ({ CLIENT_COLUMNS: columns }) => ({
    columns,
    rows: ({ clients }) => clients,
    none: 'no clients',
  }),
)

/** `scaler failures ADDRESS`. */
export const FAILURES: CommandDefinition = listCommand(
  {
    name: 'failures',
    summary: 'List the last 1,000 tasks that have failed, with their errors.',
    examples: [
      'scaler failures tcp://127.0.0.1:2345 --limit 20',
      "scaler failures tcp://127.0.0.1:2345 --filter function=price 'ago<1h' --json",
    ],
  },
  ({ FAILURE_COLUMNS: columns, failureRows: rows }) => ({
    columns,
    rows,
    none: 'no failures',
    untold: ({ tasks }) => tasks.failed,
  }),
)

/** `scaler objects ADDRESS`. */
export const OBJECTS: CommandDefinition = listCommand(
  {
    name: 'objects',
    summary: 'List the stored objects: functions, large arguments and results; the largest first.',
    examples: [
      'scaler objects tcp://127.0.0.1:2345 --limit 20',
      "scaler objects tcp://127.0.0.1:2345 --filter 'size>1MB' 'age>10min' --json",
    ],
  },
  ({ OBJECT_COLUMNS: columns, objectRows }) => ({
    columns,
    rows: () => [],
    request: () => async (setup, info, timeoutMs) => {
      const { listObjects } = await import('../../client/monitor/look.js')
      return objectRows(await listObjects(await addressed(setup), { timeoutMs }), info)
    },
    none: 'no objects',
  }),
)

/** Throws `ConnectError` if only the address for monitors is known: it takes no requests. */
async function addressed(setup: MonitorSetup): Promise<SchedulerSetup> {
  const { address, monitorAddress = '' } = setup
  if (address !== undefined) return { ...setup, address }
  const { requestRefusal } = await import('../../client/monitor/look.js')
  throw requestRefusal(monitorAddress)
}

/** Checks the options; the result connects and prints. */
async function prepared<Row>(
  input: CommandInput,
  listing: Listing<Row>,
): Promise<() => Promise<CommandEnd>> {
  const { printWidth, readFilter, readOrder, tableLines } = await import('../table.js')
  const { values, positionals, color } = input
  const { columns, none, untold, note } = listing
  const options = optionsIn<OptionsOf<typeof LIST_OPTIONS>>(LIST_OPTIONS, values)
  const request = listing.request?.(input)
  const { sort = [], filter = [], limit, json, timeoutMs, monitorAddress } = options
  const order = readOrder(columns, sort)
  const filters = filter.map((text) => readFilter(columns, text))
  const [address = ''] = positionals
  return async () => {
    const { locate } = await import('../../client/connect/locate.js')
    const { lookAtCluster } = await import('../../client/monitor/look.js')
    const setup = await locate(address, { timeoutMs, monitorAddress })
    const info = await lookAtCluster(setup, { timeoutMs })
    const all = await (request?.(setup, info, timeoutMs) ?? listing.rows(info))
    const chosen = order(all.filter((row) => filters.every((isChosen) => isChosen(row))))
    const rows = limit === 0 ? chosen : chosen.slice(0, limit)
    const noneText = (): string => {
      const count = info.scheduler.version === undefined ? (untold?.(info) ?? 0) : 0
      if (count > 0) return `${count} in all, but this scheduler does not tell which`
      return all.length === 0 ? none : `${none} that match`
    }
    const hidden = { count: chosen.length - rows.length, hint: 'see --limit' }
    if (json) process.stdout.write(`${jsonText(rows)}\n`)
    else if (rows.length > 0) {
      const style = { width: printWidth(process.stdout), color }
      const more = note?.(rows, info) ?? ''
      const lines = [...tableLines({ columns, rows, hidden }, style), ...(more ? [more] : [])]
      process.stdout.write(`${lines.join('\n')}\n`)
    } else process.stdout.write(`${noneText()}\n`)
    return { reason: '', isFailure: false }
  }
}

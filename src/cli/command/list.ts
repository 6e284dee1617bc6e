// The commands `scaler workers`, `tasks`, `clients` and `failures`: one table each, sorted and
// filtered by its columns, of what `scaler status` summarizes.

import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import { jsonText } from '../../base/text.js'
import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
import {
  CLUSTER_ADDRESS,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  MONITOR_ADDRESS_OPTION,
  REPORT_TIMEOUT_OPTION,
} from '../command.js'
import type { Column } from '../table.js'
import type * as columns from './cluster-columns.js'

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
      'COLUMN<N; N may have a unit: 30s, 1.5GB; several must all hold',
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
    type: { kind: 'boolean' },
    description: 'print one JSON array instead of a table, with null for what is not known',
    default: false,
    flag: 'json',
  },
  monitorAddress: MONITOR_ADDRESS_OPTION,
  timeoutMs: REPORT_TIMEOUT_OPTION,
} as const satisfies AnyOptionTable

/** What a listing command lists. */
interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  /** In the order in which they are shown unless they are sorted. */
  readonly rows: (info: ClusterInfo) => readonly Row[]
  /** What is printed if there are none: `no workers`. */
  readonly none: string
  /** How many there are, if the scheduler does not tell which. */
  readonly untold?: (info: ClusterInfo) => number
}

type Columns = typeof columns

function listCommand<Row>(
  definition: Pick<CommandDefinition, 'name' | 'summary' | 'examples'>,
  listing: (columns: Columns) => Listing<Row>,
): CommandDefinition {
  return {
    ...definition,
    positionals: [CLUSTER_ADDRESS],
    tables: [LIST_OPTIONS],
    hasLog: false,
    // A signal stops it immediately: the process holds nothing that has to be closed.
    start: async (input) => {
      const list = await prepared(input, listing(await import('./cluster-columns.js')))
      return { ended: list(), stop: () => Promise.resolve() }
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
    ],
  },
  ({ TASK_COLUMNS: columns, taskRows: rows }) => ({
    columns,
    rows,
    none: 'no tasks',
    untold: ({ tasks }) => tasks.running + tasks.waiting,
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

/** Checks the options; the result connects and prints. */
async function prepared<Row>(
  { values, positionals, color }: CommandInput,
  { columns, rows: rowsOf, none, untold }: Listing<Row>,
): Promise<() => Promise<CommandEnd>> {
  const { printWidth, readFilter, readOrder, tableLines } = await import('../table.js')
  const options = optionsIn<OptionsOf<typeof LIST_OPTIONS>>(LIST_OPTIONS, values)
  const { sort = [], filter = [], limit, json, timeoutMs, monitorAddress } = options
  const order = readOrder(columns, sort)
  const filters = filter.map((text) => readFilter(columns, text))
  const [address = ''] = positionals
  return async () => {
    const { openLook } = await import('../../client/connect/locate.js')
    const look = await openLook(address, { timeoutMs, monitorAddress })
    const info = await look()
    const all = rowsOf(info)
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
      process.stdout.write(`${tableLines({ columns, rows, hidden }, style).join('\n')}\n`)
    } else process.stdout.write(`${noneText()}\n`)
    return { reason: '', isFailure: false }
  }
}

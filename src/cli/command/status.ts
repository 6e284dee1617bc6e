// The command `scaler status`: prints the state of a cluster, once or again and again.

import { setTimeout } from 'node:timers/promises'
import { ScalerError } from '../../base/errors.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import { jsonText } from '../../base/text.js'
import {
  abortable,
  CLUSTER_ADDRESS,
  MONITOR_ADDRESS_OPTION,
  REPORT_TIMEOUT_OPTION,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  JSON_OPTION,
} from '../command.js'

/** The options of `scaler status`. */
const STATUS_OPTIONS = {
  monitorAddress: MONITOR_ADDRESS_OPTION,
  timeoutMs: REPORT_TIMEOUT_OPTION,
  watch: {
    type: { kind: 'boolean' },
    description: 'print the state once per second, until stopped',
    default: false,
    flag: 'watch',
    short: ['-w'],
  },
  json: { ...JSON_OPTION, description: 'print one JSON object per line instead of text' },
} as const satisfies AnyOptionTable

/** `scaler status ADDRESS`. */
export const STATUS: CommandDefinition = {
  name: 'status',
  summary: 'Show whether a cluster works: what runs, what waits and why, what has failed.',
  positionals: [CLUSTER_ADDRESS],
  tables: [STATUS_OPTIONS],
  examples: [
    'scaler status tcp://127.0.0.1:2345',
    'scaler status tcp://scheduler.example:2345 --watch',
    'scaler status tcp://127.0.0.1:2345 --json',
  ],
  hasLog: false,
  start: (input) => abortable((signal) => show(input, signal)),
}

const WATCH_INTERVAL_MS = 1_000
/** Moves to the top left corner and clears what follows, without the flicker of clearing first. */
const HOME = '\u001b[H'
const CLEAR_REST = '\u001b[J'
const CLEAR_LINE_END = '\u001b[K'

async function show(input: CommandInput, stopped: AbortSignal): Promise<CommandEnd> {
  const { openLook } = await import('../../client/connect/locate.js')
  const { statusText } = await import('../report/status.js')
  const { printWidth } = await import('../table.js')
  const { timeoutMs, watch, json, monitorAddress } = optionsIn<OptionsOf<typeof STATUS_OPTIONS>>(
    STATUS_OPTIONS,
    input.values,
  )
  const [address = ''] = input.positionals
  const { stdout } = process
  // `| head -1`: without a reader, there is nothing to watch for.
  const closed = new AbortController()
  stdout.once('error', () => closed.abort())
  const signal = AbortSignal.any([stopped, closed.signal])
  const look = await openLook(address, { timeoutMs, monitorAddress })
  const isScreen = watch && !json && stdout.isTTY
  const print = (info: Awaited<ReturnType<typeof look>>): void => {
    if (json) {
      stdout.write(`${jsonText(info)}\n`)
      return
    }
    const text = statusText(info, { width: printWidth(stdout), color: input.color })
    if (!isScreen) stdout.write(watch ? `${text}\n` : text)
    else stdout.write(`${HOME}${text.replaceAll('\n', `${CLEAR_LINE_END}\n`)}${CLEAR_REST}`)
  }
  try {
    print(await look(signal))
    let isAway = false
    while (watch) {
      await setTimeout(WATCH_INTERVAL_MS, undefined, { signal })
      try {
        print(await look(signal))
        isAway = false
      } catch (error) {
        // A scheduler that is away may come back.
        if (signal.aborted || !(error instanceof ScalerError)) throw error
        if (!isAway) process.stderr.write(`scaler status: ${error.message}; trying again\n`)
        isAway = true
      }
    }
    return { reason: '', isFailure: false }
  } catch (error) {
    if (signal.aborted) return { reason: '', isFailure: false }
    throw error
  }
}

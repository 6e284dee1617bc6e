// The command `scaler top`: the state of a cluster on a terminal, followed until it is left; for
// programs, one JSON object per line and second.

import { TimeoutError } from '../../base/errors.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
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
import type { Display } from '../top/display.js'

/** The options of `scaler top`. */
const TOP_OPTIONS = {
  monitorAddress: MONITOR_ADDRESS_OPTION,
  timeoutMs: REPORT_TIMEOUT_OPTION,
  json: {
    ...JSON_OPTION,
    description: 'print one JSON object per line and second, as is done without a terminal',
  },
} as const satisfies AnyOptionTable

/** `scaler top ADDRESS`. */
export const TOP: CommandDefinition = {
  name: 'top',
  summary: 'Follow a cluster on the terminal: scheduler, workers, clients, functions, failures.',
  positionals: [CLUSTER_ADDRESS],
  tables: [TOP_OPTIONS],
  examples: [
    'scaler top tcp://127.0.0.1:2345',
    'scaler top tcp://127.0.0.1:2345 --json | jq .rates',
  ],
  hasLog: false,
  start: (input) => abortable((signal) => follow(input, signal)),
}

async function follow(input: CommandInput, signal: AbortSignal): Promise<CommandEnd> {
  const { locate } = await import('../../client/connect/locate.js')
  const { ClusterLink } = await import('../../client/monitor/links.js')
  const { openScreen, openStream } = await import('../top/display.js')
  const options = optionsIn<OptionsOf<typeof TOP_OPTIONS>>(TOP_OPTIONS, input.values)
  const { timeoutMs, json } = options
  const setup = await locate(input.positionals[0] ?? '', options)
  const isScreen = !json && process.stdout.isTTY && process.env['TERM'] !== 'dumb'
  return new Promise<CommandEnd>((resolve, reject) => {
    let display: Display | undefined
    const link = new ClusterLink(
      setup,
      { events: false, failures: true },
      {
        // About once a second, also if there are reports about failures in between.
        onReport: (events, _, own) => {
          own.read()
          for (const event of events) if (event.type === 'sample') show(event.info)
        },
        onCrowded: (error) => {
          if (display === undefined) finish(() => reject(error))
        },
        onFault: (error) => finish(() => reject(error)),
      },
    )
    const show = (info: ClusterInfo): void => {
      clearTimeout(timer)
      display ??= isScreen ? openScreen({ setup, color: input.color, end }) : openStream(end)
      display.onInfo(info)
    }
    const finish = (how: () => void): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      display?.close()
      void link.close().then(how)
    }
    const end = (exitCode: number): void => {
      finish(() => resolve({ reason: '', isFailure: false, exitCode }))
    }
    const onAbort = (): void => finish(() => resolve({ reason: '', isFailure: false }))
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(() => {
      const text = `${link.silence} within ${timeoutMs} ms`
      finish(() => reject(new TimeoutError(text, { reason: 'no-scheduler' })))
    }, timeoutMs)
  })
}

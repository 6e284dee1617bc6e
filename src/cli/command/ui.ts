// The command `scaler ui`: serves a web page that shows a cluster.

import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import {
  CLUSTER_ADDRESS,
  type CommandDefinition,
  MONITOR_ADDRESS_OPTION,
  REPORT_TIMEOUT_OPTION,
} from '../command.js'

const DEFAULT_HOST = '127.0.0.1'

/** The options of `scaler ui`. */
const UI_OPTIONS = {
  host: {
    type: { kind: 'text' },
    description: 'the address of this machine on which to listen; 0.0.0.0: all',
    default: DEFAULT_HOST,
    flag: 'host',
  },
  port: {
    type: { kind: 'integer', min: 0, max: 65_535 },
    description: 'the port on which to listen; 0: any free one',
    default: 50_001,
    flag: 'port',
  },
  allowedHosts: {
    type: { kind: 'list', separator: 'commas' },
    description: 'further names by which browsers may ask for the page',
    flag: 'allowed-hosts',
  },
  monitorAddress: MONITOR_ADDRESS_OPTION,
  timeoutMs: {
    ...REPORT_TIMEOUT_OPTION,
    description: 'how long to wait for the scheduler before trying again',
  },
} as const satisfies AnyOptionTable

/** `scaler ui ADDRESS`. */
export const UI: CommandDefinition = {
  name: 'ui',
  summary: 'Serve a web page that shows what a cluster does, what waits, and what has failed.',
  positionals: [CLUSTER_ADDRESS],
  tables: [UI_OPTIONS],
  examples: [
    'scaler ui tcp://127.0.0.1:2345',
    'scaler ui tcp://scheduler.example:2345 --port 8081',
    'scaler ui tcp://127.0.0.1:2345 --host 0.0.0.0 --allowed-hosts monitor.example',
  ],
  hasLog: true,
  start: async ({ positionals: [address = ''], values, logger }) => {
    const { Board } = await import('../ui/board.js')
    const { watchInto } = await import('../ui/watch.js')
    const { UiServer } = await import('../ui/server.js')
    const { PAGE_FILES: page } = await import('../ui/page-files.js')
    const options = optionsIn<OptionsOf<typeof UI_OPTIONS>>(UI_OPTIONS, values)
    const { host, port, allowedHosts = [], monitorAddress, timeoutMs } = options
    const board = new Board()
    const watch = watchInto(board, address, { timeoutMs, monitorAddress, logger })
    const listening = UiServer.listen({
      host,
      port,
      allowedHosts,
      board,
      page,
      logger,
      ask: watch.ask,
    })
    // If the address is invalid, that is the error.
    const server = await Promise.race([listening, watch.ended.then(() => listening)]).catch(
      async (error: unknown) => {
        await Promise.allSettled([watch.stop(), listening.then((made) => made.close())])
        throw error
      },
    )
    logger.info(`UI: the page is at ${server.url}`, { url: server.url })
    if (host === DEFAULT_HOST) {
      logger.info(
        'UI: only this machine can reach it (Python Scaler listens everywhere; see --host)',
      )
    } else logger.warn('UI: there is no login: whoever reaches this port sees the cluster')
    const close = async (): Promise<void> => {
      await Promise.all([server.close(), watch.stop()])
    }
    const ended = watch.ended.then(
      () => ({ reason: '', isFailure: false }),
      async (error: unknown) => {
        await close()
        throw error
      },
    )
    return { ended, stop: close }
  },
}

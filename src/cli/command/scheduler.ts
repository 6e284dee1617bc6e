// The command `scaler scheduler`: runs one scheduler until it is stopped.

import type { LogFields } from '../../base/logger.js'
import { optionsIn } from '../../base/option.js'
import { LOGGING_OPTIONS } from '../../runtime/log/log.js'
import { SCHEDULER_OPTIONS } from '../../scheduler/scheduler-options.js'
import { UNNECESSARY_OPTIONS } from '../../runtime/unnecessary-options.js'
import type { CommandDefinition, CommandInput } from '../command.js'

/** `scaler scheduler ADDRESS`. */
export const SCHEDULER: CommandDefinition = {
  name: 'scheduler',
  summary: 'Route tasks from clients to workers.',
  positionals: [
    {
      name: 'address',
      description:
        'where clients and workers connect: tcp://host:port, tls://host:port or ipc:///path',
      env: 'ADDRESS',
    },
  ],
  tables: [SCHEDULER_OPTIONS, UNNECESSARY_OPTIONS],
  examples: [
    'scaler scheduler tcp://127.0.0.1:2345',
    "scaler scheduler 'tcp://*:2345' --monitor-address 'tcp://*:2347' --protected",
    'scaler scheduler --config scaler.toml --logging-paths /var/log/scaler.log',
  ],
  hasLog: true,
  start: async (input) => {
    const {
      positionals: [address = ''],
      values,
      logger,
    } = input
    const { Scheduler } = await import('../../scheduler/scheduler.js')
    const options = { ...optionsIn(SCHEDULER_OPTIONS, values), logger }
    const scheduler = await Scheduler.start({ ...options, address })
    const { monitorAddress, metricsAddress } = scheduler
    // Nobody could know a port that the system has chosen.
    const isNews = scheduler.address !== address && !isOnStdout(input)
    const tell = (what: string, fields: LogFields): void => {
      const text = `Scheduler: ${what} is ${Object.values(fields).join()}`
      logger.info(text, fields)
      if (isNews) process.stdout.write(`${text}\n`)
    }
    tell('address', { address: scheduler.address })
    if (monitorAddress !== '') tell('monitor address', { monitorAddress })
    if (metricsAddress !== '') tell('metrics address', { metricsAddress })
    return { ended: scheduler.ended, stop: () => scheduler.close() }
  },
}

/** Whether what is logged at INFO is on stdout, where programs look for the addresses. */
function isOnStdout({ logger, values }: CommandInput): boolean {
  const { loggingPaths = ['/dev/stdout'], loggingConfigFile } = optionsIn(LOGGING_OPTIONS, values)
  // What a file says about the log is left to its author.
  if (loggingConfigFile !== undefined) return true
  return loggingPaths.includes('/dev/stdout') && logger.isLevelEnabled?.('info') !== false
}

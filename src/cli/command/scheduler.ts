// The command `scaler scheduler`: runs one scheduler until it is stopped.

import { optionsIn } from '../../base/option.js'
import { SCHEDULER_OPTIONS } from '../../scheduler/scheduler-options.js'
import { UNNECESSARY_OPTIONS } from '../../runtime/unnecessary-options.js'
import type { CommandDefinition } from '../command.js'

/** `scaler scheduler ADDRESS`. */
export const SCHEDULER: CommandDefinition = {
  name: 'scheduler',
  summary: 'Route tasks from clients to workers.',
  positionals: [
    {
      name: 'address',
      description: 'where clients and workers connect: tcp://host:port or ipc:///path',
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
  start: async ({ positionals: [address = ''], values, logger }) => {
    const { Scheduler } = await import('../../scheduler/scheduler.js')
    const options = { ...optionsIn(SCHEDULER_OPTIONS, values), logger }
    const scheduler = await Scheduler.start({ ...options, address })
    const { monitorAddress } = scheduler
    logger.info(`Scheduler: address is ${scheduler.address}`, { address: scheduler.address })
    if (monitorAddress !== '') {
      logger.info(`Scheduler: monitor address is ${monitorAddress}`, { monitorAddress })
    }
    const { metricsAddress } = scheduler
    if (metricsAddress !== '') {
      logger.info(`Scheduler: metrics address is ${metricsAddress}`, { metricsAddress })
    }
    return { ended: scheduler.ended, stop: () => scheduler.close() }
  },
}

// The command `scaler symphony-cluster`: passes tasks on to IBM Spectrum Symphony until it is
// stopped.

import { optionsIn } from '../../base/option.js'
import { counted } from '../../base/text.js'
import { UNNECESSARY_OPTIONS } from '../../runtime/unnecessary-options.js'
import { checkSymphonyOptions, SYMPHONY_OPTIONS } from '../../worker/symphony/options.js'
import { ADDRESS, type CommandDefinition } from '../command.js'

/** `scaler symphony-cluster ADDRESS SERVICE_NAME`. */
export const SYMPHONY_CLUSTER: CommandDefinition = {
  name: 'symphony-cluster',
  summary: 'Take tasks from a scheduler and have IBM Spectrum Symphony run them.',
  positionals: [
    { name: ADDRESS.name, description: ADDRESS.description },
    {
      name: 'service_name',
      description: 'the application of Symphony whose service runs the tasks',
    },
  ],
  tables: [SYMPHONY_OPTIONS, UNNECESSARY_OPTIONS],
  examples: [
    'scaler symphony-cluster tcp://127.0.0.1:2345 ScalerService --base-concurrency 4',
    'scaler symphony-cluster -n 64 --runtimes python,node tcp://10.0.0.1:2345 Mixed',
    'scaler symphony-cluster --python /opt/soam/bin/python3 tcp://10.0.0.1:2345 Mixed',
  ],
  hasLog: true,
  check: (values) => {
    checkSymphonyOptions(optionsIn(SYMPHONY_OPTIONS, values))
  },
  start: async ({ positionals: [address = '', serviceName = ''], values, logger }) => {
    const options = optionsIn(SYMPHONY_OPTIONS, values)
    const { baseConcurrency, runtimes } = checkSymphonyOptions(options)
    const { startSymphonyCluster } = await import('../../worker/symphony/cluster.js')
    const agent = await startSymphonyCluster({ ...options, address, serviceName, logger })
    const workers = counted(runtimes.length, 'worker')
    logger.info(`Symphony cluster: starting ${workers} for the service ${serviceName}`, {
      address,
      baseConcurrency,
      runtimes: runtimes.join(','),
    })
    const onReady = (): void => logger.info('Symphony cluster: ready', { service: serviceName })
    // If the workers do not become ready, the agent stops and reports why.
    agent.ready.then(onReady, () => {})
    return { ended: agent.ended, stop: (isUrgent) => agent.stop({ isUrgent }) }
  },
}

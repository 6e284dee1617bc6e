// The command `scaler cluster`: runs the workers of one machine until they are stopped.

import { optionsIn } from '../../base/option.js'
import { counted } from '../../base/text.js'
import { UNNECESSARY_WORKER_OPTIONS } from '../../runtime/unnecessary-options.js'
import { AGENT_OPTIONS, checkAgentOptions } from '../../worker/agent/options.js'
import type { CommandDefinition } from '../command.js'
import { settableFlags, flagsOf } from '../option/flag.js'
import { writtenValue } from '../option/text.js'

const ANY_ADDRESS = 'tcp://127.0.0.1:1'

/** `scaler cluster ADDRESS`; `scaler worker` is the same. */
export const CLUSTER: CommandDefinition = {
  name: 'cluster',
  summary: 'Run workers that take tasks from a scheduler.',
  positionals: [
    {
      name: 'address',
      description: 'the address of the scheduler: tcp://host:port, tls://host:port or ipc:///path',
      env: 'ADDRESS',
    },
  ],
  tables: [AGENT_OPTIONS, UNNECESSARY_WORKER_OPTIONS],
  examples: [
    'scaler cluster -n 4 tcp://127.0.0.1:2345',
    'scaler cluster -n 2 --worker-names left,right tcp://scheduler.example:2345',
    'scaler cluster -tts 3600 --logging-level WARNING tcp://127.0.0.1:2345',
  ],
  hasLog: true,
  check: (values) => {
    // An address is checked apart from the options, if there is one.
    checkAgentOptions({ ...optionsIn(AGENT_OPTIONS, values), address: ANY_ADDRESS })
  },
  start: async ({ positionals: [address = ''], values, logger }) => {
    const options = { ...optionsIn(AGENT_OPTIONS, values), address, logger }
    const { workers } = options
    // Before anything is logged or started.
    checkAgentOptions(options)
    const { Agent } = await import('../../worker/agent/agent.js')
    logger.info(`ClusterProcess: starting ${counted(workers, 'worker')}, ${settingsText(values)}`)
    const agent = await Agent.start(options)
    logger.info(`Cluster: waiting for the scheduler at ${address}`, { address })
    const ready = `${counted(workers, 'worker')} ${workers === 1 ? 'is' : 'are'} ready`
    const onReady = (): void => logger.info(`Cluster: ${ready}`, { workers })
    // If the workers do not become ready, the agent stops and reports why.
    agent.ready.then(onReady, () => {})
    return { ended: agent.ended, stop: (isUrgent) => agent.stop({ isUrgent }) }
  },
}

/** The settings that are logged when workers start. */
const MAIN_SETTINGS: readonly string[] = [
  'heartbeatIntervalMs',
  'taskTimeoutMs',
  'deathTimeoutMs',
  'garbageCollectIntervalMs',
  'trimMemoryThresholdBytes',
]

/** `heartbeat_interval_seconds=2, task_timeout_seconds=0, …`: the format of Python Scaler. */
function settingsText(values: Readonly<Record<string, unknown>>): string {
  const flags = settableFlags(flagsOf(CLUSTER)).filter(({ name }) => MAIN_SETTINGS.includes(name))
  return flags
    .map(({ name, key, spec }) => {
      const isSeconds = spec.type.kind === 'duration' && !key.endsWith('-seconds')
      const label = `${key}${isSeconds ? '-seconds' : ''}`.replaceAll('-', '_')
      return `${label}=${String(writtenValue(spec.type, values[name]))}`
    })
    .join(', ')
}

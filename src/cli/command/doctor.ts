// The command `scaler doctor`: connects to a scheduler, or reports precisely why that fails.

import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import {
  CLUSTER_ADDRESS,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  interruptible,
  JSON_OPTION,
  MONITOR_ADDRESS_OPTION,
} from '../command.js'

/** The options of `scaler doctor`. */
const DOCTOR_OPTIONS = {
  timeoutMs: {
    type: { kind: 'duration', min: 100, max: 3_600_000 },
    description: 'how long each step may take',
    default: 5_000,
    flag: 'timeout-seconds',
    short: ['-t'],
  },
  monitorAddress: MONITOR_ADDRESS_OPTION,
  schedulerOnly: {
    type: { kind: 'boolean' },
    description: 'check only the scheduler: require no workers and submit no task',
    default: false,
    flag: 'scheduler-only',
  },
  json: { ...JSON_OPTION, description: 'print one JSON object instead of lines' },
} as const satisfies AnyOptionTable

/** `scaler doctor ADDRESS`. */
export const DOCTOR: CommandDefinition = {
  name: 'doctor',
  summary: 'Check that a scheduler can be reached and runs tasks; report why if not.',
  positionals: [CLUSTER_ADDRESS],
  tables: [DOCTOR_OPTIONS],
  examples: [
    'scaler doctor tcp://127.0.0.1:2345',
    'scaler doctor tcp://scheduler.example:2345 --json',
    'scaler doctor tcp://127.0.0.1:2345 --scheduler-only --timeout-seconds 2',
  ],
  hasLog: false,
  start: (input) => interruptible(examine(input)),
}

async function examine({ positionals, values, color }: CommandInput): Promise<CommandEnd> {
  const { diagnose } = await import('../../client/connect/diagnosis.js')
  const { diagnosisText, problemText } = await import('./doctor-text.js')
  const options = optionsIn<OptionsOf<typeof DOCTOR_OPTIONS>>(DOCTOR_OPTIONS, values)
  const { timeoutMs, monitorAddress, schedulerOnly: isSchedulerOnly, json } = options
  const [address = ''] = positionals
  const diagnosis = await diagnose(address, { timeoutMs, monitorAddress, isSchedulerOnly })
  const fatal = diagnosis.problems.find(({ isFatal }) => isFatal)
  const isHealthy = fatal === undefined
  if (json) process.stdout.write(`${JSON.stringify({ isHealthy, ...diagnosis })}\n`)
  else process.stdout.write(diagnosisText(diagnosis, color))
  if (isHealthy) return { reason: '', isFailure: false }
  return { reason: json ? '' : problemText(fatal), isFailure: true }
}

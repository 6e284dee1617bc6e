// The command `scaler doctor`: reaches a scheduler, or says precisely why not.

import {
  valuesOf,
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
} from './command-definition.js'
import { DOCTOR_OPTIONS } from './doctor-options.js'

/** `scaler doctor ADDRESS`. */
export const DOCTOR: CommandDefinition = {
  name: 'doctor',
  summary: 'Check that a scheduler can be reached and runs tasks; say why if not.',
  positionals: [
    {
      name: 'address',
      description: 'the address of the scheduler: tcp://host:port or ipc:///path',
      env: 'ADDRESS',
    },
  ],
  tables: [DOCTOR_OPTIONS],
  examples: [
    'scaler doctor tcp://127.0.0.1:2345',
    'scaler doctor tcp://scheduler.example:2345 --json',
    'scaler doctor tcp://127.0.0.1:2345 --scheduler-only --timeout-seconds 2',
  ],
  hasLog: false,
  // A signal ends it at once: whatever it has opened goes with the process.
  start: (input) => Promise.resolve({ ended: examine(input), stop: () => Promise.resolve() }),
}

async function examine({ positionals, values, color }: CommandInput): Promise<CommandEnd> {
  const { diagnose } = await import('../client/connect-diagnosis.js')
  const { diagnosisText, problemText } = await import('./doctor-text.js')
  const {
    timeoutMs = 5_000,
    monitorAddress,
    schedulerOnly,
    json,
  } = valuesOf(DOCTOR_OPTIONS, values)
  const isSchedulerOnly = schedulerOnly === true
  const [address = ''] = positionals
  const diagnosis = await diagnose(address, { timeoutMs, monitorAddress, isSchedulerOnly })
  const fatal = diagnosis.problems.find(({ isFatal }) => isFatal)
  const isHealthy = fatal === undefined
  if (json === true) process.stdout.write(`${JSON.stringify({ isHealthy, ...diagnosis })}\n`)
  else process.stdout.write(diagnosisText(diagnosis, color))
  if (isHealthy) return { reason: '', isFailure: false }
  return { reason: json === true ? '' : problemText(fatal), isFailure: true }
}

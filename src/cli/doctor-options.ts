// The options of `scaler doctor`: names, defaults and bounds.

import type { OptionTable } from '../base/option-table.js'

/** What a doctor can be told. */
export interface DoctorOptions {
  /** 5,000: how long each step may take, in milliseconds. 100 to 3,600,000. */
  readonly timeoutMs?: number | undefined
  /** Where the scheduler's monitors subscribe. Default: what it says, or two ports up. */
  readonly monitorAddress?: string | undefined
  /** False: workers do not matter: none need be there, and no task is submitted. */
  readonly schedulerOnly?: boolean | undefined
  /** False: one object of JSON instead of lines. */
  readonly json?: boolean | undefined
}

/** The options of a doctor. */
export const DOCTOR_OPTIONS: OptionTable<DoctorOptions> = {
  timeoutMs: {
    type: { kind: 'duration', min: 100, max: 3_600_000 },
    description: 'how long each step may take',
    default: 5_000,
    flag: 'timeout-seconds',
    short: ['-t'],
  },
  monitorAddress: {
    type: { kind: 'text' },
    description: 'where the monitors of the scheduler connect',
    defaultText: 'what the scheduler says',
    flag: 'monitor-address',
    short: ['-ma'],
  },
  schedulerOnly: {
    type: { kind: 'boolean' },
    description: 'workers do not matter: none need be there, and no task is submitted',
    default: false,
    flag: 'scheduler-only',
  },
  json: {
    type: { kind: 'boolean' },
    description: 'print one object of JSON instead of lines',
    default: false,
    flag: 'json',
  },
}

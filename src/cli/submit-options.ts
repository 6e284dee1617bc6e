// The options of `scaler submit`: names, defaults and bounds. Those of the task are the options of
// tasks in code.

import type { TaskOptions } from '../client/task-options.js'
import type { OptionTable } from '../base/option-table.js'

/** What `scaler submit` can be told. */
export interface SubmitOptions extends Pick<
  TaskOptions,
  'retries' | 'maxWorkerDeaths' | 'priority' | 'name'
> {
  /** Default: `SCALER_ADDRESS`. */
  readonly address?: string | undefined
  /** 10,000: the scheduler is given up after this silence, in milliseconds. 100 to 3,600,000. */
  readonly timeoutMs?: number | undefined
  /** 0: the task may run for so long, in milliseconds; 0 = for ever. Up to 2,147,483,647. */
  readonly taskTimeoutMs?: number | undefined
}

/** The options of `scaler submit`. */
export const SUBMIT_OPTIONS: OptionTable<SubmitOptions> = {
  address: {
    type: { kind: 'text' },
    description: 'the address of the scheduler: tcp://host:port or ipc:///path',
    flag: 'address',
    short: ['-a'],
  },
  timeoutMs: {
    type: { kind: 'duration', min: 100, max: 3_600_000 },
    description: 'give the scheduler up when it has been silent for so long',
    default: 10_000,
    flag: 'timeout-seconds',
    short: ['-t'],
  },
  taskTimeoutMs: {
    // The same variable of the environment is an option of workers, where 0 has this meaning.
    type: { kind: 'duration', min: 0, max: 2_147_483_647 },
    description: 'stop the task if it runs for longer; 0 = never',
    default: 0,
    flag: 'task-timeout-seconds',
    short: ['-tts'],
  },
  retries: {
    type: { kind: 'integer', min: 0, max: 1_000_000 },
    description: 'how often the task is run again after it has failed',
    default: 0,
    flag: 'retries',
  },
  maxWorkerDeaths: {
    type: { kind: 'integer', min: 0, max: 1_000_000 },
    description: 'how often the task is run again after its worker was lost',
    defaultText: '3',
    flag: 'max-worker-deaths',
  },
  priority: {
    type: { kind: 'integer', min: -1_000_000_000, max: 1_000_000_000 },
    description: 'tasks with a higher one run first',
    default: 0,
    flag: 'priority',
  },
  name: {
    type: { kind: 'text' },
    description: 'the name of the task in monitors',
    defaultText: 'the name of the function',
    flag: 'name',
  },
}

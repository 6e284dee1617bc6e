// The options of a client: names, defaults and bounds, from which code, commands and documents are
// fed. Apart from their check, because that loads the serializer, for which no `--help` should
// wait.

import type { Logger } from '../base/logger.js'
import type { OptionTable } from '../base/option-table.js'
import type { Serializer } from '../serializer/serializer.js'

/** What a client can be told. Times are in milliseconds, sizes in bytes. */
export interface ClientOptions {
  /**
   * 60,000: unfinished tasks fail with `DisconnectedError` when nothing was heard from the
   * scheduler for so long. `Client.connect` waits for so long, too. 1 to 2,147,483,647.
   */
  readonly timeoutMs?: number | undefined
  /**
   * 2,000, or a quarter of `timeoutMs` if that is less: how often the client tells the scheduler
   * that it lives. 1 to 3,600,000, and less than `timeoutMs`.
   */
  readonly heartbeatIntervalMs?: number | undefined
  /**
   * `defaultSerializer`: functions, classes and all standard values by value. Another one is
   * called for the function, each argument and each result, here and on the workers, to which it
   * travels as it is when the client is made: an object, or a class, with the functions
   * `serialize` and `deserialize`. Errors always travel by the default one.
   */
  readonly serializer?: Serializer | undefined
  /** False: whether to ask workers for CPU time and peak memory of every task. */
  readonly profiling?: boolean | undefined
  /**
   * 8,192: serialized arguments up to this size travel inside the task message; larger ones are
   * stored in the scheduler while a task needs them. 0 to 16,777,216.
   */
  readonly inlineLimitBytes?: number | undefined
  /**
   * True: after a lost link or a restarted scheduler, go on without losing a future. False: the
   * first lost link fails every unfinished future with `DisconnectedError`, and ends the client.
   */
  readonly reconnect?: boolean | undefined
  /**
   * 1,000,000: a `map` pulls no further input while so many tasks are unfinished. 1 to
   * 4,294,967,295.
   */
  readonly maxUnfinishedTasks?: number | undefined
  /**
   * Where goes what tasks write to stdout and stderr, with `console.log` or otherwise. `'forward'`:
   * to stdout and stderr of this program. `'log'`: to the log of their worker. `'off'`: nowhere.
   * Default: `SCALER_OUTPUT` if that is set (`scaler run` sets it); else `'forward'` where the
   * cluster was started in this process (`Client.local`, `SchedulerClusterCombo`) and `'log'`
   * elsewhere. What tasks submit themselves prints where they do.
   */
  readonly output?: 'forward' | 'log' | 'off' | undefined
  /**
   * What people see of this client where clients are listed. Default: the file name of the program
   * (`node` if it has none). 1 to 128 characters, none of them for control.
   */
  readonly name?: string | undefined
  /** Silent by default. */
  readonly logger?: Logger | undefined
}

/** The options of a client, for code and commands. */
export const CLIENT_OPTIONS: OptionTable<ClientOptions> = {
  timeoutMs: {
    type: { kind: 'duration', min: 1, max: 2_147_483_647 },
    description: 'give the scheduler up when nothing was heard from it for so long',
    default: 60_000,
    flag: 'timeout-seconds',
    short: ['-t'],
  },
  heartbeatIntervalMs: {
    type: { kind: 'duration', min: 1, max: 3_600_000 },
    description: 'how often the client says that it lives; less than the timeout',
    default: 2_000,
    defaultText: '2 seconds, or a quarter of the timeout if that is less',
    flag: 'heartbeat-interval',
    short: ['-hi'],
  },
  serializer: {
    type: { kind: 'object' },
    description: 'how functions, arguments and results become bytes',
    defaultText: 'functions, classes and all standard values by value',
  },
  profiling: {
    type: { kind: 'boolean' },
    description: 'ask workers for CPU time and peak memory of every task',
    default: false,
    flag: 'profiling',
  },
  inlineLimitBytes: {
    type: { kind: 'integer', min: 0, max: 16_777_216 },
    description: 'arguments up to this size travel inside the task message',
    default: 8_192,
    flag: 'inline-limit-bytes',
  },
  reconnect: {
    type: { kind: 'boolean' },
    description: 'go on after a lost link or a restarted scheduler',
    default: true,
    flag: 'reconnect',
  },
  maxUnfinishedTasks: {
    type: { kind: 'integer', min: 1, max: 4_294_967_295 },
    description: 'a map pulls no further input while so many tasks are unfinished',
    default: 1_000_000,
    flag: 'max-unfinished-tasks',
  },
  output: {
    type: { kind: 'choice', choices: ['forward', 'log', 'off'] },
    description: 'where goes what tasks write to stdout and stderr: to the program, or to the log',
    defaultText: 'forward with a cluster of the same process, else log',
  },
  name: {
    type: { kind: 'text' },
    description: 'what people see of this client',
    defaultText: 'the file name of the program',
  },
  logger: { type: { kind: 'object' }, description: 'where log lines go' },
}

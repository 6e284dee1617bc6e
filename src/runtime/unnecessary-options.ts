// Options that users of the system know and that have no effect here. They are accepted, and one
// log line says why they are unnecessary.

import type { OptionTable } from '../base/option.js'

/** Accepted for compatibility, without effect. */
export interface UnnecessaryOptions {
  /** `'builtin'` or `'uvloop'`. Unnecessary: Node's event loop is libuv. */
  readonly eventLoop?: string | undefined
  /** 1: unnecessary, there are no ZeroMQ threads. 1 to 1,024. */
  readonly ioThreads?: number | undefined
}

/** The same for workers. */
export interface UnnecessaryWorkerOptions extends UnnecessaryOptions {
  /** False: unnecessary, a task that waits for its children shares its processor. */
  readonly hardProcessorSuspend?: boolean | undefined
  /** Unnecessary: `loggingPaths` says where the log goes. */
  readonly logHubAddress?: string | undefined
}

/** Accepted by every command of the cluster. */
export const UNNECESSARY_OPTIONS: OptionTable<UnnecessaryOptions> = {
  eventLoop: {
    type: { kind: 'choice', choices: ['builtin', 'uvloop'] },
    description: 'accepted; Node has its own',
    default: 'builtin',
    flag: 'event-loop',
    short: ['-e', '-el'],
    unnecessary: 'Node has the same event loop as uvloop: libuv',
  },
  ioThreads: {
    type: { kind: 'integer', min: 1, max: 1_024 },
    description: 'accepted; there are no ZeroMQ threads',
    default: 1,
    flag: 'io-threads',
    short: ['-it'],
    unnecessary: 'Node needs no threads for sockets',
  },
}

/** Accepted by the commands of workers. */
export const UNNECESSARY_WORKER_OPTIONS: OptionTable<UnnecessaryWorkerOptions> = {
  ...UNNECESSARY_OPTIONS,
  hardProcessorSuspend: {
    type: { kind: 'boolean' },
    description: 'accepted; no processor is suspended',
    default: false,
    flag: 'hard-processor-suspend',
    short: ['-hps'],
    unnecessary: 'a task that waits for its children shares its processor with them',
  },
  logHubAddress: {
    type: { kind: 'text' },
    description: 'accepted; --logging-paths says where the log goes',
    flag: 'log-hub-address',
    short: ['-la'],
    unnecessary: '--logging-paths says where the log goes',
  },
}

// The command `scaler object-storage-server`: stores large objects until it is stopped.

import { ConfigError } from '../../base/errors.js'
import { optionsIn, type OptionTable } from '../../base/option.js'
import type { ObjectStorageServerLimits } from '../../scheduler/object-storage-server.js'
import { SCHEDULER_OPTIONS } from '../../scheduler/scheduler-options.js'
import type { CommandDefinition } from '../command.js'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 55_555

interface ServerOptions extends ObjectStorageServerLimits {
  readonly name?: string | undefined
  readonly port?: number | undefined
  readonly schedulerAddress?: string | undefined
}

/** The limits have the names that they have for a scheduler, with flags of their own. */
const SERVER_OPTIONS: OptionTable<ServerOptions> = {
  name: {
    type: { kind: 'text' },
    description: 'the host to listen on if no ADDRESS is given; * = all interfaces',
    defaultText: DEFAULT_HOST,
    flag: 'name',
    variable: 'SCALER_OBJECT_STORAGE_SERVER_NAME',
    short: ['-n'],
  },
  port: {
    type: { kind: 'integer', min: 0, max: 65_535 },
    description: 'the port to listen on if no ADDRESS is given; 0 = any free port',
    defaultText: String(DEFAULT_PORT),
    flag: 'port',
    short: ['-p'],
  },
  schedulerAddress: {
    type: { kind: 'text' },
    description: 'the address of the scheduler to register with',
    defaultText: 'none',
    flag: 'scheduler',
    short: ['-s'],
  },
  objectMemoryLimitBytes: {
    ...SCHEDULER_OPTIONS.objectMemoryLimitBytes,
    flag: 'memory-limit-bytes',
  },
  objectDiskLimitBytes: { ...SCHEDULER_OPTIONS.objectDiskLimitBytes, flag: 'disk-limit-bytes' },
  objectSpillDirectory: { ...SCHEDULER_OPTIONS.objectSpillDirectory, flag: 'spill-directory' },
  objectDirectory: SCHEDULER_OPTIONS.objectDirectory,
}

/** `scaler object-storage-server [ADDRESS]`. */
export const OBJECT_STORAGE_SERVER: CommandDefinition = {
  name: 'object-storage-server',
  summary: 'Store large objects, so that their content does not pass through the scheduler.',
  positionals: [
    {
      name: 'address',
      description: 'where to listen: tcp://host:port, tls://host:port or ipc:///path',
      isOptional: true,
    },
  ],
  tables: [SERVER_OPTIONS],
  examples: [
    "scaler object-storage-server 'tcp://*:55555' --scheduler tcp://scheduler.example:2345",
    'scaler object-storage-server --scheduler tcp://127.0.0.1:2345',
    'scaler object-storage-server tcp://10.0.0.5:55555 --memory-limit-bytes 34359738368',
  ],
  hasLog: true,
  start: async ({ positionals: [given], values, typed, logger }) => {
    const options = optionsIn(SERVER_OPTIONS, values)
    const { name, port, ...rest } = options
    if (given !== undefined && (typed.has('name') || typed.has('port'))) {
      throw new ConfigError('give either an ADDRESS or --name and --port, not both')
    }
    const { addressAt, LEAVE_MS, ObjectStorageServer } =
      await import('../../scheduler/object-storage-server.js')
    const { schedulerAddress } = options
    const address = given ?? addressAt(name ?? DEFAULT_HOST, port ?? DEFAULT_PORT, schedulerAddress)
    const server = await ObjectStorageServer.start({ ...rest, address, logger })
    logger.info(`Object storage server: address is ${server.address}`, { address: server.address })
    return { ended: server.ended, stop: () => server.close(), orphanGraceMs: LEAVE_MS + 5_000 }
  },
}

#!/usr/bin/env node
// The command scaler_cluster: the workers of one machine, until they are told to end.

import { lookup } from 'node:dns/promises'
import { availableParallelism } from 'node:os'
import { ConfigError } from '../base/errors.js'
import { Agent } from '../worker/agent.js'
import { newCommand, numberArgument, runCommand } from './run-command.js'

/** The command line, as the parser gives it. */
interface Options {
  readonly numOfWorkers: number
  readonly workerNames?: string
  readonly heartbeatInterval: number
  readonly deathTimeoutSeconds: number
  readonly drainSeconds: number
  readonly cancelGraceSeconds: number
  readonly spareProcessors: number
  readonly objectCacheBytes: number
}

const MAX_WORKERS = 4_096
const DEFAULT_WORKERS = Math.max(1, availableParallelism() - 1)

const command = newCommand('scaler_cluster', 'Run workers that take tasks from a scheduler.', [
  'scaler_cluster -n 4 tcp://127.0.0.1:2345',
  'scaler_cluster -n 2 --worker-names left,right tcp://scheduler.example:2345',
])
  .argument('<address>', 'the address of the scheduler: tcp://host:port or ipc:///path')
  .option(
    '-n, --num-of-workers <number>',
    'how many workers; one core is left for everything else',
    numberArgument(1, MAX_WORKERS),
    DEFAULT_WORKERS,
  )
  .option('--worker-names <names>', "one per worker, by commas (-wn; default: the host's name)")
  .option(
    '--heartbeat-interval <seconds>',
    'how often the workers say that they live (-hi)',
    numberArgument(0.01, 3_600, 'fraction'),
    2,
  )
  .option(
    '--death-timeout-seconds <seconds>',
    'end when the scheduler has been silent for so long (-ds)',
    numberArgument(1, 1_000_000, 'fraction'),
    300,
  )
  .option(
    '--drain-seconds <seconds>',
    'when told to end, wait so long for tasks that run; what has not begun runs elsewhere at once',
    numberArgument(0, 3_600, 'fraction'),
    20,
  )
  .option(
    '--cancel-grace-seconds <seconds>',
    'a cancelled task that listens to its abort signal may take so long to end',
    numberArgument(0, 3_600, 'fraction'),
    1,
  )
  .option(
    '--spare-processors <number>',
    'processes that wait to replace one that was killed; each takes some 50 MB',
    numberArgument(0, 16),
    1,
  )
  .option(
    '--object-cache-bytes <bytes>',
    'so much of objects each worker keeps that none of its tasks needs',
    numberArgument(0, 2 ** 40),
    1024 ** 3,
  )

await runCommand<Options>({
  command,
  shortFlags: new Map([
    ['-wn', '--worker-names'],
    ['-hi', '--heartbeat-interval'],
    ['-ds', '--death-timeout-seconds'],
    ['-ll', '--logging-level'],
  ]),
  start: async (address, options, logger) => {
    const workers = options.numOfWorkers
    const names = workerNames(options)
    await checkHost(address)
    const agent = await Agent.start({
      address,
      workers,
      names,
      heartbeatIntervalMs: Math.round(options.heartbeatInterval * 1_000),
      deathTimeoutMs: Math.round(options.deathTimeoutSeconds * 1_000),
      drainMs: Math.round(options.drainSeconds * 1_000),
      cancelGraceMs: Math.round(options.cancelGraceSeconds * 1_000),
      spareProcessors: options.spareProcessors,
      objectCacheBytes: options.objectCacheBytes,
      logger,
    })
    logger.info(`Cluster: waiting for the scheduler at ${address}`, { address })
    const onReady = (): void => logger.info(`Cluster: ${workers} workers are ready`, { workers })
    // A failure to get ready ends the agent, which says why.
    agent.ready.then(onReady, () => {})
    return { ended: agent.ended, stop: (isUrgent) => agent.stop({ isUrgent }) }
  },
})

function workerNames({ workerNames: text, numOfWorkers }: Options): string[] | undefined {
  if (text === undefined) return undefined
  const names = text.split(',').map((name) => name.trim())
  if (names.length === numOfWorkers) return names
  const counts = `${names.length} names for ${numOfWorkers} workers`
  throw new ConfigError(`option --worker-names: expected one name per worker, got ${counts}`)
}

/**
 * Fails at once for a host name that does not exist. A name server that cannot answer right now
 * is no reason to give up: the connection is tried again.
 */
async function checkHost(address: string): Promise<void> {
  const host = /^tcp:\/\/([a-z0-9_.-]+):\d+$/i.exec(address)?.[1]
  if (host === undefined) return
  try {
    await lookup(host)
  } catch (error) {
    const isUnknown = (error as NodeJS.ErrnoException).code === 'ENOTFOUND'
    if (isUnknown) throw new Error(`there is no host named ${host}`, { cause: error })
  }
}

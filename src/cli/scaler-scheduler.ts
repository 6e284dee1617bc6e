#!/usr/bin/env node
// The command scaler_scheduler: one scheduler, until it is told to end.

import { Scheduler } from '../scheduler/scheduler.js'
import { newCommand, numberArgument, runCommand } from './run-command.js'

/** The command line, as the parser gives it. */
interface Options {
  readonly monitorAddress?: string
  readonly protected?: boolean
  readonly maxNumberOfTasksWaiting?: number
  readonly clientTimeoutSeconds?: number
  readonly workerTimeoutSeconds?: number
  readonly workerSilenceSeconds?: number
  readonly loadBalanceSeconds?: number
  readonly perWorkerQueueSize?: number
}

const MAX_TIMEOUT_SECONDS = 86_400
const timeout = numberArgument(0.1, MAX_TIMEOUT_SECONDS, 'fraction')

const command = newCommand('scaler_scheduler', 'Route tasks from clients to workers.', [
  'scaler_scheduler tcp://127.0.0.1:2345',
  "scaler_scheduler 'tcp://*:2345' --monitor-address tcp://127.0.0.1:2347 --protected",
])
  .argument('<address>', 'where clients and workers connect: tcp://host:port or ipc:///path')
  .option('--monitor-address <address>', 'where monitors connect (-ma; default: port + 2)')
  .option('-p, --protected', 'clients may not shut the cluster down')
  .option(
    '--max-number-of-tasks-waiting <number>',
    'with so many beyond what the workers hold, refuse new tasks; -1 = never (-mt; default: -1)',
    numberArgument(-1, 2 ** 31),
  )
  .option(
    '--client-timeout-seconds <seconds>',
    'a client that is silent for longer is gone (-ct; default: 60)',
    timeout,
  )
  .option(
    '--worker-timeout-seconds <seconds>',
    'a worker that is silent for longer is gone (-wt; default: 60)',
    timeout,
  )
  .option(
    '--worker-silence-seconds <seconds>',
    'so soon a silent worker of this version is gone, unless it was often silent (default: 5)',
    timeout,
  )
  .option(
    '--load-balance-seconds <seconds>',
    'a worker that is stuck for so long gives tasks to idle ones; 0 = never (-ls; default: 0.1)',
    numberArgument(0, MAX_TIMEOUT_SECONDS, 'fraction'),
  )
  .option(
    '--per-worker-queue-size <number>',
    'most tasks that one worker holds (-qs; default: 1000)',
    numberArgument(1, 1_000_000),
  )

await runCommand<Options>({
  command,
  shortFlags: new Map([
    ['-ma', '--monitor-address'],
    ['-mt', '--max-number-of-tasks-waiting'],
    ['-ct', '--client-timeout-seconds'],
    ['-wt', '--worker-timeout-seconds'],
    ['-ls', '--load-balance-seconds'],
    ['-qs', '--per-worker-queue-size'],
    ['-ll', '--logging-level'],
  ]),
  start: async (address, options, logger) => {
    const scheduler = await Scheduler.start({
      address,
      monitorAddress: options.monitorAddress,
      protected: options.protected,
      maxTasksWaiting: options.maxNumberOfTasksWaiting,
      clientTimeoutMs: milliseconds(options.clientTimeoutSeconds),
      workerTimeoutMs: milliseconds(options.workerTimeoutSeconds),
      workerSilenceMs: milliseconds(options.workerSilenceSeconds),
      loadBalanceMs: milliseconds(options.loadBalanceSeconds),
      perWorkerQueueSize: options.perWorkerQueueSize,
      logger,
    })
    const { monitorAddress } = scheduler
    logger.info(`Scheduler: address is ${scheduler.address}`, { address: scheduler.address })
    logger.info(`Scheduler: monitor address is ${monitorAddress}`, { monitorAddress })
    return { ended: scheduler.ended, stop: () => scheduler.close() }
  },
})

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000)
}

// How long the turns of a scheduler's event loop are, in processor time of its thread, so that what
// else runs on the machine does not count.

import type { Sample } from './benchmark.js'
import { BenchCluster } from './cluster.js'
import { threadMs } from './process-cost.js'

const METER = new URL('turn-meter.js', import.meta.url).href

/** Counts the turns of the scheduler while `action` runs. */
type Count = (action: () => Promise<void>) => Promise<void>

/**
 * Starts a scheduler with these arguments for `run`. Resolves to its longest turn and the number of
 * turns of more than 10 ms while `run` counted. `during`: added to the names of the two.
 */
export async function measureTurns(
  during: string,
  args: readonly string[],
  run: (cluster: BenchCluster, count: Count) => Promise<void>,
): Promise<readonly Sample[]> {
  const told = threadMs() === undefined ? undefined : await longest(args, run)
  const note = told === undefined ? { note: 'needs Node 23.9' } : {}
  const [longestMs, long] = told ?? []
  return [
    { name: `scheduler's longest turn${during}, CPU`, unit: 'ms', value: longestMs, ...note },
    { name: `turns of more than 10 ms${during}`, unit: '', value: long, ...note },
  ]
}

async function longest(
  args: readonly string[],
  run: (cluster: BenchCluster, count: Count) => Promise<void>,
): Promise<readonly number[]> {
  const cluster = await BenchCluster.start(['--import', METER], args)
  try {
    let counted: readonly number[] = []
    await run(cluster, async (action) => {
      process.kill(cluster.schedulerPid, 'SIGUSR2')
      await action()
      const told = cluster.schedulerTells('longestTurnMs')
      process.kill(cluster.schedulerPid, 'SIGUSR2')
      const { longestTurnMs, longTurns } = await told
      counted = [Number(longestTurnMs), Number(longTurns)]
    })
    return counted
  } finally {
    await cluster.stop()
  }
}

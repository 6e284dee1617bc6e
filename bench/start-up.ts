// How quick everything is at first: a program that starts its own cluster, its first tasks, a
// command, a processor that replaces one that was killed. And what the processes of an idle cluster
// hold in memory.

import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { timeMs, inputs, type Benchmark, type Sample } from './benchmark.js'
import { commandPath, withClient } from './cluster.js'
import { median, quantile } from './figures.js'
import { childrenOf, hasProcessCost, proportionalBytes, residentBytes } from './process-cost.js'

const PROGRAM = fileURLToPath(new URL('start-up-program.js', import.meta.url))
const ROUND_TRIPS = 1_000
const MAP_TASKS = 10_000
/** Each start is next to one of a bare Node: a machine is not equally quick all the time. */
const STARTS = 5

/** The medians of some starts, in all and over those of a bare Node. */
interface StartTimes {
  readonly allMs: number
  readonly overMs: number
}

/** What a user waits for. */
export const startUp: Benchmark = {
  name: 'start-up',
  run: async ({ workers, tasks }) => {
    const starts = tasks < ROUND_TRIPS ? 1 : STARTS
    const measured = async (start: () => Promise<number>): Promise<StartTimes> => {
      const all: number[] = []
      const over: number[] = []
      for (let index = 0; index < starts; index += 1) {
        const bare = await exitMs(['-e', '0'])
        const tookMs = await start()
        all.push(tookMs)
        over.push(tookMs - bare)
      }
      return { allMs: median(all), overMs: median(over) }
    }
    const first = await measured(async () => (await program('first', workers)).tookMs)
    const help = await measured(() => exitMs([commandPath('scaler.js'), '--help']))
    const trips = (await program('trips', workers, Math.min(ROUND_TRIPS, tasks))).times
    const mapTasks = Math.min(MAP_TASKS, tasks)
    const map = (await program('map', workers, mapTasks)).times[0] ?? NaN
    return [
      ms('start to first result', first.allMs),
      ms('start to first result, over a bare Node', first.overMs),
      ms('first round trips, median', median(trips)),
      ms('first round trips, p99', quantile(trips, 0.99)),
      { name: 'first map, no-op', unit: 'tasks/s', value: (mapTasks / map) * 1_000 },
      ms('scaler --help, over a bare Node', help.overMs),
      ms(
        'first task after a crash of the only processor',
        (await program('crash', 1)).times[0] ?? NaN,
      ),
    ]
  },
}

const IDLE_MS = 3_000
const REST_MS = 30_000
const LOAD_TASKS = 1_000_000
const noop = <T>(input: T): T => input

/** What an idle cluster holds, and what it still holds some time after a load. */
export const memory: Benchmark = {
  name: 'memory',
  run: async ({ workers, tasks }) => {
    if (!hasProcessCost) {
      const note = 'needs /proc (Linux)'
      return [{ name: 'PSS of an idle scheduler', unit: 'MB', value: undefined, note }]
    }
    return withClient(workers, async (client, cluster) => {
      await wait(IDLE_MS)
      const { schedulerPid: scheduler, agentPid: agent } = cluster
      const parts = { scheduler, agent }
      const idle = Object.entries(parts).map(([name, pid]) => ({
        name,
        pid,
        rss: residentBytes(pid),
      }))
      const pss = median(childrenOf(agent).map(proportionalBytes))
      const samples: Sample[] = [
        ...idle.map(({ name, pid }) => mb(`PSS of an idle ${name}`, proportionalBytes(pid))),
        mb('PSS of an idle worker', pss),
      ]
      await client.map(noop, inputs(Math.min(LOAD_TASKS, tasks * 10), 0))
      await wait(REST_MS)
      for (const { name, pid, rss } of idle) {
        const value = residentBytes(pid) / rss
        samples.push({ name: `RSS of the ${name} 30 s after a load, over idle`, unit: '', value })
      }
      return samples
    })
  },
}

function ms(name: string, value: number): Sample {
  return { name, unit: 'ms', value }
}

function mb(name: string, bytes: number): Sample {
  return { name, unit: 'MB', value: bytes / 1e6 }
}

/** How long a program of Node takes from its start to its exit. */
function exitMs(args: readonly string[]): Promise<number> {
  return timeMs(() => once(spawn(process.execPath, args, { stdio: 'ignore' }), 'exit'))
}

/** Runs a program of `start-up-program.ts`. `tookMs`: from its start to its message. */
async function program(
  kind: string,
  workers: number,
  tasks = 0,
): Promise<{ readonly tookMs: number; readonly times: readonly number[] }> {
  let times: readonly number[] = []
  let exited: Promise<unknown> = Promise.resolve()
  const tookMs = await timeMs(async () => {
    const child = fork(PROGRAM, [kind, String(workers), String(tasks)])
    exited = once(child, 'exit')
    const [message] = (await Promise.race([once(child, 'message'), exited])) as [unknown]
    if (!Array.isArray(message)) throw new Error(`the program ${kind} has failed`)
    times = message as readonly number[]
  })
  await exited
  return { tookMs, times }
}

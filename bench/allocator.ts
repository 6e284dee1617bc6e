// What a decision of an allocator costs with 10,000 workers, each a unit of its own, half of them
// busy. Only the machine, in this process: CPU time.

import { AllocatorMachine } from '#src/core/allocate/allocator-machine.js'
import type {
  AllocatorCoreOptions,
  AllocatorEvent,
  ListedUnit,
  SeenWorker,
} from '#src/core/allocate/events.js'
import type { Benchmark } from './benchmark.js'

const WORKERS = 10_000
const KINDS = 20
const ROUNDS = 200

const OPTIONS: AllocatorCoreOptions = {
  name: 'a',
  provider: 'slurm',
  offers: new Map([['gpu', 2]]),
  runtime: 'javascript',
  minWorkers: 0,
  maxWorkers: 100_000,
  workersPerUnit: 1,
  backlogMs: 30_000,
  idleMs: 60_000,
  maxQueuedUnits: 20,
  startTimeoutMs: 600_000,
  isDryRun: false,
}

/** CPU time of a decision, and of a list of all units. */
export const allocator: Benchmark = {
  name: 'allocator',
  run: () => {
    const machine = new AllocatorMachine(OPTIONS)
    const keys = Array.from({ length: WORKERS }, (_, at) => `4711_${at}`)
    const units = keys.map((key): ListedUnit => ({ id: key, key, state: 'running' }))
    const workers = keys.map((key, at): SeenWorker => {
      const state = { isIdle: at % 2 === 0, isLeaving: false, endsInMs: 3_600_000 }
      const offers = OPTIONS.offers
      return { id: `w${at}`, allocation: `a/${key}`, runtime: 'javascript', offers, ...state }
    })
    // No need for more workers: an allocator with enough of them decides about all.
    const waiting = Array.from({ length: KINDS }, (_, at) => {
      const work = {
        tasks: 1_000,
        seconds: 1,
        runningSeconds: 0,
        waitedSeconds: 1,
        runtime: 'javascript',
      } as const
      return { ...work, needs: at % 2 === 0 ? 'gpu=1' : '' }
    })
    const viewed: AllocatorEvent = { type: 'viewed', view: { waiting, workers, allocators: [] } }
    let now = 0
    const msOf = (next: () => AllocatorEvent): number => {
      const before = process.cpuUsage()
      for (let round = 0; round < ROUNDS; round += 1) {
        now += 1_000
        machine.handle(next(), now, () => {})
      }
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000 / ROUNDS
    }
    const listed = (): AllocatorEvent => ({ type: 'listed', units, begunAt: now })
    const what = `allocator, ${WORKERS.toLocaleString('en')} workers`
    const list = msOf(listed)
    const decision = msOf(() => viewed)
    return Promise.resolve([
      { name: `decision of an ${what}, CPU`, unit: 'ms', value: decision },
      { name: `list of units of an ${what}, CPU`, unit: 'ms', value: list },
    ])
  },
}

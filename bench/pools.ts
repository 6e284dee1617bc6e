// The in-process thread pools that our users migrate from, with the same no-op: no network, no
// other process, one machine only. And the limit: the best that Node allows with several processes.

import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import workerpool from 'workerpool'
import { inputs, timeMs, type Benchmark } from './benchmark.js'
import { measureLimit } from './limit/limit.js'

/** The size of a Task and a TaskResult message of a no-op, without payload. */
const TASK_BYTES = 200
const RESULT_BYTES = 150
/** Run before the measurement: threads and compilers warm up. */
const WARM_UP_TASKS = 5_000

/** Five processes that only pass messages of the same size. */
export const limit: Benchmark = {
  name: 'limit',
  run: async ({ workers, tasks, payloadBytes }) => {
    const value = await measureLimit({
      processors: workers,
      tasks,
      taskBytes: TASK_BYTES + payloadBytes,
      resultBytes: RESULT_BYTES + payloadBytes,
    })
    return [{ name: 'limit', unit: 'tasks/s', value }]
  },
}

/** Piscina, one thread per worker. */
export const piscina: Benchmark = {
  name: 'piscina',
  run: async ({ workers, tasks, payloadBytes }) => {
    const filename = fileURLToPath(new URL('./pool-worker.js', import.meta.url))
    const pool = new Piscina({ filename, name: 'noop', minThreads: workers, maxThreads: workers })
    const runAll = (count: number): Promise<unknown> =>
      Promise.all(Array.from(inputs(count, payloadBytes), (input) => pool.run(input)))
    try {
      await runAll(WARM_UP_TASKS)
      const tookMs = await timeMs(() => runAll(tasks))
      return [{ name: 'piscina, no-op', unit: 'tasks/s', value: (tasks / tookMs) * 1_000 }]
    } finally {
      await pool.destroy()
    }
  },
}

/** workerpool, one thread per worker. */
export const workerPool: Benchmark = {
  name: 'workerpool',
  run: async ({ workers, tasks, payloadBytes }) => {
    const program = fileURLToPath(new URL('./workerpool-worker.js', import.meta.url))
    const pool = workerpool.pool(program, {
      minWorkers: workers,
      maxWorkers: workers,
      workerType: 'thread',
    })
    const runAll = async (count: number): Promise<unknown> =>
      Promise.all(Array.from(inputs(count, payloadBytes), (input) => pool.exec('noop', [input])))
    try {
      await runAll(WARM_UP_TASKS)
      const tookMs = await timeMs(() => runAll(tasks))
      return [{ name: 'workerpool, no-op', unit: 'tasks/s', value: (tasks / tookMs) * 1_000 }]
    } finally {
      await pool.terminate()
    }
  },
}

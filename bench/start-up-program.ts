// A fresh program with a cluster of its own, which tells its parent how long its first tasks take:
// `first`: until the first result; `trips`: each of the first round trips; `map`: the first map;
// `crash`: a task after one that has killed its processor.

import { Client } from 'scaler-ts'
import { timeMs } from './benchmark.js'

const [, , kind = '', workers = '2', tasks = '0'] = process.argv
const count = Number(tasks)
const noop = <T>(input: T): T => input

const client = await Client.local({ workers: Number(workers) })
process.send?.(await timesMs())
await client.close()
process.disconnect()

async function timesMs(): Promise<readonly number[]> {
  switch (kind) {
    case 'first':
      await client.submit(noop, 1)
      return []
    case 'trips': {
      const times: number[] = []
      for (let index = 0; index < count; index += 1) {
        times.push(await timeMs(() => client.submit(noop, index)))
      }
      return times
    }
    case 'map': {
      const inputs = Array.from({ length: count }, (_, index) => index)
      return [await timeMs(() => client.map(noop, inputs))]
    }
    case 'crash': {
      await client.submit(noop, 1)
      await client.submit(() => process.kill(process.pid, 'SIGKILL')).catch(() => {})
      return [await timeMs(() => client.submit(noop, 2))]
    }
    default:
      throw new Error(`unknown kind ${kind}`)
  }
}

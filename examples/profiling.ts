// What a task cost: time, CPU time, memory. Run it:
// `npm run build && node build/examples/profiling.js`.

import { Client } from 'scaler-ts'

/** Fills some memory, and counts. */
const calculate = (megabytes: number): number => {
  const filled = new Uint8Array(megabytes * 1024 ** 2).fill(1)
  return filled.reduce((sum, value) => sum + value, 0)
}

await using client = await Client.local({ workers: 1 })

// All tasks of this view are profiled. The client option `profiling: true` does the same for all
// tasks of a client.
const future = client.with({ profiling: true }).submit(calculate, 64)
console.log(await future) // 67108864

// Available once the future has settled.
const { profile } = future
if (profile === undefined) throw new Error('a finished task has a profile')
console.log(`duration: ${profile.durationMs} ms`)
console.log(`CPU time: ${profile.cpuTimeMs} ms`)
console.log(`peak memory: ${((profile.peakMemoryBytes ?? 0) / 1024 ** 2).toFixed(0)} MiB`)
console.log(`worker: ${profile.worker}`)

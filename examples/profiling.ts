// What a task has cost: time, processor time, memory. Run it:
// `npm run build && node build/examples/profiling.js`.

import { Client } from 'scaler-ts'

/** Fills some memory, and counts. */
const calculate = (megabytes: number): number => {
  const filled = new Uint8Array(megabytes * 1024 ** 2).fill(1)
  return filled.reduce((sum, value) => sum + value, 0)
}

await using client = await Client.local({ workers: 1 })

// All tasks of this view are profiled; `profiling: true` among the options of a client does the
// same for all that it submits.
const future = client.with({ profiling: true }).submit(calculate, 64)
console.log(await future) // 67108864

// There once the future has ended.
const { profile } = future
if (profile === undefined) throw new Error('a task that has ended has a profile')
console.log(`it took ${profile.durationMs} ms`)
console.log(`of which the processor worked ${profile.cpuTimeMs} ms,`)
console.log(`and needed ${((profile.peakMemoryBytes ?? 0) / 1024 ** 2).toFixed(0)} MiB`)
console.log(`on worker ${profile.worker}`)

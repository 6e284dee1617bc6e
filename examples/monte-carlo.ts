// Estimates π from random points in a square: how many of them are inside the circle? Computes a
// billion points in a hundred tasks, and prints the speed-up over one process. Run it:
// `npm run build && node build/examples/monte-carlo.js`. If that takes too long, add the number
// of points.

import { availableParallelism } from 'node:os'
import { Client } from 'scaler-ts'

const TASKS = 100
/** One process runs only this many; its time for all tasks is extrapolated from them. */
const SAMPLE_TASKS = 5

/** How many points are inside the circle. Each seed gives a different random sequence. */
function countHits(seed: number, points: number): number {
  let state = Math.imul(seed + 1, 0x9e3779b1)
  const random = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  let hits = 0
  for (let point = 0; point < points; point += 1) {
    const x = random()
    const y = random()
    if (x * x + y * y < 1) hits += 1
  }
  return hits
}

const total = Number(process.argv[2] ?? 1e9)
if (!Number.isSafeInteger(total) || total < TASKS) {
  console.error(`usage: monte-carlo [points], at least ${TASKS}`)
  process.exit(2)
}
const points = Math.floor(total / TASKS)
const seeds = Array.from({ length: TASKS }, (_, seed) => seed)
const workers = availableParallelism()

await using client = await Client.local({ workers })

const start = performance.now()
const hits = await client.map((seed: number) => countHits(seed, points), seeds)
const seconds = (performance.now() - start) / 1000

const aloneStart = performance.now()
for (const seed of seeds.slice(0, SAMPLE_TASKS)) countHits(seed, points)
const aloneSeconds = ((performance.now() - aloneStart) / 1000) * (TASKS / SAMPLE_TASKS)

const estimate = (4 * hits.reduce((sum, count) => sum + count, 0)) / (points * TASKS)
console.log(`${points * TASKS} points in ${TASKS} tasks on ${workers} workers`)
console.log(
  `π is about ${estimate.toFixed(6)}, which is off by ${Math.abs(estimate - Math.PI).toFixed(6)}`,
)
console.log(`${seconds.toFixed(2)} s on the cluster`)
console.log(
  `${aloneSeconds.toFixed(2)} s in one process, extrapolated from ${SAMPLE_TASKS} of the tasks`,
)
console.log(`speed-up ${(aloneSeconds / seconds).toFixed(2)}`)

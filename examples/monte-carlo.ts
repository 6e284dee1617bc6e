// π by throwing points at a square: how many of them hit the circle inside? A thousand million
// points in a hundred tasks, and how much faster that is than one process. Run it:
// `npm run build && node build/examples/monte-carlo.js`, with the number of points behind it if
// that takes too long.

import { availableParallelism } from 'node:os'
import { Client } from 'scaler-ts'

const TASKS = 100
/** One process alone does so many, from which its time for all is computed. */
const SAMPLE_TASKS = 5

/** How many of the points hit. Each seed gives another sequence of random numbers. */
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
  `${aloneSeconds.toFixed(2)} s in one process, computed from ${SAMPLE_TASKS} of the tasks`,
)
console.log(`speed-up ${(aloneSeconds / seconds).toFixed(2)}`)

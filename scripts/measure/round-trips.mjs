// A program of `npm run measure`: the median time of the first 1,000 round trips of a new embedded
// cluster, in milliseconds, as the package has it. Prints one number.

import { Client } from 'scaler-ts'
import { medianOf } from './median.mjs'

const ROUND_TRIPS = 1_000

const noop = (input) => input

const client = await Client.local({ workers: 1 })
const times = []
for (let count = 0; count < ROUND_TRIPS; count += 1) {
  const start = performance.now()
  await client.submit(noop, count)
  times.push(performance.now() - start)
}
await client.close()
console.log(medianOf(times))

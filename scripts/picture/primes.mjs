// The program of the picture: counts the primes below 10,000,000, of which there are 664,579.

import { Client } from 'scaler-ts'

const STEP = 50_000

function countPrimes(from) {
  let count = 0
  for (let n = Math.max(2, from); n < from + STEP; n += 1) {
    let divisor = 2
    while (divisor * divisor <= n && n % divisor !== 0) divisor += 1
    if (divisor * divisor > n) count += 1
  }
  return count
}

const client = await Client.local({ workers: 4 })
const starts = Array.from({ length: 200 }, (_, index) => index * STEP)
const counts = await client.map(countPrimes, starts, { progress: true })
const sum = counts.reduce((one, other) => one + other)
console.log(`${sum.toLocaleString('en-US')} primes below 10,000,000`)
await client.close()

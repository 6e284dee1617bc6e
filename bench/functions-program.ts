// The cost of functions for their client, measured in a separate process, since much of it occurs
// only once. Prints a JSON object of figures. Nothing is listening: `submit` does all of its work
// immediately, and unfinished tasks are cancelled at the end.

import { Client, defaultSerializer } from 'scaler-ts'
import { scale } from './functions-module.js'
import { median } from './figures.js'

const AWAITS = 1_000_000
const RESOLVED = Promise.resolve()
const SUBMITS = 10_000
const HOT_ROUNDS = 15
const HOT_CALLS = 3_000_000

const rate = 0.03
const numbers = Array.from({ length: 200_000 }, (_, index) => index / 7)
let level = 1

const warm = (years: number): number => rate + years
const discount = (years: number): number => Math.exp(-rate * years)
const lookup = (index: number): number => numbers[index] ?? 0
const raise = (): number => (level += 1)
const levelled = (value: number): number => value * level
const weight = (index: number): number => (index & 7) * rate
const hot = (calls: number): number => {
  let sum = 0
  for (let index = 0; index < calls; index += 1) sum += weight(index) * rate
  return sum
}

async function awaitNs(): Promise<number> {
  const samples: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const start = performance.now()
    for (let index = 0; index < AWAITS; index += 1) await RESOLVED
    samples.push(((performance.now() - start) * 1e6) / AWAITS)
  }
  return median(samples)
}

function tookMs(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

/** Median of the ratios of consecutive rounds: a disturbance affects both rounds alike. */
function hotRatio(): number {
  const shipped = defaultSerializer.deserialize(defaultSerializer.serialize(hot)) as typeof hot
  const ratios: number[] = []
  for (let round = 0; round < HOT_ROUNDS; round += 1) {
    const ownMs = tookMs(() => hot(HOT_CALLS))
    const shippedMs = tookMs(() => shipped(HOT_CALLS))
    if (round > 2) ratios.push(shippedMs / ownMs)
  }
  return median(ratios)
}

async function main(): Promise<void> {
  const client = new Client('tcp://127.0.0.1:1')
  const submit = (fn: (value: number) => unknown): void => {
    void client.submit(fn, 1).catch(() => {})
  }
  const each = (fn: () => void): number =>
    (tookMs(() => {
      for (let index = 0; index < SUBMITS; index += 1) fn()
    }) *
      1_000) /
    SUBMITS
  const before = await awaitNs()
  const figures: Record<string, number> = {}
  figures['first function, inspector started (ms)'] = tookMs(() => submit(warm))
  figures['first function of a module (ms)'] = tookMs(() => submit(scale))
  figures['first submit of a closure (ms)'] = tookMs(() => submit(discount))
  each(() => submit(discount))
  figures['again, unchanged (us)'] = each(() => submit(discount))
  figures['again, variable that may change (us)'] = each(() => submit(levelled))
  figures['a new closure each time (us)'] = each(() => submit((value) => value + rate))
  figures['200,000 numbers, first (ms)'] = tookMs(() => submit(lookup))
  figures['200,000 numbers, again (ms)'] = tookMs(() => submit(lookup))
  numbers[100_000] = raise()
  figures['200,000 numbers, one changed (ms)'] = tookMs(() => submit(lookup))
  figures['await after : before (times)'] = (await awaitNs()) / before
  figures['hot loop, shipped : original (times)'] = hotRatio()
  await client.disconnect()
  console.log(JSON.stringify(figures))
}

await main()

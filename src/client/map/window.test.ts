import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { MapWindow, WorkerCount } from './window.js'

/** A loop over results, without any at hand. */
const LOOP = { use: 'iterate', isAwaited: false, readyCount: 0 } as const

function workersOf(count: number | undefined): WorkerCount {
  const workers = new WorkerCount(
    () => {},
    () => 0,
  )
  if (count !== undefined) workers.onCount(count)
  return workers
}

/** The profiles of tasks that took this long each, as in runs. */
function profiles(count: number, durationMs: number): Uint8Array {
  const bytes = Buffer.alloc(4 * count)
  for (let at = 0; at < count; at += 1) bytes.writeFloatBE(durationMs / 1_000, 4 * at)
  return bytes
}

function measure(window: MapWindow, count: number, durationMs: number): void {
  window.measure(profiles(count, durationMs), count)
}

/** The most tasks that may be in flight. */
function sizeOf(window: MapWindow, results: Parameters<MapWindow['roomFor']>[1] = LOOP): number {
  let size = 0
  while (size < 100_000 && window.roomFor(size, results) > 0) size += 1
  return size
}

test('a loop begins with four tasks for each worker', () => {
  assert.equal(sizeOf(new MapWindow(undefined, workersOf(1))), 4)
  assert.equal(sizeOf(new MapWindow(undefined, workersOf(1_000))), 4_000)
})

test('so does a map of which nobody knows yet how its results are used', () => {
  const window = new MapWindow(undefined, workersOf(2))
  assert.equal(sizeOf(window, { ...LOOP, use: 'none' }), 8)
})

test('four workers are assumed while none is known', () => {
  assert.equal(sizeOf(new MapWindow(undefined, workersOf(undefined))), 16)
  assert.equal(sizeOf(new MapWindow(undefined, workersOf(0))), 16)
})

test('workers that join widen the window, without limit', () => {
  const workers = workersOf(1)
  const window = new MapWindow(undefined, workers)
  measure(window, 8, 1_000)
  assert.equal(sizeOf(window), 4)
  workers.onCount(5_000)
  assert.equal(sizeOf(window), 20_000)
})

test('the work ahead of a loop is 50 ms for each worker', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 1_000, 1)
  assert.ok(Math.abs(sizeOf(window) - 100) <= 1)
})

test('of slow tasks it is four for each worker', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 1_000, 1_000)
  assert.equal(sizeOf(window), 8)
})

test('of short tasks it is 10,000', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 10_000, 0.001)
  assert.equal(sizeOf(window), 10_000)
})

test('a few short tasks do not prove that all are short', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 1, 0.001)
  assert.equal(sizeOf(window), 12)
  let turns = 0
  for (; sizeOf(window) < 10_000; turns += 1) measure(window, sizeOf(window), 0.001)
  assert.ok(turns <= 6, `${turns} rounds`)
})

test('the first run of a function, which takes long, is soon forgotten', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 1, 20)
  for (let round = 0; round < 5; round += 1) measure(window, sizeOf(window), 0.001)
  assert.ok(sizeOf(window) > 1_000)
})

test('a function that becomes slow shrinks the window', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 10_000, 0.001)
  measure(window, 2, 1_000)
  assert.equal(sizeOf(window), 8)
})

test('results without durations count as those of short tasks', () => {
  const window = new MapWindow(undefined, workersOf(2))
  window.measure(NO_BYTES, 5_000)
  assert.equal(sizeOf(window), 10_000)
})

test('results that a loop has not taken count', () => {
  const window = new MapWindow(undefined, workersOf(2))
  assert.equal(sizeOf(window, { ...LOOP, readyCount: 3 }), 5)
})

test('those behind the one that it waits for do not, up to 10,000', () => {
  const window = new MapWindow(undefined, workersOf(2))
  assert.equal(sizeOf(window, { ...LOOP, isAwaited: true, readyCount: 5_000 }), 8)
  assert.equal(sizeOf(window, { ...LOOP, isAwaited: true, readyCount: 9_997 }), 3)
})

test('an awaited map has up to 10,000 tasks in flight, whatever they take', () => {
  const window = new MapWindow(undefined, workersOf(2))
  measure(window, 100, 1_000)
  assert.equal(sizeOf(window, { use: 'gather', isAwaited: false, readyCount: 50_000 }), 10_000)
  const large = new MapWindow(undefined, workersOf(5_000))
  assert.equal(sizeOf(large, { ...LOOP, use: 'gather' }), 20_000)
})

test('where the number of workers is never reported, 10,000 is the only limit', () => {
  const workers = workersOf(undefined)
  const window = new MapWindow(undefined, workers)
  workers.onOpen(false)
  assert.equal(sizeOf(window), 10_000)
})

test('a limit of the user is the only one, and needs no workers', () => {
  const workers = workersOf(2)
  const window = new MapWindow(7, workers)
  window.begin()
  measure(window, 100, 1_000)
  assert.equal(workers.isWanted, false)
  assert.equal(sizeOf(window), 7)
  assert.equal(sizeOf(window, { ...LOOP, isAwaited: true, readyCount: 3 }), 4)
  assert.equal(sizeOf(window, { use: 'gather', isAwaited: false, readyCount: 3 }), 7)
  window.end()
  assert.equal(sizeOf(new MapWindow(20_000, workers)), 20_000)
})

// Each way in which the system can fail, at each place where statistics are read.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { test, type TestContext } from 'node:test'
import { GarbageCollector, TaskMeter } from '../worker/processor/meter.js'
import { ChildSampler, ProcessSampler } from './process-statistics.js'
import { DescriptorUsage, ProcessUsage, Reading, RestWatch, returnMemory } from './process-usage.js'

const CODES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EACCES', 'EPERM', 'EAGAIN', 'EIO'] as const

/** The calls: the object that has each, and its method name. */
const CALLS = {
  'process.memoryUsage.rss': [process.memoryUsage, 'rss'],
  'process.memoryUsage': [process, 'memoryUsage'],
  'process.cpuUsage': [process, 'cpuUsage'],
  'process.resourceUsage': [process, 'resourceUsage'],
  'os.freemem': [os, 'freemem'],
  'fs.readFileSync': [fs, 'readFileSync'],
} as const satisfies Readonly<Record<string, readonly [object, string]>>

/** Where timers, heartbeats and tasks read statistics. */
const SITES: Readonly<Record<string, () => () => unknown>> = {
  'heartbeat of a process': () => {
    const sampler = new ProcessSampler()
    return () => sampler.sample()
  },
  'heartbeat about a processor': () => {
    const sampler = new ChildSampler(process.pid)
    return () => sampler.sample()
  },
  'profile of a task': () => {
    const meter = new TaskMeter()
    return () => {
      const task = {
        isProfiled: true,
        startedAt: 0,
        isMetered: false,
        hasPaused: false,
        cpuMs: 0,
        rssBytes: 0,
        maxRssBytes: 0,
      }
      meter.beginTurn()
      meter.start(task)
      meter.stop(task)
      return meter.profile(task, 0)
    }
  },
  'collection of garbage': () => {
    const collector = new GarbageCollector()
    return () => collector.collect(Infinity)
  },
  'samples of the guardian': () => {
    const usage = new ProcessUsage()
    return () => [usage.rssBytes, usage.usedBytes, usage.cpuMs, usage.peakRssBytes]
  },
}

function fail(t: TestContext, call: keyof typeof CALLS, code: string): void {
  const [owner, name] = CALLS[call] as readonly [Record<string, unknown>, string]
  const original = owner[name]
  const failing = (): never => {
    throw Object.assign(new Error(`${code}: injected, ${call}`), { code, syscall: call })
  }
  owner[name] = call === 'process.memoryUsage' ? Object.assign(failing, { rss: failing }) : failing
  syncBuiltinESMExports()
  t.after(() => {
    owner[name] = original
    syncBuiltinESMExports()
  })
}

for (const call of Object.keys(CALLS) as (keyof typeof CALLS)[]) {
  test(`statistics never fail: ${call}`, async (t) => {
    for (const code of CODES) {
      await t.test(code, (sub) => {
        const fresh = Object.values(SITES).map((open) => open())
        const used = Object.values(SITES).map((open) => open())
        for (const ask of used) ask()
        fail(sub, call, code)
        for (const ask of [...fresh, ...used]) assert.doesNotThrow(ask)
      })
    }
  })
}

test('an unavailable number keeps its last value, or is 0', () => {
  const answers = [undefined, 7, new Error('EMFILE'), undefined, 9]
  const reading = new Reading(() => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  })
  const values = [1, 2, 3, 4, 5].map(() => reading.value)
  assert.deepEqual(values, [0, 7, 7, 7, 9])
})

test('a heartbeat continues with the last known memory', (t) => {
  const usage = new ProcessUsage()
  const before = usage.rssBytes
  fail(t, 'process.memoryUsage.rss', 'EMFILE')
  assert.ok(before > 1_000_000)
  assert.equal(usage.rssBytes, before)
})

test('open file descriptors are counted where the kernel lists them', async (t) => {
  const usage = new DescriptorUsage()
  const before = await usage.read()
  if (process.platform !== 'linux') {
    assert.deepEqual(before, { open: undefined, max: undefined })
    return
  }
  const files = await Promise.all(Array.from({ length: 100 }, () => open('/dev/null')))
  t.after(() => Promise.all(files.map((file) => file.close())))
  const { open: count = 0, max = 0 } = await usage.read()
  assert.ok(Math.abs(count - (before.open ?? 0) - 100) < 10, `${before.open} and ${count}`)
  assert.ok(max > count)
})

// Memory at rest.

const MIB = 1024 ** 2

/** Looks once for each of these CPU times. Returns how often memory is to be given back. */
function rest(
  usedMs: readonly number[],
  { heapBytes = 10 * MIB, rssBytes }: { heapBytes?: number; rssBytes: readonly number[] },
): number {
  // What it has used to start is no load.
  const usage = { cpuMs: 2_000, rssBytes: 0, heapBytes }
  const watch = new RestWatch(usage)
  let count = 0
  for (const [at, ms] of usedMs.entries()) {
    usage.cpuMs += ms
    usage.rssBytes = rssBytes[at] ?? rssBytes.at(-1) ?? 0
    if (watch.look()) count += 1
  }
  return count
}

const START = [60, 0, 0, 0, 0, 0]
const LOAD = [900, 900, 2, 2, 2, 2, 2]
const fill = (times: number, bytes: number): number[] => new Array<number>(times).fill(bytes)

test('a process gives memory back once it has rested after a load', () => {
  const rssBytes = [...fill(START.length, 50 * MIB), 80 * MIB]
  assert.equal(rest([...START, ...LOAD.slice(0, -1)], { rssBytes }), 0, 'it has just begun to rest')
  assert.equal(rest([...START, ...LOAD], { rssBytes }), 1)
  assert.equal(rest([...START, ...LOAD, 0, 0, 0, 0, 0, 0], { rssBytes }), 1, 'once')
  assert.equal(rest([...START, ...LOAD, ...LOAD], { rssBytes }), 2, 'after each load')
  assert.equal(rest(LOAD, { rssBytes: [80 * MIB] }), 1, 'even if the load came at once')
})

test('it does not while it starts, works, has taken little, or still uses it', () => {
  const rssBytes = [50 * MIB]
  assert.equal(rest(START, { rssBytes }), 0, 'it has done little')
  assert.equal(rest([900, 900, 2, 2, 2, 100, 2, 2, 2, 2], { rssBytes }), 0, 'it works now and then')
  const grown = [...fill(START.length, 50 * MIB), 55 * MIB]
  assert.equal(rest([...START, ...LOAD], { rssBytes: grown }), 0, 'little')
  const large = { heapBytes: 300 * MIB, rssBytes: [400 * MIB] }
  assert.equal(rest(LOAD, large), 0, 'a collection could take long')
})

test('memory that was given back is no longer part of the heap', async () => {
  let garbage: unknown[] = Array.from({ length: 400_000 }, (_, at) => ({ at, next: [at] }))
  const before = process.memoryUsage().heapTotal
  assert.equal(garbage.length, 400_000)
  garbage = []
  returnMemory()
  while (process.memoryUsage().heapTotal > before - 20 * MIB) {
    await new Promise((resolve) => setImmediate(resolve))
  }
})

/**
 * The sizes of the young generation, in MiB, that a process with these options of Node passes
 * through while much of what it makes survives, until that no longer changes it.
 */
function youngSizes(options: readonly string[]): readonly number[] {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { saveMemory } from '${new URL('process-usage.js', import.meta.url)}'
    saveMemory()
    const sizes = new Set()
    let kept = []
    for (let turn = 0; turn < 300; turn += 1) {
      kept = Array.from({ length: 20_000 }, (_, at) => ({ at, next: kept[at]?.at }))
      await new Promise((resolve) => setImmediate(resolve))
      const space = getHeapSpaceStatistics().find((each) => each.space_name === 'new_space')
      sizes.add(space.space_size / 2 ** 20)
    }
    process.stdout.write(JSON.stringify([...sizes]))`
  const args = [...options, '--input-type=module', '--eval', program]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as number[]
}

test('the young generation of a process stays small, unless the user has chosen its size', () => {
  const own = Math.max(...youngSizes([]))
  const chosen = Math.max(...youngSizes(['--max-semi-space-size=16']))
  assert.ok(own < 12, `${own} MiB`)
  assert.ok(chosen > 12, `${chosen} MiB`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeProfileResult } from '../../wire/metadata.js'
import { TaskMeter, type Measured } from './meter.js'

function measured(isProfiled = true): Measured {
  return {
    isProfiled,
    startedAt: 0,
    isMetered: false,
    hasPaused: false,
    cpuMs: 0,
    rssBytes: 0,
    maxRssBytes: 0,
  }
}

/** Uses this much CPU time. */
function spin(ms: number): void {
  const used = (): number => process.cpuUsage().user + process.cpuUsage().system
  const end = used() + ms * 1000
  while (used() < end);
}

function profileOf(meter: TaskMeter, task: Measured, seenBytes = 0): [ms: number, cpuMs: number] {
  const profile = decodeProfileResult(meter.profile(task, seenBytes))
  return [(profile?.durationSeconds ?? 0) * 1000, (profile?.cpuSeconds ?? 0) * 1000]
}

test('a waiting task is not charged for CPU time of tasks that run meanwhile', () => {
  const meter = new TaskMeter()
  const [parent, child] = [measured(), measured()]
  meter.beginTurn()
  meter.start(parent)
  spin(20)
  meter.pause(parent)
  meter.beginTurn()
  meter.start(child)
  spin(60)
  meter.stop(child)
  assert.ok(profileOf(meter, child)[1] >= 59)
  meter.resume(parent)
  spin(20)
  meter.stop(parent)
  const [durationMs, cpuMs] = profileOf(meter, parent)
  assert.ok(durationMs >= 60, `${durationMs}`)
  assert.ok(cpuMs >= 39 && cpuMs < 80, `${cpuMs}`)
})

test('if several tasks run concurrently, CPU time is charged to the last', () => {
  const meter = new TaskMeter()
  const [first, second] = [measured(), measured()]
  meter.beginTurn()
  meter.start(first)
  meter.pause(first)
  meter.start(second)
  meter.resume(first)
  spin(30)
  meter.stop(first)
  spin(10)
  meter.stop(second)
  assert.ok(first.cpuMs >= 29)
  assert.ok(second.cpuMs >= 9 && second.cpuMs < 29, `${second.cpuMs}`)
})

test('peak memory is the highest value that was seen', () => {
  const meter = new TaskMeter()
  const task = measured()
  meter.beginTurn()
  meter.start(task)
  meter.stop(task)
  const seen = task.rssBytes + 5 * 1024 ** 3
  const profile = decodeProfileResult(meter.profile(task, seen))
  assert.equal(profile?.peakMemoryBytes, 5 * 1024 ** 3)
})

test('of profiled tasks that are not metered, the long ones are measured', () => {
  let now = 0
  const meter = new TaskMeter(() => now)
  const profile = (seenBytes = 0): readonly number[] => {
    const found = decodeProfileResult(meter.lapProfile(seenBytes))
    const { durationSeconds = 0, cpuSeconds = 0, peakMemoryBytes = 0 } = found ?? {}
    return [durationSeconds * 1000, cpuSeconds * 1000, peakMemoryBytes]
  }
  meter.beginTurn()
  meter.beginSlice()
  now += 0.5
  meter.lap(meter.endedAt)
  const [shortMs, shortCpuMs, shortBytes] = profile(5 * 1024 ** 3)
  assert.deepEqual([shortCpuMs, shortBytes], [shortMs, 1])
  spin(30)
  now += 30
  meter.lap(meter.endedAt)
  const [durationMs = 0, cpuMs = 0, bytes = 0] = profile(5 * 1024 ** 3)
  assert.ok(durationMs >= 29 && cpuMs >= 29, `${durationMs} ms, ${cpuMs} ms`)
  assert.ok(bytes > 4 * 1024 ** 3)
})

test('a profiled task that is metered after its start is measured from its start on', () => {
  const meter = new TaskMeter()
  const task = measured()
  meter.beginTurn()
  meter.beginSlice()
  task.startedAt = meter.endedAt
  spin(20)
  meter.adopt(task)
  spin(20)
  meter.stop(task)
  assert.ok(profileOf(meter, task)[1] >= 39)
  assert.ok(task.rssBytes > 0 && task.maxRssBytes > 0)
})

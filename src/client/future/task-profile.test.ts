import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { encodeProfileResult } from '../../wire/metadata.js'
import { taskProfile } from './profile.js'

test('a profile has milliseconds and bytes', () => {
  const metadata = encodeProfileResult({
    durationSeconds: 1.5,
    peakMemoryBytes: 4096,
    cpuSeconds: 0.25,
  })
  assert.deepEqual(taskProfile(metadata, ''), {
    durationMs: 1500,
    cpuTimeMs: 250,
    peakMemoryBytes: 4096,
    worker: '',
  })
})

test('unmeasured figures are absent', () => {
  const metadata = encodeProfileResult({
    durationSeconds: 0.0001,
    peakMemoryBytes: 0,
    cpuSeconds: 0,
  })
  assert.deepEqual(taskProfile(metadata, ''), { durationMs: 0.1, worker: '' })
})

test('unmeasured memory is absent, though the time is known', () => {
  const metadata = encodeProfileResult({ durationSeconds: 1, peakMemoryBytes: 0, cpuSeconds: 0.5 })
  assert.deepEqual(taskProfile(metadata, ''), { durationMs: 1000, cpuTimeMs: 500, worker: '' })
})

test('a missing or unreadable profile is undefined', () => {
  assert.equal(taskProfile(NO_BYTES, 'w'), undefined)
  assert.equal(taskProfile(Buffer.alloc(15), 'w'), undefined)
})

test('the worker is present if it has reported its name', () => {
  const metadata = encodeProfileResult({ durationSeconds: 1, peakMemoryBytes: 0, cpuSeconds: 0 })
  assert.deepEqual(taskProfile(metadata, 'worker 1'), { durationMs: 1000, worker: 'worker 1' })
})

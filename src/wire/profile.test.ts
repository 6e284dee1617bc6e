import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProtocolError } from '../base/errors.js'
import { decodeProfileResult, encodeProfileResult, meanDurationMs } from './metadata.js'

describe('a profile', () => {
  test('has 16 bytes, big-endian', () => {
    const profile = { durationSeconds: 1.5, peakMemoryBytes: 4096, cpuSeconds: 0.25 }
    const hex = Buffer.from(encodeProfileResult(profile)).toString('hex')
    assert.equal(hex, '3fc0000000000000000010003e800000')
    assert.deepEqual(decodeProfileResult(Buffer.from(hex, 'hex')), profile)
  })

  test('that is empty is undefined', () => {
    assert.equal(decodeProfileResult(new Uint8Array(0)), undefined)
  })

  test('of another length is refused', () => {
    for (const length of [1, 5, 15, 17]) {
      assert.throws(() => decodeProfileResult(new Uint8Array(length)), ProtocolError)
    }
  })

  test('keeps amounts of memory up to 2^53-1', () => {
    for (const peakMemoryBytes of [0, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER]) {
      const bytes = encodeProfileResult({ durationSeconds: 0, peakMemoryBytes, cpuSeconds: 0 })
      assert.equal(decodeProfileResult(bytes)?.peakMemoryBytes, peakMemoryBytes)
    }
    const bytes = Buffer.alloc(16, 0xff)
    assert.equal(decodeProfileResult(bytes)?.peakMemoryBytes, Number.MAX_SAFE_INTEGER)
  })

  test('has no invalid amounts', () => {
    const none = { durationSeconds: 0, peakMemoryBytes: 0, cpuSeconds: 0 }
    const bytes = Buffer.alloc(16)
    bytes.writeFloatBE(NaN, 0)
    bytes.writeFloatBE(-1, 12)
    assert.deepEqual(decodeProfileResult(bytes), none)
    bytes.writeFloatBE(Infinity, 0)
    assert.deepEqual(decodeProfileResult(bytes), none)
    const written = encodeProfileResult({
      durationSeconds: -1,
      peakMemoryBytes: NaN,
      cpuSeconds: NaN,
    })
    assert.deepEqual(decodeProfileResult(written), none)
  })
})

describe('the mean duration of tasks', () => {
  const profile = { durationSeconds: 0.5, peakMemoryBytes: 4096, cpuSeconds: 0.25 }
  const full = encodeProfileResult(profile)

  test('is that of their profiles, long or short', () => {
    const other = encodeProfileResult({ ...profile, durationSeconds: 1.5 })
    assert.equal(meanDurationMs(full, 1), 500)
    assert.equal(meanDurationMs(Buffer.concat([full, other]), 2), 1_000)
    assert.equal(
      meanDurationMs(Buffer.concat([full.subarray(0, 4), other.subarray(0, 4)]), 2),
      1_000,
    )
  })

  test('is unknown without profiles', () => {
    assert.equal(meanDurationMs(new Uint8Array(0), 3), undefined)
    assert.equal(meanDurationMs(full, 3), undefined)
  })
})

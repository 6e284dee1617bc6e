import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProtocolError } from '../base/errors.js'
import { decodeTaskFlags, encodeTaskFlags, type TaskFlags } from './metadata.js'

function hexOf(flags: TaskFlags): string {
  return Buffer.from(encodeTaskFlags(flags)).toString('hex')
}

describe('task flags', () => {
  test('have five bytes, big-endian', () => {
    assert.equal(hexOf({ profiling: false, priority: 0 }), '0000000000')
    assert.equal(hexOf({ profiling: true, priority: 3 }), '0100000003')
    assert.equal(hexOf({ profiling: true, priority: -2 }), '01fffffffe')
  })

  test('read as they were written', () => {
    for (const priority of [0, 1, -1, 255, 256, 2 ** 31 - 1, -(2 ** 31)]) {
      for (const profiling of [true, false]) {
        const flags = { profiling, priority }
        assert.deepEqual(decodeTaskFlags(encodeTaskFlags(flags)), flags)
      }
    }
  })

  test('clamp a priority out of range', () => {
    assert.equal(hexOf({ profiling: false, priority: 1e12 }), '007fffffff')
    assert.equal(hexOf({ profiling: false, priority: -1e12 }), '0080000000')
    assert.equal(hexOf({ profiling: false, priority: 1.9 }), '0000000001')
    assert.equal(hexOf({ profiling: false, priority: NaN }), '0000000000')
  })

  test('that are absent request a profile', () => {
    assert.deepEqual(decodeTaskFlags(new Uint8Array(0)), { profiling: true, priority: 0 })
  })

  test('read any number but zero as a request for a profile', () => {
    assert.equal(decodeTaskFlags(Uint8Array.of(7, 0, 0, 0, 0)).profiling, true)
  })

  test('of another length are refused', () => {
    for (const length of [1, 4, 6, 16]) {
      assert.throws(() => decodeTaskFlags(new Uint8Array(length)), ProtocolError)
    }
  })
})

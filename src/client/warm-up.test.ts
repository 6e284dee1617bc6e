import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultCodec } from '../serializer/task-codec.js'
import { warmUp } from './session.js'

test('warming up takes a closure apart, and it can travel', () => {
  const taken: unknown[] = []
  const serializer: Parameters<typeof warmUp>[0] = {
    serializeFunction: (fn) => {
      const shipped = defaultCodec.serializeFunction(fn)
      taken.push(shipped)
      return shipped
    },
  }
  warmUp(serializer)
  assert.equal(taken.length, 1)
})

test('errors while warming up are not reported', () => {
  assert.doesNotThrow(() =>
    warmUp({
      serializeFunction: () => {
        throw new Error('no')
      },
    }),
  )
})

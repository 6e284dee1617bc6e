import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  MissingObjectError,
  ProcessorDiedError,
  type ScalerError,
  TaskTimeoutError,
} from '../base/errors.js'
import { deserializeError, serializeError } from './error-codec.js'
import { ownErrorToBytes } from './own-error.js'

function check(error: ScalerError): void {
  error.stack = String(error)
  assert.deepEqual(Buffer.from(ownErrorToBytes(error)), Buffer.from(serializeError(error)))
}

test('the bytes are those of the serializer', () => {
  const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(value, { nil: undefined })
  const text = fc.string({ unit: 'binary', maxLength: 200 })
  const death = fc.record({
    exitCode: optional(fc.nat(255)),
    signal: optional(fc.constantFrom('SIGKILL', 'SIGABRT')),
    stderr: text,
  })
  fc.assert(
    fc.property(text, death, (message, facts) => {
      check(new TaskTimeoutError(message))
      check(new MissingObjectError(message))
      check(new ProcessorDiedError(message, facts))
    }),
    { numRuns: 300 },
  )
})

test('the error arrives as one of its class', () => {
  const facts = { exitCode: 200, signal: undefined, stderr: 'last words \u4e2d' }
  const error = deserializeError(ownErrorToBytes(new ProcessorDiedError('it died', facts)))
  assert.ok(error instanceof ProcessorDiedError)
  const { code, message, exitCode, signal, stderr } = error
  assert.deepEqual([code, message], ['ERR_SCALER_PROCESSOR_DIED', 'it died'])
  assert.deepEqual({ exitCode, signal, stderr }, facts)
})

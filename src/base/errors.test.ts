import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as errors from './errors.js'

const death = { exitCode: 3, signal: undefined, stderr: 'last words' }
const all: readonly errors.ScalerError[] = [
  new errors.TaskCancelledError(),
  new errors.TaskTimeoutError('x'),
  new errors.TaskNotFoundError('x'),
  new errors.WorkerDiedError('x'),
  new errors.ProcessorDiedError('x', death),
  new errors.NoWorkerError('x'),
  new errors.DisconnectedError('x'),
  new errors.ClientShutdownError('x'),
  new errors.ClientClosedError(),
  new errors.ConnectError('x'),
  new errors.ProtectedModeError('x'),
  new errors.SerializeError('x'),
  new errors.DeserializeError('x'),
  new errors.MissingObjectError('x'),
  new errors.GraphKeyError('x', 'y'),
  new errors.GraphCycleError(['x', 'y', 'x']),
  new errors.ConfigError('x'),
  new errors.ProtocolError('x'),
  new errors.TimeoutError('x'),
]

test('every error has the name of its class, a stable code, and is a ScalerError', () => {
  for (const error of all) {
    assert.ok(error instanceof errors.ScalerError)
    assert.equal(error.name, error.constructor.name)
    assert.match(error.code, /^ERR_SCALER_[A-Z_]+$/)
    assert.ok(!Object.keys(error).includes('name'), 'the name is not an own enumerable property')
    assert.match(String(error.stack), new RegExp(`^${error.name}: `))
  }
  assert.equal(new Set(all.map((error) => error.code)).size, all.length)
})

test('an error passes its cause on, and has none if none was given', () => {
  const cause = new Error('first')
  assert.equal(new errors.ConnectError('x', { cause }).cause, cause)
  assert.ok(!('cause' in new errors.ConnectError('x')))
})

test('a dead processor reports its exit code or signal and its last output', () => {
  const error = new errors.ProcessorDiedError('x', death)
  assert.equal(error.exitCode, 3)
  assert.equal(error.signal, undefined)
  assert.equal(error.stderr, 'last words')
})

test('each error is named after its own code, whatever others of its class are', () => {
  const codes = ['ERR_SCALER_ONE_THING', 'ERR_SCALER_OTHER', 'ERR_SCALER_ONE_THING']
  const names = codes.map((code) => new errors.ScalerError(code, 'text').name)
  assert.deepEqual(names, ['OneThingError', 'OtherError', 'OneThingError'])
})

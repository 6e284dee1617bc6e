import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MissingObjectError,
  ProcessorDiedError,
  ProtocolError,
  TaskTimeoutError,
} from '../../base/errors.js'
import { isDefaultSerializer, pickledCall, pickledError } from './pickle.js'

// Python loads these in test/interop/python-symphony-call.test.ts.

const SCALER_FLAG_AND_END = '888752'
const NO_SCALER_FLAG_AND_END = '898752'

function hexOf(fn: string, ...args: readonly string[]): string {
  const pieces = pickledCall({
    source: 'def bind(): pass',
    module: 'call',
    fn: Buffer.from(fn),
    args: args.map((text) => Buffer.from(text)),
    flags: Buffer.from([0, 0, 0, 0, 1]),
  })
  return Buffer.concat(pieces).toString('hex')
}

test('the pieces of the client are in the pickle as they are', () => {
  const hex = hexOf('FUNCTION', 'ONE', 'TWO')
  for (const piece of ['FUNCTION', 'ONE', 'TWO']) {
    const bytes = Buffer.from(piece)
    const length = Buffer.from([0x42, bytes.byteLength, 0, 0, 0])
    assert.ok(
      hex.includes(Buffer.concat([length, bytes, Buffer.from([0x85, 0x52])]).toString('hex')),
    )
  }
  assert.match(hex, /^8004/)
  assert.match(hex, /742e$/)
})

test('it says whether the task may have a client of Python Scaler', () => {
  assert.ok(hexOf('f', 'x').includes(NO_SCALER_FLAG_AND_END))
  assert.ok(hexOf('f', 'scaler.client.client').includes(SCALER_FLAG_AND_END))
  assert.ok(hexOf('import scaler').includes(SCALER_FLAG_AND_END))
})

test('only the default serializer writes pickles', () => {
  const text = 'scaler.client.serializer.default'
  const own = Buffer.from(`\x80\x05\x95=${'\0'.repeat(7)}\x8c ${text}\x94`, 'latin1')
  assert.equal(isDefaultSerializer(own), false)
  assert.equal(isDefaultSerializer(new Uint8Array()), false)
})

const CLASSES: readonly (readonly [Error, module: string, name: string])[] = [
  [new ProcessorDiedError('x', { stderr: '' }), 'scaler.utility.exceptions', 'ProcessorDiedError'],
  [new MissingObjectError('x'), 'scaler.utility.exceptions', 'MissingObjects'],
  [new TaskTimeoutError('x'), 'builtins', 'TimeoutError'],
  [new ProtocolError('x'), 'builtins', 'RuntimeError'],
]

for (const [error, module, name] of CLASSES) {
  test(`${error.name} is ${module}.${name} in Python`, () => {
    const text = Buffer.from(pickledError(error)).toString('latin1')
    assert.ok(text.includes(module) && text.includes(name))
  })
}

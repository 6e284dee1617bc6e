import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../base/ids.js'
import {
  decodeCollect,
  decodeHost,
  decodeLog,
  decodeStop,
  encodeCollect,
  encodeHost,
  encodeLog,
  encodeStop,
} from './link/control.js'
import { decodeNumbers, decodeStatus, encodeNumbers, encodeStatus } from './link/lifeline.js'

const GARBAGE = ['', '{}', 'null', '[1]', '\xff\xfe', '{"level":"info"}'].map((text) =>
  Buffer.from(text, 'latin1'),
)

test('facts about the worker survive encoding', () => {
  const worker = identity('1|n\xc3\xa4me|00')
  const facts = { address: 'tcp://[::1]:1', worker, inlineLimitBytes: 8192, taskTimeoutMs: 0 }
  assert.deepEqual(decodeHost(Buffer.from(encodeHost(facts))), facts)
  for (const bytes of GARBAGE) assert.throws(() => decodeHost(bytes), { name: 'ProtocolError' })
})

test('orders to stop survive encoding', () => {
  for (const reason of ['cancelled', 'timedOut', 'givenUp'] as const) {
    const order = { id: taskId('\0\xff'), reason }
    assert.deepEqual(decodeStop(Buffer.from(encodeStop(order))), order)
  }
  for (const bytes of [Buffer.alloc(0), Buffer.of(3, 1)]) {
    assert.throws(() => decodeStop(bytes), { name: 'ProtocolError' })
  }
})

test('orders to collect garbage survive encoding', () => {
  for (const aboveBytes of [0, 1_073_741_824, 2 ** 40]) {
    assert.equal(decodeCollect(Buffer.from(encodeCollect(aboveBytes))), aboveBytes)
  }
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(5), Buffer.alloc(7)]) {
    assert.throws(() => decodeCollect(bytes), { name: 'ProtocolError' })
  }
})

test('log lines contain the id of their task; long ones are cut', () => {
  const bytes = encodeLog(taskId('a'), 'warn', { text: 'x'.repeat(1e6), fields: { a: NaN, b: {} } })
  const { level, text, fields } = decodeLog(Buffer.from(bytes))
  assert.equal(level, 'warn')
  assert.equal(text.length, 65_536)
  // Values that JSON cannot represent become text.
  assert.deepEqual(fields, { a: 'null', b: '[object Object]', task: '61' })
  for (const garbage of GARBAGE) assert.throws(() => decodeLog(garbage), { name: 'ProtocolError' })
  const odd = JSON.stringify({ level: 'constructor', text: 'x', fields: {} })
  assert.throws(() => decodeLog(Buffer.from(odd)), { name: 'ProtocolError' })
})

test('the status of a task survives encoding', () => {
  const flags = ['isStarted', 'isListening', 'isAlone', 'hasGivenUp'] as const
  for (const flag of flags) {
    const none = { isStarted: false, isListening: false, isAlone: false, hasGivenUp: false }
    const status = { dispatchNumber: 2 ** 40, ...none, [flag]: true, runningMs: 2 ** 33 }
    assert.deepEqual(decodeStatus(encodeStatus(status)), status)
  }
  for (const bytes of GARBAGE) assert.throws(() => decodeStatus(bytes), { name: 'ProtocolError' })
})

test('dispatch numbers survive encoding', () => {
  for (const numbers of [[], [0], [5, 2 ** 31, 2 ** 47]]) {
    assert.deepEqual(decodeNumbers(encodeNumbers(numbers)), numbers)
  }
  assert.throws(() => decodeNumbers(Buffer.alloc(7)), { name: 'ProtocolError' })
})

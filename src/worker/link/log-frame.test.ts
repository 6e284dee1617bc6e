import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtocolError } from '../../base/errors.js'
import { taskId } from '../../base/ids.js'
import { decodeLog, encodeLog } from './control.js'

const ID = taskId('\x01\x02')

test('a line has the id of its task, and fields of any kind as text', () => {
  const fields = { n: 1, b: true, s: 'text', list: [1, 2], nothing: undefined }
  assert.deepEqual(decodeLog(Buffer.from(encodeLog(ID, 'info', { text: 'hello', fields }))), {
    level: 'info',
    text: 'hello',
    fields: { n: 1, b: true, s: 'text', list: '1,2', task: '0102' },
  })
})

test('a field that throws when it is read does not make the log call throw', () => {
  const fields = {
    ok: 1,
    get broken(): never {
      throw new Error('getter')
    },
  }
  const text = {
    toString: (): never => {
      throw new Error('text')
    },
  }
  const line = decodeLog(Buffer.from(encodeLog(ID, 'warn', { text, fields })))
  assert.deepEqual(line, {
    level: 'warn',
    text: '?',
    fields: { ok: 1, broken: '?', task: '0102' },
  })
})

test('invalid lines are refused', () => {
  for (const text of ['', 'null', '{}', '{"level":"loud","text":"x","fields":{}}']) {
    assert.throws(() => decodeLog(Buffer.from(text)), ProtocolError)
  }
})

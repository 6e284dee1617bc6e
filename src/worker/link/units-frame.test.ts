import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeUnits, encodeUnits } from './control.js'

test('units survive encoding, and are frozen', () => {
  const given = Object.defineProperty({ gpu: [0, 2], linux: [] }, '__proto__', {
    value: [1],
    enumerable: true,
  })
  const units = decodeUnits(Buffer.from(encodeUnits(given)))
  assert.deepEqual(Object.entries(units), Object.entries(given))
  assert.ok(Object.isFrozen(units) && Object.isFrozen(units['gpu']))
  assert.equal(decodeUnits(Buffer.from(encodeUnits(given))), units)
})

test('invalid units are refused', () => {
  for (const text of [
    '',
    '{}',
    '[1]',
    '[["a"]]',
    '[["a",1]]',
    '[[1,[]]]',
    '[["a",[0.5]]]',
    '[["a",["0"]]]',
    'x',
  ]) {
    assert.throws(() => decodeUnits(Buffer.from(text)), { name: 'ProtocolError' }, text)
  }
})

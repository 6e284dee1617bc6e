import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OptionType } from '../../base/option.js'
import { readText, readValue, writtenValue } from './text.js'

const SECONDS: OptionType = { kind: 'duration', min: 0, max: 3_600_000 }
const NUMBER: OptionType = { kind: 'integer', min: -1, max: 4_096 }

test('seconds become whole milliseconds', () => {
  assert.equal(readText('-x', SECONDS, '1.5'), 1_500)
  assert.equal(readText('-x', SECONDS, '1e2'), 100_000)
  assert.equal(readText('-x', SECONDS, '0'), 0)
  assert.equal(readValue('-x', SECONDS, 0.25), 250)
})

test('a tiny duration does not become zero', () => {
  assert.equal(readText('-x', SECONDS, '0.0001'), 1)
})

test('written values can be read back', () => {
  for (const ms of [0, 1, 100, 1_234, 3_600_000]) {
    assert.equal(readValue('-x', SECONDS, writtenValue(SECONDS, ms)), ms)
  }
  assert.equal(writtenValue(NUMBER, 7), 7)
})

for (const text of ['', ' ', 'soon', '1s', '0x10', 'Infinity', 'NaN', '-1', '3600.1', '1_000']) {
  test(`${JSON.stringify(text)} is not a time`, () => {
    assert.throws(() => readText('--wait', SECONDS, text), {
      code: 'ERR_SCALER_CONFIG',
      message: `--wait: expected seconds from 0 to 3600, got ${JSON.stringify(text)}`,
    })
  })
}

for (const text of ['1.5', '5000', '-2', 'x']) {
  test(`${text} is not a whole number from -1 to 4096`, () => {
    const message = `SCALER_X: expected a whole number from -1 to 4096, got "${text}"`
    assert.throws(() => readText('SCALER_X', NUMBER, text), { message })
  })
}

test('a whole number may have an exponent or a zero fraction', () => {
  assert.equal(readText('-x', NUMBER, '1e3'), 1_000)
  assert.equal(readText('-x', NUMBER, '4.0'), 4)
})

test('texts accept several words for true and false, files only these two', () => {
  const type: OptionType = { kind: 'boolean' }
  for (const word of ['true', 'True', 'YES', 'on', '1'])
    assert.equal(readText('-x', type, word), true)
  for (const word of ['false', 'False', 'no', 'OFF', '0'])
    assert.equal(readText('-x', type, word), false)
  assert.equal(readValue('-x', type, false), false)
  assert.throws(() => readValue('f:1:1: x', type, 'yes'), /^ConfigError: f:1:1: x: expected true/)
  assert.throws(() => readValue('f:1:1: x', type, 1), /expected true or false, got 1$/)
})

test('numbers in files are numbers, not texts', () => {
  assert.throws(() => readValue('f:1:1: x', NUMBER, '4'), /expected a whole number .*, got "4"$/)
  assert.throws(() => readValue('f:1:1: x', SECONDS, [1]), /expected seconds .*, got an array$/)
})

test('lists are written with commas, or as lists in files', () => {
  const type: OptionType = { kind: 'list', separator: 'commas' }
  assert.deepEqual(readText('-x', type, 'a, b'), ['a', 'b'])
  assert.deepEqual(readText('-x', type, ''), [])
  assert.deepEqual(readValue('-x', type, ['a, b', 'c']), ['a, b', 'c'])
  assert.deepEqual(readValue('-x', type, 'a,b'), ['a', 'b'])
  assert.throws(() => readValue('-x', type, [1]), /expected a list of strings/)
})

test('a text in a file is a list of one word', () => {
  assert.deepEqual(readValue('-x', { kind: 'list', separator: 'words' }, 'a,b'), ['a,b'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from './errors.js'
import { booleanOption, numberOption, show } from './option.js'

const bounds = { min: 1, max: 10 }

test('a number option has its default when left out, otherwise its value', () => {
  assert.equal(numberOption('size', undefined, 7, bounds), 7)
  assert.equal(numberOption('size', 1, 7, bounds), 1)
  assert.equal(numberOption('size', 10, 7, bounds), 10)
  assert.equal(numberOption('size', 1.5, 7, { ...bounds, fraction: true }), 1.5)
})

test('a bad number names the option, the bounds and what was given', () => {
  const bad = [0, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3', true, {}, [], () => 1]
  for (const value of bad) {
    assert.throws(
      () => numberOption('size', value, 7, bounds),
      (error) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, /size.*from 1 to 10, got /)
        return true
      },
    )
  }
})

test('a switch is exactly true or false', () => {
  assert.equal(booleanOption('on', undefined, true), true)
  assert.equal(booleanOption('on', false, true), false)
  for (const value of [0, 'true', 1, {}]) {
    assert.throws(() => booleanOption('on', value, true), /on: expected true or false, got /)
  }
})

test('an error shows any value in a few words', () => {
  const shown = [null, undefined, 1n, 'a"b', [1], { a: 1 }, () => 1, Symbol('x')].map(show)
  const texts = ['null', 'undefined', '1n', String.raw`"a\"b"`, 'an array', 'an object']
  assert.deepEqual(shown, [...texts, 'a function', 'Symbol(x)'])
})

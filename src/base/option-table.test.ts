import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from './errors.js'
import {
  type AnyOptionTable,
  checkNames,
  checkOptions,
  checkValue,
  nearestHint,
  optionsIn,
  type OptionsOf,
  type OptionTable,
  type OptionType,
} from './option.js'

/** One option of each kind. */
interface Options {
  readonly count?: number | undefined
  readonly waitMs?: number | undefined
  readonly isOn?: boolean | undefined
  readonly title?: string | undefined
  readonly mode?: string | undefined
  readonly items?: readonly string[] | undefined
  readonly logger?: object | undefined
}

const TABLE: OptionTable<Options> = {
  count: { type: { kind: 'integer', min: 1, max: 9 }, description: 'the count', default: 3 },
  waitMs: { type: { kind: 'duration', min: 0, max: 1_000 }, description: 'how long', default: 5 },
  isOn: { type: { kind: 'boolean' }, description: 'whether', default: false },
  title: { type: { kind: 'text' }, description: 'what it is called' },
  mode: { type: { kind: 'choice', choices: ['fast', 'slow', 'off'] }, description: 'how' },
  items: { type: { kind: 'list', separator: 'commas' }, description: 'which' },
  logger: { type: { kind: 'object' }, description: 'where to' },
}

const DEFAULTS = {
  count: 3,
  waitMs: 5,
  isOn: false,
  title: undefined,
  mode: undefined,
  items: undefined,
  logger: undefined,
}

test('an option left out or undefined has its default, or stays undefined', () => {
  assert.deepEqual(checkOptions('test', TABLE, {}), DEFAULTS)
  assert.deepEqual(checkOptions('test', TABLE, { count: undefined, title: undefined }), DEFAULTS)
})

test('given values are taken unchanged', () => {
  const given: Options = {
    count: 9,
    waitMs: 0,
    isOn: true,
    title: '',
    mode: 'slow',
    items: ['a', 'b'],
    logger: {},
  }
  assert.deepEqual(checkOptions('test', TABLE, given), given)
})

test('a list that is changed afterwards does not change what was checked', () => {
  const items = ['a']
  const checked = checkOptions('test', TABLE, { items })
  items.push('b')
  assert.deepEqual(checked.items, ['a'])
})

test('a value that is not allowed is refused: the option, the bound, and what was given', () => {
  const bad: readonly (readonly [keyof Options, unknown, string])[] = [
    ['count', 0, 'expected a whole number from 1 to 9, got 0'],
    ['count', 10, 'expected a whole number from 1 to 9, got 10'],
    ['count', 1.5, 'expected a whole number from 1 to 9, got 1.5'],
    ['count', '3', 'expected a whole number from 1 to 9, got "3"'],
    ['count', null, 'expected a whole number from 1 to 9, got null'],
    ['waitMs', NaN, 'expected a whole number from 0 to 1000, got NaN'],
    ['waitMs', -1, 'expected a whole number from 0 to 1000, got -1'],
    ['isOn', 'yes', 'expected true or false, got "yes"'],
    ['isOn', 1, 'expected true or false, got 1'],
    ['title', 5, 'expected text, got 5'],
    ['title', ['a'], 'expected text, got an array'],
    ['mode', 'quick', 'expected fast, slow or off, got "quick"'],
    ['mode', 'slwo', 'expected fast, slow or off, got "slwo"; is it slow?'],
    ['mode', {}, 'expected fast, slow or off, got an object'],
    ['items', 'a,b', 'expected a list of strings, got "a,b"'],
    ['items', ['a', 1], 'expected a list of strings, got a list with 1'],
  ]
  for (const [name, value, why] of bad) {
    assert.throws(() => checkOptions('test', TABLE, { [name]: value }), {
      name: 'ConfigError',
      code: 'ERR_SCALER_CONFIG',
      message: `option ${name}: ${why}`,
    })
  }
})

test('an unknown name is refused, with the nearest one or all names', () => {
  const check = (name: string) => () => checkOptions('test', TABLE, { [name]: 1 })
  assert.throws(check('coutn'), { message: 'unknown test option coutn; is it count?' })
  assert.throws(check('wait'), { message: 'unknown test option wait; is it waitMs?' })
  const all = 'count, waitMs, isOn, title, mode, items, logger'
  assert.throws(check('xyz'), { message: `unknown test option xyz; there are ${all}` })
  for (const name of ['toString', 'constructor', 'hasOwnProperty']) {
    assert.throws(check(name), ConfigError, `${name} is not an option although all objects have it`)
  }
  const own = JSON.parse('{"__proto__": 1}') as Options
  assert.throws(() => checkOptions('test', TABLE, own), /unknown test option __proto__/)
})

test('options that are not an object are refused', () => {
  for (const given of [null, 'fast', 5, true] as unknown as readonly Options[]) {
    assert.throws(() => checkOptions('test', TABLE, given), {
      message: /^test options: expected an object, got /,
    })
  }
})

test('each kind of option can be checked alone; objects are checked by their owner', () => {
  const type: OptionType = { kind: 'integer', min: 1, max: 9 }
  assert.equal(checkValue('--count', type, 4, 7), 4)
  assert.equal(checkValue('--count', type, undefined, 7), 7)
  assert.throws(() => checkValue('--count', type, 10, 7), /^ConfigError: option --count: /)
  const thing = Symbol('thing')
  assert.equal(checkValue('logger', { kind: 'object' }, thing, undefined), thing)
})

test('of many values, those of a table can be picked', () => {
  const values = { count: 1, other: 2, title: undefined, toString: 3 }
  assert.deepEqual(optionsIn(TABLE, values), { count: 1 })
})

test('names can be checked alone', () => {
  checkNames('test', TABLE, { count: 'anything' })
  assert.throws(() => checkNames('test', TABLE, { cuont: 1 }), /is it count\?/)
})

test('a hint names the nearest, or all', () => {
  assert.equal(nearestHint('slo', ['fast', 'slow']), '; is it slow?')
  assert.equal(nearestHint('zzz', ['fast', 'slow']), '; there are fast, slow')
})

test('the type of the options of a table follows from its entries', () => {
  const table = {
    count: { type: { kind: 'integer', min: 1, max: 9 }, description: 'the count', default: 3 },
    waitMs: { type: { kind: 'duration', min: 0, max: 9 }, description: 'how long' },
    isOn: { type: { kind: 'boolean' }, description: 'whether', default: false },
    title: { type: { kind: 'text' }, description: 'what it is called' },
    mode: { type: { kind: 'choice', choices: ['fast', 'slow'] }, description: 'how' },
    items: { type: { kind: 'list', separator: 'commas' }, description: 'which' },
  } as const satisfies AnyOptionTable
  interface Expected {
    readonly count: number
    readonly waitMs: number | undefined
    readonly isOn: boolean
    readonly title: string | undefined
    readonly mode: 'fast' | 'slow' | undefined
    readonly items: readonly string[] | undefined
  }
  type Same<A, B> = [A, B] extends [B, A] ? true : false
  const isSame: Same<OptionsOf<typeof table>, Expected> = true
  assert.ok(isSame)
  // @ts-expect-error: `title` has no default, so it may be undefined.
  const isOther: Same<OptionsOf<typeof table>, Expected & { readonly title: string }> = true
  assert.ok(isOther)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, ScalerError } from '../../../base/errors.js'
import { readArgument, readArgumentList, resultText } from './json.js'

test('an argument is JSON, or plain text if it is not JSON', () => {
  const known: readonly (readonly [string, unknown])[] = [
    ['1', 1],
    ['-2.5e3', -2_500],
    ['true', true],
    ['null', null],
    ['"1"', '1'],
    ['{"a":[1]}', { a: [1] }],
    ['hello', 'hello'],
    ['hello world', 'hello world'],
    ['', ''],
    ['01', '01'],
    ['2026-11-22', '2026-11-22'],
    ['NaN', 'NaN'],
    ['undefined', 'undefined'],
    ['/a/b', '/a/b'],
    ['-', '-'],
  ]
  for (const [word, value] of known) assert.deepEqual(readArgument(word, 1), value)
})

test('an argument that starts like JSON and is not valid is an error, with its position', () => {
  for (const word of ['{a: 1}', '[1, 2', '"open', ' {']) {
    assert.throws(() => readArgument(word, 3), {
      constructor: ConfigError,
      message: /^argument 3 is not valid JSON: [^\n]+$/,
    })
  }
})

test('an integer that a number cannot hold is an error, not another integer', () => {
  for (const [word, text] of [
    ['9007199254740993', `'"9007199254740993"'`],
    ['-9007199254740993', '"9007199254740993"'],
    ['{"a": [9007199254740993]}', '"9007199254740993"'],
  ] as const) {
    assert.throws(() => readArgument(word, 2), {
      constructor: ConfigError,
      message:
        'argument 2 has the integer 9007199254740993: no number holds it exactly; ' +
        `pass it as a text: ${text}`,
    })
  }
  assert.throws(() => readArgumentList(Buffer.from('[12345678901234567891]')), {
    constructor: ConfigError,
    message: /^the standard input has the integer 12345678901234567891: /,
  })
  for (const word of ['1e400', '-1.5E+999', `[${'9'.repeat(400)}]`]) {
    assert.throws(() => readArgument(word, 2), {
      constructor: ConfigError,
      message: /^argument 2 has a number that is too large: -?[19]/,
    })
  }
  const long = JSON.stringify(['1'.repeat(20_000_000)])
  assert.deepEqual(readArgumentList(Buffer.from(long)), JSON.parse(long))
  const exact = ['9007199254740992', '"9007199254740993"', '0.12345678901234567891', '1e20']
  for (const word of exact) assert.equal(readArgument(word, 1), JSON.parse(word))
})

test('all arguments can be given as one list', () => {
  assert.deepEqual(readArgumentList(Buffer.from(' [1, "a", {"b": null}]\n')), [1, 'a', { b: null }])
  for (const [text, why] of [
    ['', /not valid JSON: it is empty/],
    ['{}', /has to be a JSON list/],
    ['1', /has to be a JSON list/],
    ['[1', /not valid JSON/],
  ] as const) {
    const bytes = Buffer.from(text)
    assert.throws(() => readArgumentList(bytes), { constructor: ConfigError, message: why })
  }
})

test('a list that is not UTF-8 is refused, not changed', () => {
  assert.deepEqual(readArgumentList(Buffer.from('\ufeff["é"]')), ['é'])
  const bytes = Buffer.from('["é"]', 'latin1')
  assert.throws(() => readArgumentList(bytes), { constructor: ConfigError, message: /not.*UTF-8/ })
})

test('a result is one line of JSON', () => {
  const when = new Date(0)
  const shared = { a: 1 }
  assert.equal(resultText(undefined), 'null')
  assert.equal(resultText(null), 'null')
  assert.equal(resultText('a\nb'), '"a\\nb"')
  assert.equal(resultText([1, undefined]), '[1,null]')
  assert.equal(resultText({ a: undefined, b: when }), '{"b":"1970-01-01T00:00:00.000Z"}')
  assert.equal(resultText([shared, shared]), '[{"a":1},{"a":1}]', 'a shared object is not a cycle')
})

const CYCLE: { inner: unknown[] } = { inner: [] }
CYCLE.inner.push(CYCLE)

const LOSSY: readonly (readonly [unknown, string])[] = [
  [10n, 'result is a bigint'],
  [Number.NaN, 'result is NaN'],
  [[1, Number.POSITIVE_INFINITY], 'result[1] is Infinity'],
  [{ a: [new Map()] }, 'result.a[0] is a Map'],
  [{ 'b c': new Set() }, 'result["b c"] is a Set'],
  [() => 1, 'result is a function'],
  [Symbol('s'), 'result is a symbol'],
  [{ a: new Uint8Array(1) }, 'result.a is binary'],
  [new ArrayBuffer(1), 'result is an ArrayBuffer'],
  [/x/, 'result is a RegExp'],
  [{ error: new RangeError('x') }, 'result.error is an error'],
  // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
  [{ a: [1, , 3] }, 'result.a[1] is missing (a hole)'],
  [{ a: { [Symbol('s')]: 1 } }, 'result.a is an object with a symbol as a key'],
  [CYCLE, 'result.inner[0] is a part of itself (a cycle)'],
]

for (const [value, text] of LOSSY) {
  test(`a value that JSON cannot represent is an error, with its path: ${text}`, () => {
    assert.throws(
      () => resultText(value),
      (error: unknown) => {
        assert.ok(error instanceof ScalerError && !(error instanceof ConfigError))
        assert.equal(
          error.message,
          `the result cannot be represented as JSON: ${text}; return plain values`,
        )
        return true
      },
    )
  })
}

const THROWERS: readonly (readonly [unknown, RegExp])[] = [
  [
    {
      toJSON: () => {
        throw new Error('mine')
      },
    },
    /: mine$/,
  ],
  [[Object(1n)], /BigInt/],
  [nested(100_000), /call stack/],
]

for (const [value, text] of THROWERS) {
  test(`a value that cannot be serialized is one error: ${text.source}`, () => {
    assert.throws(() => resultText(value), { constructor: ScalerError, message: text })
  })
}

function nested(depth: number): unknown {
  let value: unknown = []
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

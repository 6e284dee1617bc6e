import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WAITING_REASONS } from '../../base/waiting-reason.js'
import { type LineStyle, progressLine, type ProgressState, textWidth } from './line.js'

const style: LineStyle = { columns: 100, hasColors: false, isUnicode: false }
const state: ProgressState = {
  label: 'double',
  done: 4_500,
  failed: 0,
  total: 10_000,
  elapsedMs: 12_000,
  ratePerSecond: 375,
  remainingMs: 14_667,
  waiting: undefined,
  end: undefined,
}

function line(changes: Partial<ProgressState> = {}, columns = 100): string {
  return progressLine({ ...state, ...changes }, { ...style, columns })
}

test('a line has a name, a bar, the count, the rate, the time left, and failures', () => {
  assert.equal(
    line(),
    'double   45%  ##################----------------------  4,500/10,000  375/s  15 s left',
  )
  assert.ok(line({ failed: 1_200 }).endsWith('  15 s left  1,200 failed'))
})

test('a line says why progress is blocked', () => {
  assert.ok(line({ waiting: 'no-worker' }).endsWith('  15 s left  waits: no-worker'))
  const both = line({ waiting: 'limit', failed: 2 })
  assert.ok(both.endsWith('  15 s left  waits: limit  2 failed'), both)
})

test('without a total there is neither bar nor time left', () => {
  const changes = { total: undefined, remainingMs: undefined }
  assert.equal(line(changes), 'double  4,500 done  375/s  12 s')
})

test('the last line says how it ended and how long it took', () => {
  const done = { done: 10_000, end: 'done', remainingMs: undefined } as const
  assert.ok(line(done).endsWith('  10,000/10,000  375/s  in 12 s'))
  assert.ok(line({ end: 'failed', failed: 1 }).endsWith('  failed after 12 s  1 failed'))
  assert.ok(line({ end: 'cancelled' }).endsWith('  cancelled after 12 s'))
})

test('100% is reached with the last input, not before', () => {
  assert.match(line({ done: 9_999 }), / 99% {2}#{39}-/)
  assert.match(line({ done: 10_000 }), /100% {2}#{40} /)
  assert.match(line({ done: 0, total: 0 }), /100% {2}#{40} {2}0\/0/)
})

test('rates and times have suitable units', () => {
  const rates = new Map([
    [12_345.6, '12,346/s'],
    [99.94, '99.9/s'],
    [1, '1.0/s'],
    [0.4, '2.5 s each'],
    [0.001, '16:40 each'],
  ])
  for (const [rate, text] of rates) assert.ok(line({ ratePerSecond: rate }).includes(text), text)
  const times = new Map([
    [0, '0.0 s'],
    [9_940, '9.9 s'],
    [9_960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1:00'],
    [3_599_000, '59:59'],
    [3_600_000, '1:00:00'],
    [47 * 3_600_000 + 61_000, '47:01:01'],
    [51 * 3_600_000, '2 d 3 h'],
  ])
  for (const [remainingMs, text] of times) {
    assert.ok(line({ remainingMs }).endsWith(`  ${text} left`), text)
  }
})

test('on a narrow terminal the least important parts are left out', () => {
  assert.equal(line({}, 60), 'double   45%  #####--------  4,500/10,000  375/s  15 s left')
  assert.equal(line({}, 50), 'double   45%  ####------  4,500/10,000  15 s left')
  assert.equal(line({}, 44), 'double  4,500/10,000  375/s  15 s left')
  assert.equal(line({}, 34), 'double  4,500/10,000  15 s left')
  assert.equal(line({ failed: 7 }, 36), '4,500/10,000  15 s left  7 failed')
  assert.equal(line({ failed: 7 }, 25), '4,500/10,000  7 failed')
  assert.equal(line({ failed: 7 }, 14), '4,500/10,000')
  assert.equal(line({ failed: 7 }, 6), '4,500')
})

test('failures are red where colours are enabled', () => {
  const text = progressLine({ ...state, failed: 3 }, { ...style, hasColors: true })
  assert.ok(text.endsWith('left  \u001b[31m3 failed\u001b[0m'))
  assert.equal(progressLine(state, { ...style, hasColors: true }), line())
})

test('a name cannot break the line', () => {
  assert.ok(line({ label: 'a\u001b[2J\nb' }).startsWith('a?[2J?b  '))
  const long = progressLine({ ...state, label: '計'.repeat(30) }, { ...style, isUnicode: true })
  assert.ok(long.startsWith(`${'計'.repeat(11)}…  `))
})

test('property: a line is narrower than the terminal, and never two lines', () => {
  const amount = fc.nat({ max: 1e12 })
  const some = fc.option(amount, { nil: undefined })
  const anyState = fc.record<ProgressState>({
    label: fc.string({ unit: 'grapheme' }),
    done: amount,
    failed: amount,
    total: some,
    elapsedMs: amount,
    ratePerSecond: fc.option(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), { nil: undefined }),
    remainingMs: some,
    waiting: fc.constantFrom(undefined, ...WAITING_REASONS),
    end: fc.constantFrom(undefined, 'done', 'failed', 'cancelled'),
  })
  fc.assert(
    fc.property(anyState, fc.integer({ min: 2, max: 300 }), fc.boolean(), (any, columns, is) => {
      const text = progressLine(any, { columns, hasColors: false, isUnicode: is })
      assert.ok(textWidth(text) < columns, `${textWidth(text)} of ${columns}: ${text}`)
      assert.doesNotMatch(text, /\p{Cc}/u)
    }),
  )
})

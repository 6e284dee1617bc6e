import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress, formatBytes, formatSeconds, type Terminal } from './progress.js'

function terminal(isTTY: boolean, columns = 80): Terminal & { readonly texts: string[] } {
  const texts: string[] = []
  return { isTTY, columns, texts, write: (text) => texts.push(text) }
}

test('the bar shows share, rate and remaining time, and is cleared', () => {
  const target = terminal(true)
  const progress = new Progress(1_000, target)
  progress.add(500)
  progress.clear()
  assert.match(
    target.texts[0] ?? '',
    /\[#{20}\.{20}\] 50 %  [\d.]+ [kMGT]?B\/s  [\d.]+ (s|min \d+ s) left$/,
  )
  assert.equal(target.texts.at(-1), '\r\u001b[2K')
})

test('no line is longer than the terminal is wide', () => {
  for (const columns of [1, 20, 40, 200]) {
    const target = terminal(true, columns)
    new Progress(1_000, target).add(500)
    assert.ok((target.texts[0] ?? '').replace('\r\u001b[2K', '').length < Math.max(columns, 1))
  }
})

test('nothing is written without a terminal', () => {
  const target = terminal(false)
  const progress = new Progress(1_000, target)
  progress.add(500)
  progress.clear()
  assert.deepEqual(target.texts, [])
})

test('sizes and times are formatted with units', () => {
  const sizes = [0, 999, 1_000, 999_949, 999_950, 12_345_678]
  assert.deepEqual(sizes.map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '12.3 MB',
  ])
  assert.deepEqual([0.04, 59.9, 125].map(formatSeconds), ['0.0 s', '59.9 s', '2 min 5 s'])
})

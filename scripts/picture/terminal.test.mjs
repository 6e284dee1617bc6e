import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Terminal } from './terminal.mjs'

function shown(...chunks) {
  const terminal = new Terminal(3, 20)
  for (const chunk of chunks) terminal.write(chunk)
  return terminal.rows().map((spans) => spans.map(({ text }) => text).join(''))
}

test('a redrawn line replaces itself', () => {
  assert.deepEqual(shown('$ run\r\nmap 10%', '\r\u001b[2Kmap 20%'), ['$ run', 'map 20%'])
  assert.deepEqual(shown('long line\rshort\u001b[K'), ['short'])
})

test('a sequence may be split anywhere', () => {
  assert.deepEqual(shown('a\u001b', '[', '31mb\u001b[0', 'mc'), ['abc'])
})

test('the last rows stay', () => {
  assert.deepEqual(shown('1\r\n2\r\n3\r\n4'), ['2', '3', '4'])
})

test('colours are reported, modes and titles are not shown', () => {
  const terminal = new Terminal(2, 20)
  terminal.write('\u001b[?2004h\u001b]0;title\u0007ok \u001b[31mfailed\u001b[0m')
  assert.deepEqual(terminal.rows(), [
    [
      { text: 'ok ', color: '' },
      { text: 'failed', color: 'red' },
    ],
  ])
})

test('a long line wraps to the next row', () => {
  assert.deepEqual(shown('12345678901234567890abc\r\nnext'), [
    '12345678901234567890',
    'abc',
    'next',
  ])
})

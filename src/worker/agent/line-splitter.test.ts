import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteTail, LineSplitter } from './spawn.js'

function split(chunks: readonly Uint8Array[]): string[] {
  const lines: string[] = []
  const splitter = new LineSplitter((line) => lines.push(line))
  for (const chunk of chunks) splitter.write(chunk)
  splitter.end()
  return lines
}

test('lines do not depend on chunk boundaries', () => {
  const text = 'grüße €\r\n\n漢字\nlast 😀'
  const bytes = Buffer.from(text)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
      const chunks: Buffer[] = []
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1
        chunks.push(bytes.subarray(at, at + size))
        at += size
      }
      assert.deepEqual(split(chunks), ['grüße €', '', '漢字', 'last 😀'])
    }),
  )
})

test('an unfinished line is emitted at the end, an empty one is not', () => {
  assert.deepEqual(split([Buffer.from('a\nb')]), ['a', 'b'])
  assert.deepEqual(split([Buffer.from('a\n')]), ['a'])
  assert.deepEqual(split([]), [])
})

test('long lines are cut, without loss or repetition', () => {
  const size = 16 * 1024
  const long = 'x'.repeat(2 * size + 10)
  const pieces = ['x'.repeat(size), 'x'.repeat(size), 'x'.repeat(10)]
  assert.deepEqual(split([Buffer.from(`${long}\nnext\n`)]), [...pieces, 'next'])
  const lines: string[] = []
  const splitter = new LineSplitter((line) => lines.push(line))
  splitter.write(Buffer.from(long))
  assert.equal(lines.length, 2)
})

test('the tail is the end of the stream, and begins with a complete character', () => {
  const tail = new ByteTail(8)
  assert.equal(tail.toString(), '')
  tail.write(Buffer.from('abc'))
  assert.equal(tail.toString(), 'abc')
  tail.write(Buffer.from('0123456789'))
  assert.equal(tail.toString(), '23456789')
  tail.write(Buffer.from('€€€'))
  assert.equal(tail.toString(), '€€')
})

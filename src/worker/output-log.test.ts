import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { OutputLog } from './output-log.js'

function readLines(stream: PassThrough, onLine: (line: string) => void): void {
  const log = new OutputLog(stream, onLine)
  stream.on('data', (chunk: Buffer) => log.write(chunk))
}

test('all lines come in order, the unfinished last one too', async () => {
  const stream = new PassThrough()
  const lines: string[] = []
  readLines(stream, (line) => lines.push(line))
  stream.write('one\ntw')
  stream.end('o\nthree')
  await once(stream, 'close')
  assert.deepEqual(lines, ['one', 'two', 'three'])
})

test('a flood is read a little in each turn, and nothing of it is lost', async () => {
  const stream = new PassThrough()
  const count = 20_000
  let seen = 0
  let mostPerTurn = 0
  let perTurn = 0
  readLines(stream, (line) => {
    assert.equal(line, `line ${seen}`)
    seen += 1
    perTurn += 1
  })
  const text = Array.from({ length: count }, (_, index) => `line ${index}\n`).join('')
  stream.end(text)
  for (let turns = 0; seen < count; turns += 1) {
    assert.ok(turns < count, 'the flood stands still')
    await setImmediate()
    mostPerTurn = Math.max(mostPerTurn, perTurn)
    perTurn = 0
  }
  assert.ok(mostPerTurn < 2000, `${mostPerTurn} lines in one turn`)
})

test('a stream that fails ends with what it had', async () => {
  const stream = new PassThrough()
  const lines: string[] = []
  readLines(stream, (line) => lines.push(line))
  stream.write('half')
  await setImmediate()
  stream.destroy(new Error('reset'))
  await once(stream, 'close').catch(() => {})
  await setImmediate()
  assert.deepEqual(lines, ['half'])
})

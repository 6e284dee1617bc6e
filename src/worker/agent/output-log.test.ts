import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { OutputLog } from './output.js'

function readLines(stream: PassThrough, onLine: (line: string) => void): void {
  const log = new OutputLog([stream], onLine)
  stream.on('data', (chunk: Buffer) => log.write(chunk))
}

test('all lines arrive in order, including an unfinished last one', async () => {
  const stream = new PassThrough()
  const lines: string[] = []
  readLines(stream, (line) => lines.push(line))
  stream.write('one\ntw')
  stream.end('o\nthree')
  await once(stream, 'close')
  assert.deepEqual(lines, ['one', 'two', 'three'])
})

test('a flood of output is read in small parts in each turn, without loss', async () => {
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
    assert.ok(turns < count, 'the flood is stalled')
    await setImmediate()
    mostPerTurn = Math.max(mostPerTurn, perTurn)
    perTurn = 0
  }
  assert.ok(mostPerTurn < 2000, `${mostPerTurn} lines in one turn`)
})

test('a stream that fails still emits what it had received', async () => {
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

test('each line names its task, and lines of two tasks are not joined', async () => {
  const stream = new PassThrough()
  const lines: unknown[] = []
  const log = new OutputLog([stream], (line, { task }) => lines.push([task, line]))
  const [a, b] = [{ task: 'aa' }, { task: 'bb' }]
  log.write(Buffer.from('one\ntw'), a)
  log.write(Buffer.from('o\nhalf'), { ...a })
  log.write(Buffer.from('three\n'), b)
  log.write(Buffer.from('four\n'))
  stream.destroy()
  await once(stream, 'close')
  await setImmediate()
  assert.deepEqual(lines, [
    ['aa', 'one'],
    ['aa', 'two'],
    ['aa', 'half'],
    ['bb', 'three'],
    [undefined, 'four'],
  ])
})

test('all sources are paused while there is too much output, and resumed afterwards', async () => {
  const [stream, other] = [new PassThrough(), new PassThrough()]
  const log = new OutputLog([stream, other], () => {})
  log.write(Buffer.alloc(10_000, 'line\n'), { task: 'aa' })
  assert.ok(stream.isPaused() && other.isPaused())
  for (let turns = 0; other.isPaused(); turns += 1) {
    assert.ok(turns < 1000, 'the sources stay paused')
    await setImmediate()
  }
  assert.ok(!stream.isPaused())
  stream.destroy()
})

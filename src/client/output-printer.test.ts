import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../base/ids.js'
import type { OutputStream, TaskOutput } from '../wire/message.js'
import { OutputPrinter } from './output.js'

/** A printer, and its output. */
class Setup {
  readonly printed: Record<OutputStream, string> = { stdout: '', stderr: '' }
  droppedBytes = 0
  isFull = false
  readonly printer: OutputPrinter = new OutputPrinter({
    write: (stream, bytes) => {
      if (!this.isFull) this.printed[stream] += Buffer.from(bytes).toString('latin1')
      return !this.isFull
    },
    onDropped: (bytes) => (this.droppedBytes += bytes),
  })

  /** Task `a` has the id `61616161…`. */
  tell(id: string, text: string, facts: Partial<TaskOutput> = {}): void {
    this.printer.print({
      kind: 'taskOutput',
      taskId: taskId(id.repeat(16)),
      client: identity('c'),
      name: `task-${id}`,
      stream: 'stdout',
      content: Buffer.from(text, 'latin1'),
      droppedBytes: 0,
      isLast: false,
      ...facts,
    })
  }

  end(id: string): void {
    this.tell(id, '', { isLast: true })
  }
}

test('the output of a single task appears as if it ran here, including unfinished lines', () => {
  const setup = new Setup()
  setup.tell('a', 'one\ntw')
  setup.tell('a', 'o')
  assert.equal(setup.printed.stdout, 'one\ntwo')
  setup.tell('a', 'trouble\n', { stream: 'stderr' })
  assert.deepEqual(setup.printed, { stdout: 'one\ntwo', stderr: 'trouble\n' })
  setup.end('a')
  setup.tell('b', ' three\n')
  assert.equal(setup.printed.stdout, 'one\ntwo three\n')
})

test('while several print, whole lines appear after their names', () => {
  const setup = new Setup()
  setup.tell('a', 'alone\n')
  setup.tell('b', 'x\ny\nz')
  setup.tell('a', 'half')
  setup.tell('b', 'z\n')
  setup.tell('a', ' and half\n')
  assert.deepEqual(setup.printed.stdout.split('\n'), [
    'alone',
    '[task-b 62626262] x',
    '[task-b 62626262] y',
    '[task-b 62626262] zz',
    '[task-a 61616161] half and half',
    '',
  ])
  setup.end('b')
  setup.tell('a', 'alone again\n')
  assert.ok(setup.printed.stdout.endsWith('\nalone again\n'))
})

test('no task continues the line of another', () => {
  const setup = new Setup()
  setup.tell('a', 'progress: 1%')
  setup.tell('b', 'hello\n')
  setup.tell('a', ' 2%\n')
  setup.tell('b', 'held')
  setup.end('b')
  const lines = ['progress: 1%', '[task-b 62626262] hello', '[task-a 61616161]  2%']
  assert.deepEqual(setup.printed.stdout.split('\n'), [...lines, '[task-b 62626262] held', ''])
})

test('output that was held is printed when the other tasks end', () => {
  const setup = new Setup()
  setup.tell('a', 'a\n')
  setup.tell('b', 'b')
  setup.end('a')
  setup.tell('b', 'b\n')
  assert.equal(setup.printed.stdout, 'a\n[task-b 62626262] bb\n')
  setup.tell('a', 'x')
  setup.tell('c', 'c')
  setup.printer.endAll()
  assert.ok(setup.printed.stdout.endsWith('[task-c 63636363] c\n'), setup.printed.stdout)
})

test('lines are cut at 64 KiB, and never within a character', () => {
  const limit = 64 * 1024
  const setup = new Setup()
  setup.tell('a', 'x'.repeat(limit - 10))
  setup.tell('a', 'x'.repeat(limit))
  setup.tell('a', '\n')
  const lengths = setup.printed.stdout.split('\n').map((line) => line.length)
  assert.deepEqual(lengths, [limit, limit - 10, 0])
  const umlauts = new Setup()
  const text = `x${'ä'.repeat(limit)}\n`
  umlauts.tell('a', Buffer.from(text).toString('latin1'))
  const lines = Buffer.from(umlauts.printed.stdout, 'latin1').toString().split('\n')
  assert.equal(lines.join(''), text.trimEnd())
  assert.ok(lines.length === 4 && lines.every((line) => Buffer.byteLength(line) <= limit))
})

test('output dropped on the way and output dropped here are both counted', () => {
  const setup = new Setup()
  setup.tell('a', 'one\n', { droppedBytes: 100 })
  setup.isFull = true
  setup.tell('a', 'twelve bytes')
  assert.equal(setup.droppedBytes, 112)
})

test('any number of tasks that never end take little memory', () => {
  const setup = new Setup()
  for (let number = 0; number < 1_000; number += 1) {
    setup.tell('a', 'begun', { taskId: taskId(String(number).padStart(16, '0')) })
  }
  const held = 1_000 - setup.printed.stdout.split('begun').length + 1
  assert.ok(held <= 100, `${held} are held`)
})

test('a name cannot move the cursor', () => {
  const setup = new Setup()
  setup.tell('a', 'a\n')
  setup.tell('b', 'b\n', { name: 'x\u001b[2J\ny' })
  setup.tell('c', 'c\n', { name: '' })
  const lines = ['a', '[x [2J y 62626262] b', '[anonymous 63636363] c', '']
  assert.deepEqual(setup.printed.stdout.split('\n'), lines)
})

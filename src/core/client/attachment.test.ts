import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_INLINE, FEATURE_RUNS } from '../../base/features.js'
import type { ClientAction } from './events.js'
import {
  Harness,
  inlineResult,
  runResult,
  runTaskId,
  sent,
  submission,
  summary,
} from './harness.test.kit.js'

/** Submits tasks `t0`, `t1`, … of the function `f` with the attachments `a` and `b`. */
class Setup extends Harness {
  #count = 0

  submitWith(count: number, args: readonly Uint8Array[] = []): string[] {
    const owners: string[] = []
    for (let left = count; left > 0; left -= 1) {
      const owner = `t${this.#count}`
      this.#count += 1
      const task = submission(owner, args, 'f', ['a', 'b'])
      this.handle({ type: 'taskSubmitted', task })
      owners.push(owner)
    }
    return owners
  }

  finish(owners: readonly string[]): void {
    for (const owner of owners) this.receive(inlineResult(owner))
  }
}

/** The arguments of the tasks among some actions. */
function argumentsOf(actions: readonly ClientAction<string>[]): string[][] {
  return sent(actions).flatMap((message) => {
    if (message.kind !== 'task') return []
    return [
      message.functionArgs.map(
        ({ type, data }) => `${type} ${Buffer.from(data).toString('latin1')}`,
      ),
    ]
  })
}

test('attachments are stored before the task, which names them behind its arguments', () => {
  const setup = new Setup()
  setup.open()
  setup.submitWith(1, [Buffer.from('x'), Buffer.alloc(101, 'y')])
  const actions = setup.flush()
  assert.deepEqual(summary(actions), ['create f <obj 797979> a b', 'task t0'])
  assert.deepEqual(argumentsOf(actions), [
    [
      'inline x',
      `objectID object:${'y'.repeat(17)}`,
      'objectID attachment:a',
      'objectID attachment:b',
    ],
  ])
})

test('they are sent once for a thousand tasks, and stay between them', () => {
  const setup = new Setup()
  setup.open()
  setup.finish(setup.submitWith(1_000).filter(() => setup.flush()))
  setup.advance(59_000)
  setup.finish(setup.submitWith(1))
  setup.flush()
  const creates = summary(setup.actions).filter((line) => line.startsWith('create'))
  assert.deepEqual(creates, ['create serializer', 'create f a b'])
  assert.deepEqual(
    summary(setup.actions).filter((line) => line.startsWith('delete')),
    [],
  )
})

test('a minute after the last use they are deleted, and sent again when they are needed', () => {
  const setup = new Setup()
  setup.open()
  const owners = setup.submitWith(2)
  setup.flush()
  setup.finish(owners)
  const later = setup.advance(61_000)
  setup.flush()
  const deletes = summary(setup.actions).filter((line) => line.startsWith('delete'))
  assert.deepEqual(deletes, ['delete attachment:a attachment:b'])
  assert.deepEqual(
    summary(later).filter((line) => line.startsWith('create')),
    [],
  )
  setup.submitWith(1)
  assert.deepEqual(summary(setup.flush()), ['create a b', 'task t2'])
})

test('while a task uses them they stay, however long it takes', () => {
  const setup = new Setup()
  setup.open()
  const [first, second] = setup.submitWith(2)
  setup.flush()
  setup.finish([first ?? ''])
  for (let minute = 0; minute < 5; minute += 1) {
    setup.advance(50_000)
    setup.echo()
  }
  assert.deepEqual(
    summary(setup.flush()).filter((line) => line.startsWith('delete')),
    [],
  )
  setup.finish([second ?? ''])
})

test('a scheduler that is another one, or came back, gets them again before the task', () => {
  for (const scheduler of ['S1', 'S2']) {
    const setup = new Setup()
    setup.open('S1')
    setup.submitWith(2)
    setup.flush()
    setup.disconnect()
    setup.open(scheduler)
    const lines = summary(setup.flush()).filter((line) => line !== 'heartbeat')
    assert.deepEqual(lines, ['create f a b', 'task t0', 'task t1'])
  }
})

test('what was idle when the connection was lost is sent again, too', () => {
  const setup = new Setup()
  setup.open('S1')
  const owners = setup.submitWith(1)
  setup.flush()
  setup.finish(owners)
  setup.disconnect()
  setup.open('S2')
  setup.submitWith(1)
  assert.deepEqual(summary(setup.flush()), ['create f a b', 'task t1'])
})

test('to a scheduler of version 1.9.9 all arguments are objects, the attachments still last', () => {
  const setup = new Setup()
  setup.open('')
  setup.submitWith(1, [Buffer.from('x')])
  const actions = setup.flush()
  assert.deepEqual(summary(actions), ['create f <obj 743a78> a b', 'task t0'])
  assert.deepEqual(argumentsOf(actions), [
    ['objectID object:x', 'objectID attachment:a', 'objectID attachment:b'],
  ])
})

test('the same value as an argument and an attachment is one object', () => {
  const [attachment] = submission('', [], '', ['a']).attachments
  const setup = new Setup({
    inlineLimitBytes: 0,
    objectIdOf: () => attachment?.id ?? assert.fail(),
  })
  setup.open()
  setup.submitWith(1, [Buffer.from('a')])
  const actions = setup.flush()
  assert.deepEqual(summary(actions), ['create f <obj 743a61> b', 'task t0'])
  assert.deepEqual(argumentsOf(actions), [
    ['objectID attachment:a', 'objectID attachment:a', 'objectID attachment:b'],
  ])
})

test('the tasks of a run have them together, and keep them until the last one has ended', () => {
  const setup = new Setup()
  setup.open('S1', FEATURE_INLINE | FEATURE_RUNS)
  setup.submitRun(runTaskId(0), ['x', 'y', 'z', 'w'], ['a', 'b'])
  const actions = setup.flush()
  assert.deepEqual(summary(actions).slice(0, 1), ['create f a b'])
  assert.deepEqual(argumentsOf(actions), [['objectID attachment:a', 'objectID attachment:b']])
  // Each outcome cuts the run.
  setup.handle({ type: 'cancelRequested', taskId: runTaskId(1) })
  setup.receive(runResult(runTaskId(0), ['one']))
  setup.receive(runResult(runTaskId(2), ['three']))
  const deletes = (): string[] =>
    summary(setup.actions).filter((line) => line.startsWith('delete attachment'))
  setup.advance(50_000)
  setup.echo()
  setup.advance(50_000)
  setup.echo()
  setup.flush()
  assert.deepEqual(deletes(), [])
  setup.receive(runResult(runTaskId(3), ['four']))
  setup.advance(50_000)
  setup.echo()
  setup.advance(50_000)
  setup.flush()
  assert.deepEqual(deletes(), ['delete attachment:a attachment:b'])
})

test('to a scheduler without runs, each task of a run has them behind its own arguments', () => {
  for (const [scheduler, type] of [
    ['', 'objectID object:'],
    ['S1', 'inline '],
  ] as const) {
    const setup = new Setup()
    setup.open(scheduler)
    setup.submitRun(runTaskId(0), ['x', 'y'], ['a'])
    assert.deepEqual(argumentsOf(setup.flush()), [
      [`${type}x`, 'objectID attachment:a'],
      [`${type}y`, 'objectID attachment:a'],
    ])
  }
})

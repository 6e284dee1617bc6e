import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'
import { identity, taskId, type TaskId, taskPhrase } from '../../base/ids.js'
import { serializeError } from '../../serializer/error-codec.js'
import { PendingImport } from '../../serializer/module/policy.js'
import { codecOf } from '../../serializer/task-codec.js'
import { testClient, turn, until } from '../memory-link.test.kit.js'
import { ResultReader } from './result-reader.js'
import type { TaskOwner, TaskReport } from './home.js'

/** Records how its task ended. */
class Owner implements TaskOwner {
  readonly scope = undefined
  readonly taskId: TaskId
  readonly ends: unknown[] = []

  constructor(id = 'a') {
    this.taskId = taskId(id)
  }

  succeed(value: unknown, { metadata }: TaskReport): void {
    this.ends.push(['value', value, Buffer.from(metadata).toString()])
  }

  fail(error: unknown): void {
    this.ends.push(['error', error])
  }

  end(reason: string): void {
    this.ends.push([reason])
  }

  offer(): void {}

  progress(): void {}
}

const NOBODY = { worker: identity(''), failedTaskId: undefined }

/** A serializer that reads text after this many imports. */
class Setup {
  left: number
  readonly reader: ResultReader
  #import = (): void => {}

  constructor(imports: number) {
    this.left = imports
    this.reader = new ResultReader({
      serialize: () => NO_BYTES,
      deserialize: (bytes) => this.read(bytes),
    })
  }

  read(bytes: Uint8Array): string {
    if (this.left === 0) return Buffer.from(bytes).toString()
    this.left -= 1
    const done = new Promise<void>((resolve) => (this.#import = resolve))
    throw new PendingImport('x', done)
  }

  async import(): Promise<void> {
    this.#import()
    await turn()
  }
}

function success(
  owner: TaskOwner,
  payload = Buffer.from('text'),
  metadata = Buffer.from('profile'),
) {
  return { owner, isSuccess: true, payload, metadata, ...NOBODY }
}

test('a readable result is delivered immediately', () => {
  const owner = new Owner()
  new Setup(0).reader.finish(success(owner))
  assert.deepEqual(owner.ends, [['value', 'text', 'profile']])
})

test('a result that needs imports is delivered after them, from bytes of its own', async () => {
  const setup = new Setup(2)
  const owner = new Owner()
  const result = success(owner)
  setup.reader.finish(result)
  result.payload.fill(0)
  result.metadata.fill(0)
  assert.equal(setup.reader.has(owner.taskId), true)
  await setup.import()
  assert.deepEqual(owner.ends, [])
  await setup.import()
  assert.deepEqual(owner.ends, [['value', 'text', 'profile']])
  assert.equal(setup.reader.has(owner.taskId), false)
})

test('an unreadable result is delivered as the error, immediately or later', async () => {
  const setup = new Setup(0)
  setup.read = () => {
    throw new DeserializeError('garbage')
  }
  const now = new Owner()
  setup.reader.finish(success(now))
  const [[, told]] = now.ends as [[string, unknown]]
  assert.ok(told instanceof DeserializeError)
  const text = `the result of ${taskPhrase(now.taskId, '')} cannot be read here: garbage`
  assert.equal(told.message, text)
  const late = new Owner()
  setup.read = () => {
    throw new PendingImport('x', Promise.resolve())
  }
  setup.reader.finish(success(late))
  await until(() => late.ends.length > 0)
  const [[kind, reason]] = late.ends as [[string, unknown]]
  assert.equal(kind, 'error')
  assert.ok(reason instanceof DeserializeError)
  assert.match(reason.message, /100 imports/)
})

test('a waiting result can be ended, once', async () => {
  const setup = new Setup(1)
  const owner = new Owner()
  setup.reader.finish(success(owner))
  assert.equal(setup.reader.end(taskId('other'), 'cancelled'), false)
  assert.equal(setup.reader.end(owner.taskId, 'cancelled'), true)
  assert.equal(setup.reader.end(owner.taskId, 'cancelled'), false)
  await setup.import()
  assert.deepEqual(owner.ends, [['cancelled']])
})

test('all matching waiting results can be ended', () => {
  const owners = ['a', 'b', 'c'].map((id) => new Owner(id))
  const { reader } = new Setup(3)
  for (const owner of owners) reader.finish(success(owner))
  reader.endAll('closed', (owner) => owner !== owners[1])
  assert.deepEqual(
    owners.map(({ ends }) => ends),
    [[['closed']], [], [['closed']]],
  )
})

test('an error arrives as itself', () => {
  const owner = new Owner()
  const payload = serializeError(new RangeError('no'))
  new Setup(0).reader.finish({ owner, isSuccess: false, payload, metadata: NO_BYTES, ...NOBODY })
  const [[kind, error]] = owner.ends as [[string, unknown]]
  assert.equal(kind, 'error')
  assert.ok(error instanceof RangeError)
})

test('a future whose result waits for an import runs, and can be cancelled or closed', async () => {
  let imported = (): void => {}
  const codec = codecOf({
    serialize: (value) => Buffer.from(String(value)),
    deserialize: () => {
      throw new PendingImport('x', new Promise((resolve) => (imported = resolve)))
    },
  })
  const { connection, scheduler, submitter } = testClient({ clientCodec: codec })
  scheduler.isHolding = true
  const futures = [1, 2, 3].map(() => submitter.submit(() => 1, []))
  await until(() => scheduler.unfinished.size === 3)
  for (const task of scheduler.unfinished.values()) {
    scheduler.finish(task, 'success', Buffer.from('x'))
  }
  await until(() => connection.unfinishedTasks === 0)
  assert.deepEqual(
    futures.map(({ state }) => state),
    ['running', 'running', 'running'],
  )
  assert.equal(futures[0]?.cancel('reason'), true)
  await assert.rejects(futures[0], { name: 'TaskCancelledError', cause: 'reason' })
  await connection.close()
  imported()
  for (const future of futures.slice(1)) {
    await assert.rejects(future, { name: 'TaskCancelledError', message: /client was closed/ })
  }
})

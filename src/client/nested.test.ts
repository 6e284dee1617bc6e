import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskNotFoundError } from '../base/errors.js'
import { identity, taskId, type TaskId } from '../base/ids.js'
import { silentLogger } from '../base/logger.js'
import { taskScopes, type TaskHost, type TaskScope } from '../runtime/task-scope.js'
import { defaultSerializer } from '../serializer/serializer.js'
import { decodeTaskFlags } from '../wire/metadata.js'
import { Client, currentClient } from './client.js'
import { testClient, until, type TestClient } from './memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const text = (length: number): string => 'x'.repeat(length)

const HOST: TaskHost = {
  address: 'tcp://127.0.0.1:1',
  worker: identity('worker 1'),
  clients: new Map(),
}

/** The scope of a task, which counts its children. */
class Scope implements TaskScope {
  readonly taskId: TaskId
  readonly priority: number
  readonly output = 'log'
  readonly outputClient = identity('')
  readonly traceContext = ''
  readonly serializer = defaultSerializer
  readonly host: TaskHost
  readonly context = {
    id: 'parent',
    name: 'parent',
    attempt: 1,
    signal: new AbortController().signal,
    log: silentLogger,
    capabilities: {},
    setProgress: () => {},
  }
  open = 0
  started = 0

  constructor(priority = 0, host: TaskHost = HOST, id = 'parent') {
    this.priority = priority
    this.host = host
    this.taskId = taskId(id)
  }

  childStarted(): void {
    this.open += 1
    this.started += 1
  }

  childEnded(): void {
    this.open -= 1
  }
}

/** Calls `fn` inside a task. */
function inside<R>(scope: Scope, fn: () => R): R {
  try {
    return taskScopes.run(scope, fn)
  } finally {
    taskScopes.end(scope)
  }
}

function sentTasks({ scheduler }: TestClient) {
  return scheduler.received.flatMap((message) => (message.kind === 'task' ? [message] : []))
}

test('tasks submitted inside a task are its children, with a higher priority', async () => {
  const client = testClient()
  const scope = new Scope(4)
  const future = inside(scope, () => client.submitter.submit(double, [1]))
  const outside = client.submitter.submit(double, [2])
  await Promise.all([future, outside])
  const [child, other] = sentTasks(client)
  assert.equal(child?.parentTaskId, 'parent')
  assert.equal(decodeTaskFlags(child?.metadata ?? Buffer.alloc(0)).priority, 5)
  assert.equal(other?.parentTaskId, '')
  assert.equal(decodeTaskFlags(other?.metadata ?? Buffer.alloc(0)).priority, 0)
})

test('tasks that run at the same time keep their children separate', async () => {
  const client = testClient()
  const scopes = [new Scope(1, HOST, 'one'), new Scope(5, HOST, 'two')] as const
  const { submitter } = client
  const children = [0, 1, 0].map((which) =>
    inside(scopes[which === 0 ? 0 : 1], () => submitter.submit(double, [which])),
  )
  await Promise.all(children)
  const sent = sentTasks(client)
  assert.deepEqual(
    sent.map(({ parentTaskId }) => parentTaskId),
    ['one', 'two', 'one'],
  )
  assert.deepEqual(
    sent.map(({ metadata }) => decodeTaskFlags(metadata).priority),
    [2, 6, 2],
  )
  assert.deepEqual(
    scopes.map(({ started, open }) => [started, open]),
    [
      [2, 0],
      [1, 0],
    ],
  )
})

test('the priority of a view is added to that', async () => {
  const client = testClient()
  const view = client.with({ priority: 10 })
  await inside(new Scope(4), () => view.submit(double, [1]))
  const [child] = sentTasks(client)
  assert.equal(decodeTaskFlags(child?.metadata ?? Buffer.alloc(0)).priority, 15)
})

test('a scope is notified of each child once when it starts and once when it ends', async () => {
  const client = testClient()
  const scope = new Scope()
  const { submitter } = client
  const futures = inside(scope, () => [
    submitter.submit(double, [1]),
    submitter.submit(() => {
      throw new Error('no')
    }, []),
    submitter.submit(double, [new WeakMap()]),
    submitter.submit(text, [20_000]),
  ])
  assert.equal(scope.started, 4)
  assert.equal(scope.open, 3, 'what cannot be submitted has ended at once')
  const cancelled = inside(scope, () => submitter.submit(double, [1]))
  cancelled.cancel()
  cancelled.cancel()
  assert.equal(scope.open, 3)
  await Promise.allSettled(futures)
  assert.equal(scope.open, 0)
  assert.equal(scope.started, 5)
})

test('a result that stays in the cluster has ended; fetching it does not count', async () => {
  const client = testClient()
  const scope = new Scope()
  const future = inside(scope, () => client.submitter.submit(text, [20_000]))
  await until(() => future.state === 'done')
  assert.equal(scope.open, 0)
  await future
  assert.equal(scope.open, 0)
})

test('a map is one child', async () => {
  const client = testClient()
  const scope = new Scope()
  const maps = inside(scope, () => [
    client.submitter.map(double, [1, 2, 3], {}, false),
    client.submitter.map(double, [], {}, false),
    client.submitter.map(double, [new WeakMap()], {}, false),
  ])
  assert.equal(scope.started, 3)
  await Promise.allSettled(maps)
  assert.equal(scope.open, 0)
  const [child] = sentTasks(client)
  assert.equal(child?.parentTaskId, 'parent')
})

test('closing the client ends all children', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const scope = new Scope()
  const things = inside(scope, () => [
    client.submitter.submit(double, [1]),
    client.submitter.map(double, [1, 2], {}, false),
  ])
  await until(() => client.scheduler.unfinished.size === 3)
  const ends = Promise.allSettled(things)
  await client.connection.close()
  await ends
  assert.equal(scope.open, 0)
})

test('a client inside tasks names its worker, and keeps nothing alive', async () => {
  const client = testClient({ worker: identity('worker 7') })
  client.link.isRef = false
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 1)
  assert.equal(client.link.isRef, false)
  assert.equal(client.scheduler.heartbeat?.worker, 'worker 7')
  client.scheduler.release()
  assert.equal(await future, 2)
})

test('a client outside tasks has no worker', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  assert.equal(client.scheduler.heartbeat?.worker, '')
})

test('outside tasks there is no current client', () => {
  assert.throws(() => currentClient(), TaskNotFoundError)
})

test('the current client is the same for all tasks of a client, until it is closed', async () => {
  const host = { ...HOST, clients: new Map() }
  const first = inside(new Scope(0, host), () => currentClient())
  const second = inside(new Scope(0, host), () => currentClient())
  assert(first instanceof Client)
  assert.equal(first, second)
  assert.equal(first.address, HOST.address)
  await first.close()
  const third = inside(new Scope(0, host), () => currentClient())
  assert.notEqual(third, first)
  const other = { serialize: () => new Uint8Array(0), deserialize: () => undefined }
  const scope = Object.assign(new Scope(0, host), { serializer: other })
  const fourth = inside(scope, () => currentClient())
  assert.notEqual(fourth, third)
  await Promise.all([third.close(), fourth.close()])
})

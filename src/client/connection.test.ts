import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DisconnectedError, ProtocolError, TaskCancelledError } from '../base/errors.js'
import type { LogFields, Logger } from '../base/logger.js'
import { ClientMachine } from '../core/client/client-machine.js'
import { encode, PLAIN_RESULT } from '../wire/message.js'
import { schedulerId, type TaskId } from '../base/ids.js'
import { defaultSerializer, type Serializer } from '../serializer/serializer.js'
import { codecOf } from '../serializer/task-codec.js'
import type { Future } from './future/future.js'
import { ManualClock, testClient, turn, until } from './memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const long = (text: string): number => text.length

class Log implements Logger {
  readonly lines: { readonly text: string; readonly fields: LogFields | undefined }[] = []

  debug(): void {}
  info(): void {}
  warn(text: string, fields?: LogFields): void {
    this.lines.push({ text, fields })
  }
  error(text: string, fields?: LogFields): void {
    this.lines.push({ text, fields })
  }
}

test('the process is kept alive while something is unfinished, and not otherwise', async () => {
  const client = testClient()
  assert.equal(client.link.isRef, false)
  const future = client.submitter.submit(double, [1])
  assert.equal(client.link.isRef, true)
  await future
  assert.equal(client.link.isRef, false)
  const results = client.submitter.map(double, [1, 2], {}, false)
  assert.equal(client.link.isRef, true)
  await results
  assert.equal(client.link.isRef, false)
  client.submitter.submit(double, [1]).cancel()
  assert.equal(client.link.isRef, false)
  await assert.rejects(client.submitter.submit(double, [new WeakMap()]))
  assert.equal(client.link.isRef, false)
})

test('tasks wait in the client while the transport is full, until it drains', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  client.link.isFull = true
  const text = 'x'.repeat(4_000)
  const futures = Array.from({ length: 1_000 }, () => client.submitter.submit(long, [text]))
  await turn()
  await turn()
  const arrived = client.scheduler.received.length
  assert(arrived < 600, `${arrived} messages of 4 kB`)
  for (let i = 0; i < 3; i += 1) await turn()
  assert.equal(client.scheduler.received.length, arrived, 'no more until it drains')
  client.link.drain()
  assert.deepEqual(new Set(await Promise.all(futures)), new Set([4_000]))
})

test('a connection that was full when it broke is not full any more', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  client.link.isFull = true
  const futures = Array.from({ length: 500 }, () =>
    client.submitter.submit(long, ['x'.repeat(4_000)]),
  )
  await turn()
  client.link.lose()
  client.link.isFull = false
  client.link.connect()
  assert.equal((await Promise.all(futures)).length, 500)
  assert.deepEqual(client.scheduler.faults, [])
})

test('a broken connection loses no future', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const futures = [1, 2, 3].map((x) => client.submitter.submit(double, [x]))
  await until(() => client.scheduler.unfinished.size === 3)
  client.link.lose()
  futures.push(client.submitter.submit(double, [4]))
  client.scheduler.restart('scheduler-id-002')
  client.scheduler.isHolding = false
  client.link.connect()
  assert.deepEqual(await Promise.all(futures), [2, 4, 6, 8])
  assert.deepEqual(client.scheduler.faults, [])
})

test('a 1.9.9 scheduler gets everything as objects, and nothing twice', async () => {
  const client = testClient({ id: '' })
  client.scheduler.isHolding = true
  const futures = [1, 2].map((x) => client.submitter.submit(double, [x]))
  await until(() => client.scheduler.unfinished.size === 2)
  client.link.lose()
  client.link.connect()
  await until(() => client.scheduler.heartbeats === 2)
  await turn()
  client.scheduler.release()
  assert.deepEqual(await Promise.all(futures), [2, 4])
  assert.deepEqual(client.scheduler.faults, [])
})

test('after silence unfinished futures fail, with the last connection error', async () => {
  const clock = new ManualClock()
  const client = testClient({ clock, isConnected: false, client: { timeoutMs: 10_000 } })
  const future = client.submitter.submit(double, [1])
  await turn()
  client.link.failToConnect('connection refused')
  clock.advance(9_999)
  assert.equal(future.state, 'pending')
  clock.advance(1)
  assert.equal(future.state, 'failed')
  await assert.rejects(future, (error) => {
    assert(error instanceof DisconnectedError)
    assert.match(error.message, /given up: no message .* for 10000 ms \(connection refused\)/)
    return true
  })
  const later = client.submitter.submit(double, [2])
  client.link.connect()
  assert.equal(await later, 4, 'the client goes on')
})

test('a map that waits for room continues, and ends, when the scheduler is given up', async () => {
  const clock = new ManualClock()
  const options = { timeoutMs: 10_000, maxUnfinishedTasks: 2 }
  const client = testClient({ clock, isConnected: false, client: options })
  const futures = [1, 2].map((x) => client.submitter.submit(double, [x]))
  const map = client.submitter.map(double, [1, 2, 3], {}, false)
  const hasEnded = assert.rejects(map, DisconnectedError)
  clock.advance(10_000)
  for (const future of futures) await assert.rejects(future, DisconnectedError)
  // The map submits its inputs in the next turn.
  await turn()
  clock.advance(10_000)
  await hasEnded
  assert.equal(client.link.isRef, false)
})

test('received bytes keep a silent scheduler alive', async () => {
  const clock = new ManualClock()
  const client = testClient({ clock, client: { timeoutMs: 10_000 } })
  const future = client.submitter.submit(double, [1])
  assert.equal(await future, 2)
  client.scheduler.isMute = true
  client.scheduler.isHolding = true
  const second = client.submitter.submit(double, [1])
  await turn()
  for (let i = 0; i < 10; i += 1) {
    client.link.progress()
    clock.advance(5_000)
  }
  assert.equal(second.state, 'queued')
  clock.advance(12_000)
  assert.equal(second.state, 'failed')
})

test('malformed messages are dropped, and logged at a bounded rate', async () => {
  const logger = new Log()
  const client = testClient({ client: { logger } })
  await client.submitter.submit(double, [1])
  for (let i = 0; i < 5; i += 1) client.link.inject(Buffer.from('nonsense'))
  assert.deepEqual(
    logger.lines.map(({ text }) => text),
    ['dropped a malformed message'],
  )
  assert.equal(await client.submitter.submit(double, [2]), 4)
})

test('results for unknown tasks are ignored', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  const stray = {
    kind: 'taskResult',
    taskId: 'stranger' as TaskId,
    status: 'success',
    metadata: Buffer.alloc(3),
    results: [],
    ...PLAIN_RESULT,
  } as const
  client.link.inject(Buffer.from(encode(stray)))
  assert.equal(await client.submitter.submit(double, [2]), 4)
})

test('a value that cannot be read fails its future, and nothing else', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 1)
  for (const task of client.scheduler.unfinished.values()) {
    client.scheduler.finish(task, 'success', Buffer.from([255, 255, 255]))
  }
  await assert.rejects(future, { name: 'DeserializeError' })
  client.scheduler.isHolding = false
  assert.equal(await client.submitter.submit(double, [2]), 4)
})

test('reading a result may submit, cancel and close: that happens after the result is delivered', async () => {
  const acts: (() => void)[] = []
  const serializer: Serializer = {
    serialize: (value) => defaultSerializer.serialize(value),
    deserialize(bytes) {
      acts.shift()?.()
      return defaultSerializer.deserialize(bytes)
    },
  }
  const { submitter, connection } = testClient({ clientCodec: codecOf(serializer) })
  const futures: Future<unknown>[] = []
  acts.push(() => futures.push(submitter.submit(double, [3])))
  assert.equal(await submitter.submit(double, [1]), 2)
  assert.equal(await futures[0], 6)
  acts.push(() => futures[1]?.cancel())
  const first = submitter.submit(double, [1])
  futures[1] = submitter.submit(double, [2])
  assert.equal(await first, 2)
  await assert.rejects(futures[1], { name: 'TaskCancelledError' })
  acts.push(() => void connection.close())
  assert.equal(await submitter.submit(double, [5]), 10)
  await connection.close()
})

test('a bug of ours fails all unfinished work, and closes the client', async () => {
  const logger = new Log()
  const client = testClient({ client: { logger } })
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 1)
  client.link.send = () => {
    throw new ProtocolError('cannot be encoded')
  }
  const second = client.submitter.submit(double, [2])
  await assert.rejects(future, { message: 'cannot be encoded' })
  await assert.rejects(second, { message: 'cannot be encoded' })
  await assert.rejects(client.submitter.submit(double, [3]), { name: 'ClientClosedError' })
  await client.connection.close()
  assert.equal(client.link.isClosed, true)
  assert.match(logger.lines[0]?.text ?? '', /failed/)
})

test('closing twice, at once or later, closes once', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  await Promise.all([client.connection.close(), client.connection.close()])
  await client.connection.close()
  assert.equal(client.scheduler.kinds.filter((kind) => kind === 'clientDisconnect').length, 1)
})

test('a client that never connected closes', async () => {
  const client = testClient({ isConnected: false })
  await client.connection.close()
  assert.equal(client.link.isClosed, true)
})

test('without reconnect a lost connection closes the client', async () => {
  const client = testClient({ client: { reconnect: false } })
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 1)
  client.link.lose('reset by peer')
  await assert.rejects(future, (error) => {
    assert(error instanceof DisconnectedError)
    assert.match(error.message, /the connection was lost: reset by peer/)
    return true
  })
  await assert.rejects(client.submitter.submit(double, [2]), DisconnectedError)
  await until(() => client.link.isClosed)
  await assert.rejects(client.submitter.submit(double, [3]), DisconnectedError)
  await assert.rejects(client.submitter.map(double, [1, 2], {}, false), DisconnectedError)
  await client.connection.close()
})

test('an unexpected echo changes nothing', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  const id = schedulerId(client.scheduler.id)
  const echo = encode({
    kind: 'clientHeartbeatEcho',
    schedulerId: id,
    features: 1,
    reports: [],
    waiting: [],
  })
  const before = client.scheduler.received.length
  client.link.inject(Buffer.from(echo), Buffer.from(echo))
  await turn()
  assert.equal(client.scheduler.received.length, before)
})

test('a bug of ours also ends a map that waits for its input, without blaming workers', async (t) => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  async function* inputs(): AsyncGenerator<number> {
    await new Promise(() => {})
    yield 1
  }
  const map = client.submitter.map(double, inputs(), {}, false)
  await until(() => client.scheduler.unfinished.size === 1)
  t.mock.method(ClientMachine.prototype, 'handle', () => {
    throw new Error('a bug')
  })
  client.link.lose()
  await assert.rejects(future, (error: Error) => {
    assert.equal(error.message, 'a bug')
    assert.doesNotMatch(error.stack ?? '', /on the worker/)
    return true
  })
  await assert.rejects(async () => map, TaskCancelledError)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeserializeError, SerializeError } from '../base/errors.js'
import { defaultSerializer, type Serializer } from '../serializer/serializer.js'
import { codecFrom, codecOf } from '../serializer/task-codec.js'
import { clientSerializer } from './travel.js'
import { until, testClient } from './memory-link.test.kit.js'

const double = (x: number): number => 2 * x

/** Everything as the default serializer writes it, behind a letter. */
class Lettered implements Serializer {
  readonly calls: string[] = []

  serialize(value: unknown): Uint8Array {
    this.calls.push(`serialize ${typeof value}`)
    if (value === 'poison') throw new RangeError('it is poison')
    if (value === 'text') return 'text' as unknown as Uint8Array
    return Buffer.concat([Buffer.from('L'), defaultSerializer.serialize(value)])
  }

  deserialize(bytes: Uint8Array): unknown {
    if (bytes[0] !== 0x4c) throw new RangeError('no L in front')
    const value = defaultSerializer.deserialize(bytes.subarray(1))
    this.calls.push(`deserialize ${typeof value}`)
    return value
  }
}

test('the scheduler gets the default serializer as a text, another one as a value', () => {
  assert.equal(
    Buffer.from(clientSerializer(defaultSerializer).content).toString(),
    'scaler-ts/default',
  )
  const own = clientSerializer({
    serialize: () => Uint8Array.of(1),
    deserialize: () => 'read',
  })
  own.check()
  assert.deepEqual(codecFrom(own.content).serialize(5), Uint8Array.of(1))
})

test('function, arguments and results go through the serializer of the client', async () => {
  const serializer = new Lettered()
  const { submitter, scheduler, connection } = testClient({
    client: { serializer },
    codec: codecOf(new Lettered()),
  })
  assert.equal(await submitter.submit(double, [21]), 42)
  const calls = ['serialize function', 'serialize number', 'deserialize number']
  assert.deepEqual(serializer.calls, calls)
  assert.deepEqual(await submitter.map(double, [1, 2], {}, false), [2, 4])
  assert.deepEqual(scheduler.faults, [])
  await connection.close()
})

test('an error of the serializer fails the future, and names the place', async () => {
  const client = testClient({ client: { serializer: new Lettered() } })
  const { submitter, connection, scheduler } = client
  await assert.rejects(submitter.submit(double, [1, 'poison']), (error) => {
    assert.ok(error instanceof SerializeError)
    assert.deepEqual(error.path, ['argument 2'])
    assert.match(error.message, /^argument 2: the client's serializer failed: RangeError: it is/)
    assert.ok(error.cause instanceof RangeError)
    return true
  })
  await assert.rejects(submitter.submit(double, ['text']), {
    message: "argument 1: the client's serializer returned a string instead of a Uint8Array",
  })
  await assert.rejects(submitter.map(double, [1, 'poison'], {}, false), (error) => {
    assert.ok(error instanceof SerializeError)
    assert.deepEqual(error.path, ['input 1'])
    return true
  })
  scheduler.isHolding = true
  const future = submitter.submit(double, [1])
  await until(() => scheduler.unfinished.size === 1)
  for (const task of scheduler.unfinished.values()) {
    scheduler.finish(task, 'success', Buffer.from('X'))
  }
  await assert.rejects(future, (error) => {
    assert.ok(error instanceof DeserializeError)
    assert.ok(error.cause instanceof RangeError)
    return true
  })
  await connection.close()
})

test('with a serializer that cannot travel, the client works, and every submit fails', async () => {
  const serializer = Object.assign(new Lettered(), { waits: Promise.resolve() })
  const { submitter, connection, scheduler } = testClient({ client: { serializer } })
  await until(() => scheduler.heartbeats > 0)
  const check = (error: unknown): true => {
    assert.ok(error instanceof SerializeError)
    assert.deepEqual(error.path, ['serializer', 'waits'])
    assert.match(error.message, /^serializer -> waits: .*client's serializer/)
    return true
  }
  const errors: unknown[] = []
  for (let round = 0; round < 2; round += 1) {
    await assert.rejects(submitter.submit(double, [1]), (error) => {
      errors.push(error)
      return check(error)
    })
  }
  assert.notEqual(errors[0], errors[1])
  await assert.rejects(submitter.map(double, [1], {}, false), check)
  await assert.rejects(submitter.map(double, [[1]], {}, true), check)
  assert.equal(scheduler.unfinished.size, 0)
  await connection.close()
})

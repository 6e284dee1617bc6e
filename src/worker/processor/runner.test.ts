import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NO_BYTES } from '../../base/bytes.js'
import { taskId } from '../../base/ids.js'
import { defaultSerializer } from '../../serializer/serializer.js'
import { deserializeError } from '../../serializer/error-codec.js'
import { PendingImport } from '../../serializer/module/policy.js'
import type { TaskResult } from '../../wire/message.js'
import type { RunnableFacts } from '../runnable-task.kit.js'
import { StoredObject } from './objects.js'
import { Setup } from './runner.kit.js'

test('tasks run in order, and their results leave together', () => {
  const setup = new Setup()
  setup.define('one', () => 1)
  setup.codec.values.set('argument', 20)
  setup.define('double', (x: number) => 2 * x)
  setup.add('warm', 'one')
  setup.runner.run()
  const inputs = [new StoredObject([Buffer.from('argument')])]
  for (const id of ['a', 'b', 'c']) setup.add(id, 'one')
  setup.add('d', 'double', { inputs })
  setup.runner.run()
  assert.deepEqual(setup.lines.slice(1), [
    'a success 1',
    'b success 1',
    'c success 1',
    'd success 40',
  ])
  assert.equal(setup.outbox.batches.length, 3)
  assert.equal(setup.runner.exitNote, 'nothing')
})

test('each result has the profile of its task', () => {
  const setup = new Setup()
  setup.define('spin', () => {
    const { user, system } = process.cpuUsage()
    const end = user + system + 20_000
    for (let used = 0; used < end; used = process.cpuUsage().user + process.cpuUsage().system);
    setup.now += 30
  })
  setup.add('a', 'spin')
  setup.runner.run()
  const [result] = setup.outbox.results
  const metadata = Buffer.from(result?.metadata ?? NO_BYTES)
  assert.equal(metadata.length, 16)
  assert.equal(metadata.readFloatBE(0), Math.fround(0.03))
  assert.ok(metadata.readFloatBE(12) >= 0.02)
})

test('a task that throws anything fails with it', () => {
  const setup = new Setup()
  setup.define('fail', () => {
    throw new RangeError('no')
  })
  setup.define('symbol', () => Symbol('s'))
  setup.define('getter', () => {
    return {
      get then(): never {
        throw new Error('not thenable')
      },
    }
  })
  for (const name of ['fail', 'symbol', 'getter', 'unknown']) setup.add(name, name)
  setup.codec.values.set('number', 5)
  setup.add('number', 'number')
  setup.define('one', () => 1)
  setup.add('argument', 'one', { inputs: [Buffer.from('nothing')] })
  setup.add('refused', 'one', {
    refusal: { payload: Buffer.from('refusal'), text: { name: 'E', message: '', stack: '' } },
  })
  setup.runner.run()
  assert.deepEqual(
    setup.outbox.results.map(({ status }) => status),
    new Array(7).fill('failed'),
  )
  assert.equal(setup.lines.at(-1), 'refused failed refusal')
})

test('a pending task delays the next one, but not earlier results', async () => {
  const setup = new Setup()
  let release = (): void => {}
  setup.define('wait', () => new Promise<void>((resolve) => (release = resolve)))
  setup.define('one', () => 1)
  setup.add('warm', 'one')
  setup.runner.run()
  setup.add('a', 'one')
  setup.add('b', 'wait')
  setup.add('c', 'one')
  setup.runner.run()
  assert.deepEqual(setup.runner.exitNote, { taskIds: ['b'] })
  assert.deepEqual(
    [1, 2, 3].map((number) => setup.statusOf(number).isStarted),
    [false, true, false],
  )
  await nextTurn()
  assert.deepEqual(setup.lines.slice(1), ['a success 1'])
  setup.add('d', 'one')
  setup.runner.run()
  release()
  await nextTurn()
  await nextTurn()
  assert.deepEqual(setup.lines.slice(1), [
    'a success 1',
    'b success ',
    'c success 1',
    'd success 1',
  ])
  assert.equal(setup.runner.exitNote, 'nothing')
})

test('rejected promises and unusual thenables', async () => {
  const setup = new Setup()
  setup.define('reject', () => Promise.reject(new Error('no')))
  setup.define('twice', () => ({
    then: (resolve: (value: number) => void, reject: (error: Error) => void) => {
      resolve(1)
      resolve(2)
      reject(new Error('no'))
    },
  }))
  setup.define('throws', () => ({
    then: () => {
      throw new Error('no')
    },
  }))
  for (const name of ['reject', 'twice', 'throws']) setup.add(name, name)
  setup.runner.run()
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  const states = setup.lines.map((line) => line.split(' ', 2).join(' '))
  assert.deepEqual(states, ['reject failed', 'twice success', 'throws failed'])
})

test('skipped tasks are answered without running', async () => {
  const setup = new Setup()
  let count = 0
  setup.define('count', () => (count += 1))
  for (const id of ['a', 'b', 'c']) setup.add(id, 'count')
  setup.runner.stop(taskId('b'), 'cancelled')
  setup.runner.stop(taskId('unknown'), 'cancelled')
  await nextTurn()
  assert.deepEqual(setup.lines, ['b canceled '])
  setup.runner.run()
  assert.deepEqual(setup.lines, ['b canceled ', 'a success 1', 'c success 2'])
})

test('a result leaves before a function is called that is slow or was never measured', () => {
  const setup = new Setup()
  const seen: number[] = []
  setup.define('one', () => 1)
  setup.define('look', () => {
    seen.push(setup.outbox.results.length)
    if (seen.length === 2) setup.now += 5
  })
  for (const id of ['a', 'b']) {
    setup.add(id, 'one')
    setup.runner.run()
  }
  for (const id of ['c', 'd', 'e']) {
    setup.add(`${id}1`, 'one')
    setup.add(`${id}2`, 'look')
    setup.runner.run()
  }
  // At first its time is unknown, then it was quick (one result is held), then it was slow.
  assert.deepEqual(seen, [3, 4, 7])
})

test('after a long task, and after a long burst, the event loop gets its turn', async () => {
  const setup = new Setup()
  setup.define('long', () => void (setup.now += 2))
  setup.define('short', () => void (setup.now += 0.6))
  setup.add('a', 'long')
  setup.add('b', 'long')
  setup.runner.run()
  assert.deepEqual(setup.lines, [], 'the result waits for the next one')
  assert.equal(setup.statusOf(1).isStarted, false)
  await nextTurn()
  assert.deepEqual(setup.lines, ['a success ', 'b success '])
  for (let id = 0; id < 30; id += 1) setup.add(String(id), 'short')
  setup.runner.run()
  assert.equal(setup.outbox.results.length - 2, 8)
  setup.runner.run()
  assert.equal(setup.outbox.results.length - 2, 8)
  for (let turn = 0; turn < 60; turn += 1) await nextTurn()
  assert.equal(setup.outbox.results.length, 32)
})

test('a task that needs an import waits for it, and later tasks wait for that task', async () => {
  const setup = new Setup()
  setup.define('one', () => 1)
  const left = ['function', 'argument', 'argument']
  setup.codec.values.set('argument', 5)
  setup.define('function', (x: number) => x)
  setup.codec.onRead = (name) => {
    if (left[0] !== name) return
    left.shift()
    throw new PendingImport(name, nextTurn())
  }
  setup.add('a', 'function', { inputs: [Buffer.from('argument')] })
  setup.add('b', 'one')
  setup.runner.run()
  assert.deepEqual(setup.runner.exitNote, { taskIds: ['a'] })
  assert.deepEqual(setup.lines, [])
  for (let turns = 0; turns < 20 && setup.lines.length < 2; turns += 1) await nextTurn()
  assert.deepEqual(setup.lines, ['a success 5', 'b success 1'])
  assert.deepEqual(left, [])
})

test('a task with endless imports fails, and so does one that throws after them', async () => {
  const setup = new Setup()
  setup.define('endless', () => 1)
  setup.define('broken', () => 1)
  setup.define('one', () => 1)
  let isImported = false
  setup.codec.onRead = (name) => {
    if (name === 'endless') throw new PendingImport(name, Promise.resolve())
    if (name !== 'broken') return
    if (isImported) throw new TypeError('broken')
    isImported = true
    throw new PendingImport(name, Promise.resolve())
  }
  for (const name of ['endless', 'broken', 'one']) setup.add(name, name)
  setup.runner.run()
  for (let turns = 0; turns < 20 && setup.lines.length < 3; turns += 1) await nextTurn()
  const [endless, broken, one] = setup.outbox.results
  assert.match(messageOf(endless), /^DeserializeError: it could not be read after 100 imports/)
  assert.match(messageOf(broken), /^DeserializeError: the function cannot be read: .*broken/)
  assert.equal(one?.status, 'success')
})

test('an error that a task throws is never mistaken for a pending import', () => {
  const setup = new Setup()
  let calls = 0
  setup.define('throws', () => {
    calls += 1
    throw new PendingImport('mine', Promise.resolve())
  })
  setup.add('a', 'throws')
  setup.runner.run()
  assert.deepEqual(
    setup.outbox.results.map(({ status }) => status),
    ['failed'],
  )
  assert.equal(calls, 1)
})

test('broken tasks fail one by one, and all others succeed', () => {
  const setup = new Setup()
  const poison = new Map<string, RunnablePart>([
    ['evaluation', { fn: 'throws at evaluation' }],
    ['not a function', { fn: 'number' }],
    ['argument', { fn: 'one', inputs: [Buffer.from('nothing')] }],
    ['result', { fn: 'symbol' }],
    ['serializer', { fn: 'one', serializer: new StoredObject([Buffer.from([0xff, 1, 2])]) }],
    ['serializer that is none', { fn: 'one', serializer: serializerOf('text') }],
    ['attachment', { fn: 'attached' }],
    ['inline attachment', { fn: 'attached', inputs: [Buffer.from('x')] }],
  ])
  setup.codec.values.set('number', 5)
  setup.codec.counts.set('attached', 1)
  setup.define('one', () => 1)
  setup.define('symbol', () => Symbol('s'))
  setup.define('attached', () => 1)
  const kinds = [...poison]
  for (let index = 0; index < 1_000; index += 1) {
    const [kind, { fn, ...part }] = kinds[index % kinds.length] as [string, RunnablePart]
    setup.add(`${kind} ${index}`, fn, part)
    setup.add(`good ${index}`, 'one')
  }
  while (setup.outbox.results.length < 2_000) {
    setup.now += 100
    setup.runner.run()
  }
  for (const [index, result] of setup.outbox.results.entries()) {
    assert.equal(result.status, index % 2 === 0 ? 'failed' : 'success')
  }
  const messages = setup.outbox.results.slice(0, 2 * kinds.length).flatMap((result) => {
    return result.status === 'failed' ? [messageOf(result)] : []
  })
  assert.deepEqual(messages, [
    'DeserializeError: the function cannot be read: TypeError: no throws at evaluation',
    'DeserializeError: the object is not a function',
    'DeserializeError: argument 1 cannot be read: TypeError: no nothing',
    'SerializeError: result: the serializer failed: TypeError: symbols cannot travel',
    messages[4],
    "DeserializeError: the client's serializer cannot be read: the client's serializer arrived " +
      'as a string without its two methods',
    'DeserializeError: the function arrived without its attachments',
    'DeserializeError: the function arrived without its attachments',
  ])
  assert.match(messages[4] ?? '', /^DeserializeError: the client's serializer cannot be read: /)
})

test('each task has an async context of its own', async () => {
  const setup = new Setup()
  const storage = new AsyncLocalStorage<string>()
  const look = (): string => storage.getStore() ?? 'nothing'
  setup.define('enter', () => {
    const before = look()
    storage.enterWith('left behind')
    return before
  })
  setup.define('enterLater', async () => {
    storage.enterWith('left behind')
    await nextTurn()
    const kept = look()
    storage.enterWith('left behind, too')
    return kept
  })
  setup.define('look', look)
  for (const [index, name] of ['enter', 'enter', 'look', 'enterLater', 'look'].entries()) {
    setup.add(`${index} ${name}`, name)
  }
  setup.runner.run()
  for (let turns = 0; turns < 20 && setup.lines.length < 5; turns += 1) await nextTurn()
  setup.add('5 look', 'look')
  setup.runner.run()
  assert.deepEqual(setup.lines, [
    '0 enter success "nothing"',
    '1 enter success "nothing"',
    '2 look success "nothing"',
    '3 enterLater success "left behind"',
    '4 look success "nothing"',
    '5 look success "nothing"',
  ])
  assert.equal(look(), 'nothing')
})

test('the stack of a task error does not contain frames of the processor', () => {
  const setup = new Setup()
  setup.define('fail', () => {
    const error = new RangeError('no', { cause: new Error('inner') })
    error.stack += `\n    at run (${new URL('./runner.js', import.meta.url).href}:1:2)`
    throw error
  })
  setup.add('a', 'fail')
  setup.runner.run()
  const error = errorOf(setup.outbox.results[0]) as Error
  assert.doesNotMatch(error.stack ?? '', /task-runner|node:internal|async_hooks/)
  assert.doesNotMatch((error.cause as Error).stack ?? '', /task-runner|node:internal|async_hooks/)
})

type RunnablePart = { readonly fn: string } & Omit<RunnableFacts, 'fn'>

function serializerOf(value: unknown): StoredObject {
  return new StoredObject([defaultSerializer.serialize(value)])
}

function errorOf(result: TaskResult | undefined): unknown {
  assert.equal(result?.status, 'failed')
  return deserializeError(Buffer.concat(result.inlineResults))
}

function messageOf(result: TaskResult | undefined): string {
  return String(errorOf(result))
}

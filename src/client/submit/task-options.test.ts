import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { identity, taskId } from '../../base/ids.js'
import type { Task } from '../../wire/message.js'
import { decodeTaskFlags } from '../../wire/metadata.js'
import { Client } from '../client.js'
import {
  testClient,
  until,
  type TestClient,
  type TestClientOptions,
} from '../memory-link.test.kit.js'
import {
  changeTaskSettings,
  defaultTaskSettings,
  encodeTaskSettings,
  type TaskOptions,
  type TaskSettings,
} from './task-options.js'

const double = (x: number): number => 2 * x

function change(options: TaskOptions, settings = defaultTaskSettings(false)): TaskSettings {
  return changeTaskSettings(settings, options)
}

/** The Task message for these options. */
async function sentTask(options: TaskOptions, setup: TestClientOptions = {}): Promise<Task> {
  const client: TestClient = testClient(setup)
  await client.with(options).submit(double, [1])
  const task = client.scheduler.received.find((message) => message.kind === 'task')
  assert(task?.kind === 'task')
  return task
}

function manyNames(count: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 1]))
}

const GOOD: { readonly [Name in keyof TaskOptions]-?: readonly unknown[] } = {
  profiling: [true, false],
  timeoutMs: [1, 2 ** 31 - 1],
  retries: [0, 1_000_000],
  maxWorkerDeaths: [0, 1_000_000],
  priority: [-1_000_000_000, 0, 1_000_000_000],
  capabilities: [
    {},
    Object.create(null),
    { gpu: -1, memory: 2 ** 40 },
    JSON.parse('{ "__proto__": 1 }'),
    manyNames(64),
    { ['x'.repeat(256)]: 1 },
  ],
  signal: [new AbortController().signal, AbortSignal.abort()],
  name: ['', 'x'.repeat(1_000)],
}

const BAD: { readonly [Name in keyof TaskOptions]-?: readonly unknown[] } = {
  profiling: [1, 'yes', null],
  timeoutMs: [0, -1, 1.5, 2 ** 31, Infinity, NaN, '5', null],
  retries: [-1, 0.5, 1_000_001, Infinity, '1'],
  maxWorkerDeaths: [-1, 0.5, 1_000_001, '1'],
  priority: [1_000_000_001, -1_000_000_001, 0.5, NaN, '1'],
  capabilities: [
    5,
    null,
    [],
    { gpu: -2 },
    { gpu: 0.5 },
    { gpu: '1' },
    { gpu: undefined },
    { gpu: 0 },
    { '': 1 },
    { ['x'.repeat(257)]: 1 },
    manyNames(65),
    new Map([['gpu', 1]]),
    { [Symbol('gpu')]: 1 },
    Object.create({ gpu: 1 }),
  ],
  signal: [{}, null, new AbortController()],
  name: [5, null, 'x'.repeat(1_001)],
}

for (const name of Object.keys(GOOD) as (keyof TaskOptions)[]) {
  test(`option ${name} has bounds, and is named in the error outside them`, () => {
    for (const value of GOOD[name]) change({ [name]: value })
    for (const value of BAD[name]) {
      assert.throws(
        () => change({ [name]: value }),
        (error) => {
          assert(error instanceof ConfigError, `${name}: ${String(value)}`)
          assert.match(error.message, new RegExp(`^option ${name}`))
          return true
        },
      )
    }
  })
}

test('unknown options, and anything but an object, are refused', () => {
  assert.throws(
    () => change({ timeout: 5 } as TaskOptions),
    /unknown task option timeout; is it timeoutMs/,
  )
  assert.throws(() => change(null as never), ConfigError)
  assert.throws(() => change(5 as never), ConfigError)
})

test('options that are not given stay, and the last given value counts', () => {
  const first = change({ priority: 1, name: 'a', retries: 2, capabilities: { gpu: -1 } })
  const second = change({ priority: 5, retries: undefined, profiling: true }, first)
  assert.deepEqual(second, { ...first, priority: 5, profiling: true })
})

test('without options a task has no requirements', () => {
  const options = encodeTaskSettings(defaultTaskSettings(false))
  const { flags, plainFlags, ...rest } = options
  assert.deepEqual(flags, Buffer.from([0, 0, 0, 0, 0]))
  assert.deepEqual(plainFlags, flags)
  assert.deepEqual(rest, {
    parentTaskId: taskId(''),
    name: '',
    timeoutMs: 0,
    retries: 0,
    workerDeathLimit: 0,
    capabilities: [],
    output: 'log',
    outputClient: '',
    traceContext: '',
  })
})

test('a task inside another one has a higher priority, and names its parent', () => {
  const settings = change({ priority: 2 })
  const outputClient = identity('root')
  const place = { taskId: taskId('p'), priority: 10, output: 'forward', outputClient } as const
  const parent = { ...place, traceContext: '00-a-b-01' }
  const options = encodeTaskSettings(settings, parent)
  assert.equal(decodeTaskFlags(options.flags).priority, 13)
  assert.equal(options.parentTaskId, 'p')
  assert.deepEqual([options.output, options.outputClient], ['forward', 'root'])
  assert.equal(options.traceContext, '00-a-b-01')
})

test('options travel with the tasks of a view', async () => {
  const task = await sentTask({
    profiling: true,
    timeoutMs: 1_000,
    retries: 2,
    maxWorkerDeaths: 0,
    priority: -3,
    capabilities: { gpu: -1, cores: 4 },
    name: 'price',
  })
  assert.deepEqual(decodeTaskFlags(task.metadata), { profiling: true, priority: -3 })
  assert.equal(task.timeoutMs, 1_000)
  assert.equal(task.retries, 2)
  assert.equal(task.workerDeathLimit, 1)
  assert.equal(task.name, 'price')
  assert.deepEqual(task.capabilities, [
    { name: 'gpu', value: -1 },
    { name: 'cores', value: 4 },
  ])
})

test('a 1.9.9 scheduler gets the flags, without those that would crash its workers', async () => {
  const task = await sentTask(
    { priority: -3, profiling: true, name: 'price', retries: 1 },
    { id: '' },
  )
  assert.deepEqual(decodeTaskFlags(task.metadata), { profiling: true, priority: 0 })
  assert.equal(task.name, '')
  assert.equal(task.retries, 0)
})

test('maps have the options of their view', async () => {
  const client = testClient()
  const view = client.with({ priority: 7 })
  await view.map(double, [1, 2], {}, false)
  const priorities = client.scheduler.received.flatMap((message) =>
    message.kind === 'task' ? [decodeTaskFlags(message.metadata).priority] : [],
  )
  // One run, or two on a machine that was busy between the inputs.
  assert.deepEqual([...new Set(priorities)], [7])
})

test('profiling is set by the client, unless the view overrides it', async () => {
  const client = { profiling: true }
  assert.equal(decodeTaskFlags((await sentTask({}, { client })).metadata).profiling, true)
  const task = await sentTask({ profiling: false }, { client })
  assert.equal(decodeTaskFlags(task.metadata).profiling, false)
})

test('a view is a client of the same identity, and closing it closes the client', async () => {
  const client = new Client('tcp://127.0.0.1:1')
  const view = client.with({ priority: 1 }).with({ name: 'x' })
  assert(view instanceof Client)
  assert.equal(view.identity, client.identity)
  assert.equal(view.address, client.address)
  assert.throws(() => client.with({ priority: 0.5 }), ConfigError)
  const futures = [client.submit(double, 1), view.submit(double, 1)]
  await view.close()
  assert.deepEqual(
    futures.map(({ state }) => state),
    ['cancelled', 'cancelled'],
  )
  assert.equal(client.submit(double, 1).state, 'failed')
  await client.close()
})

test('two views of one client send a function once', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  await client.with({ priority: 1 }).submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 0)
  const creates = client.scheduler.kinds.filter((kind) => kind === 'create')
  assert.equal(creates.length, 2, 'the serializer and the function')
})

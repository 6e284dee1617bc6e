// Tasks with large inputs, and the workers that are near these.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latin1ToBytes } from '../../../base/bytes.js'
import { identity, objectId } from '../../../base/ids.js'
import type { ObjectInstruction, PeerInfo, Task } from '../../../wire/message.js'
import { storedChunk } from '../../../wire/object-content.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import {
  clientHeartbeat,
  instruction,
  result,
  task,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'
import { Nearness } from './nearness.js'

const LARGE = 300_000
const SERVER = 'tcp://far:1'

function infoOf(machineId: string): readonly PeerInfo[] {
  const nothing = { name: '', host: '', pid: 1, version: '', startedMS: 0, endsMS: 0 }
  return [{ ...nothing, machineId, allocation: '', endsInMS: 0 }]
}

/** A client, and workers with the machines that they are on: idle ones rank in this order. */
function withWorkers(machines: Readonly<Record<string, string>>): TestScheduler {
  const scheduler = withPeers({ clients: ['C'] })
  for (const [worker, machine] of Object.entries(machines)) {
    scheduler.receive(worker, { ...workerHeartbeat(), info: infoOf(machine) })
  }
  scheduler.actions()
  return scheduler
}

function create(id: string, content: Uint8Array): ObjectInstruction {
  const message = instruction('create', 'C', [id])
  return { ...message, objectContent: { ...message.objectContent, objectBytes: [[content]] } }
}

function stored(id: string, byteLength: number): ObjectInstruction {
  const message = create(
    id,
    storedChunk({ byteLength, address: SERVER, id: objectId('x'.repeat(24)) }),
  )
  return { ...message, objectContent: { ...message.objectContent, objectTypes: ['stored'] } }
}

/** A task that needs objects. */
function using(name: string, ...objects: readonly string[]): Task {
  const functionArgs = objects.map((id) => ({
    type: 'objectID' as const,
    data: latin1ToBytes(id),
  }))
  return { ...task(name, 'C'), functionArgs }
}

/** The workers of tasks, in the order of the tasks. */
function workersOf(
  scheduler: TestScheduler,
  ...tasks: readonly Task[]
): readonly (string | undefined)[] {
  for (const one of tasks) scheduler.receive('C', one)
  const lines = scheduler.lines()
  return tasks.map(
    ({ taskId }) => lines.find((line) => line.endsWith(` <- task ${taskId}`))?.split(' ')[0],
  )
}

const get = (id: string) => {
  return { kind: 'objectRequest', requestType: 'get', objectIds: [objectId(id)] } as const
}

test('a task goes to the worker that has its large input, and not for a small one', () => {
  const scheduler = withWorkers({ W: 'a', X: 'b', Y: 'c' })
  scheduler
    .receive('C', create('large', Buffer.alloc(LARGE)))
    .receive('C', create('small', Buffer.alloc(9)))
  scheduler.receive('Y', get('large')).receive('Y', get('small'))
  assert.deepEqual(workersOf(scheduler, using('s', 'small')), ['W'])
  assert.deepEqual(workersOf(scheduler, using('l', 'small', 'large')), ['Y'])
})

test('a worker on the machine of one that has it is next, and then the first of all', () => {
  const scheduler = withWorkers({ W: 'a', X: 'b', Y: 'c', Z: 'c' })
  scheduler.receive('C', create('o', Buffer.alloc(LARGE))).receive('Y', get('o'))
  const tasks = ['1', '2', '3'].map((id) => using(id, 'o'))
  assert.deepEqual(workersOf(scheduler, ...tasks), ['Y', 'Z', 'W'])
})

test('nobody idles so that a task can be near its input', () => {
  const scheduler = withWorkers({ W: 'a', Y: 'c' })
  scheduler.receive('C', create('o', Buffer.alloc(LARGE))).receive('Y', get('o'))
  assert.deepEqual(workersOf(scheduler, using('1', 'o'), using('2', 'o')), ['Y', 'W'])
})

test('a task goes to the machine of the object storage server with its input', () => {
  const scheduler = withWorkers({ W: 'a', X: 'b', Y: 'c' })
  scheduler.receive('S', { ...clientHeartbeat(), info: infoOf('b'), wantsReport: true })
  const seen = { address: SERVER, state: 'up', problem: '', objects: 0, objectBytes: 0 } as const
  const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  const sample = (registrant?: string): void => {
    const server = {
      ...seen,
      registrant: registrant === undefined ? undefined : identity(registrant),
    }
    scheduler.handle({ type: 'statisticsSampled', ...use, storageServers: [server] })
  }
  scheduler.receive('C', stored('o', LARGE))
  sample()
  assert.deepEqual(workersOf(scheduler, using('1', 'o')), ['W'])
  scheduler.receive('W', result('1'))
  sample('S')
  assert.deepEqual(workersOf(scheduler, using('2', 'o')), ['X'])
})

test('a worker that has left, or leaves, is not near anything', () => {
  const scheduler = withWorkers({ W: 'a', X: 'b', Y: 'b' })
  scheduler.receive('C', create('o', Buffer.alloc(LARGE))).receive('X', get('o'))
  scheduler.receive('Y', { ...workerHeartbeat(), isLeaving: true })
  scheduler.handle({ type: 'peerDisconnected', peer: identity('X') })
  assert.deepEqual(workersOf(scheduler, using('1', 'o')), ['W'])
})

test('a task that needs a capability goes to the worker that has its input, too', () => {
  const scheduler = withWorkers({ U: 'u' })
  const capabilities = [{ name: 'gpu', value: -1 }]
  for (const worker of ['W', 'X', 'Y']) {
    scheduler.receive(worker, { ...workerHeartbeat(), capabilities, info: infoOf(worker) })
  }
  scheduler.receive('C', create('o', Buffer.alloc(LARGE)))
  for (const worker of ['U', 'Y']) scheduler.receive(worker, get('o'))
  const tasks = ['1', '2', '3'].map((id) => ({ ...using(id, 'o'), capabilities }))
  assert.deepEqual(workersOf(scheduler, ...tasks), ['Y', 'W', 'X'])
})

/** How many of 2,000 busy holders are looked at for one task, all on machines of this name. */
function looksFor(machine: string): number {
  let looks = 0
  const info = machine === '' ? undefined : infoOf(machine)[0]
  const holders = Array.from({ length: 2_000 }, () => ({
    get info(): PeerInfo | undefined {
      looks += 1
      return info
    },
    get runtime(): 'javascript' {
      looks += 1
      return 'javascript'
    },
    isLeaving: false,
    taskCount: 1,
    waitingCount: 0,
  }))
  const first = { taskCount: 0, waitingCount: 0, runtime: 'javascript', isLeaving: false }
  const input = { type: 'object', chunks: [], bytes: LARGE, holders: new Set<unknown>(holders) }
  const needing = { runtime: 'javascript', extra: { input } } as unknown as TaskEntry
  const rules = { maxTasks: 1_000, hasRoom: () => true }
  const worker = first as unknown as WorkerEntry
  assert.equal(new Nearness().nearest(needing, worker, rules), worker)
  return looks
}

test('what a task costs does not depend on how many workers have its input', () => {
  for (const machine of ['', 'a']) assert.ok(looksFor(machine) < 100, machine)
})

test('the inputs that a worker is to fetch fill its window: 32 MiB, or two', () => {
  const count = (bytes: number, isThere = false): number => {
    const scheduler = withWorkers({ A: 'a' })
    scheduler.receive('C', task('z', 'C')).receive('A', result('z', 'success', 0.000_1))
    const ids = Array.from({ length: 100 }, (_, at) => `o${at}`)
    for (const id of ids) {
      scheduler.receive('C', stored(id, bytes))
      if (isThere) scheduler.receive('A', get(id))
    }
    scheduler.actions()
    const workers = workersOf(scheduler, ...ids.map((id) => using(`t-${id}`, id)))
    return workers.filter((worker) => worker !== undefined).length
  }
  const sizes = [LARGE, 3 * 2 ** 20, 8 * 2 ** 20, 2 ** 30]
  assert.deepEqual(
    sizes.map((bytes) => count(bytes)),
    [100, 10, 4, 2],
  )
  assert.equal(count(2 ** 30, true), 100)
})

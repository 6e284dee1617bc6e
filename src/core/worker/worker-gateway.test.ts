// Workers that pass their tasks on to another system: several tasks at a time, one by one, and
// slots that the workers of an agent share.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_LINKS, OUR_FEATURES } from '../../base/features.js'
import { taskId } from '../../base/ids.js'
import { decode, encode, type TaskCancel, type WorkerHeartbeat } from '../../wire/message.js'
import { countOf, nthTaskId } from '../../wire/run.js'
import { pack } from '../../wire/run.kit.js'
import type { Gateway, WorkerAction } from './events.js'
import { HostConcurrency } from './queue/concurrency.js'
import {
  echoOf,
  objectsOf,
  resultOf,
  ScriptedWorker,
  SERIALIZER,
  taskOf,
} from './scripted-worker.test.js'

/** A task with which bridges crash so often runs alone. */
const CRASHES = 4

const FEATURES = OUR_FEATURES & ~FEATURE_LINKS

function gatewayOf(concurrency: HostConcurrency): { readonly gateway: Gateway } {
  return { gateway: { name: 'bridge', concurrency, features: FEATURES } }
}

/** A worker with its objects, and slots for this many tasks. */
function readyWorker(limit: number): ScriptedWorker {
  return sharing(new HostConcurrency(limit))
}

function sharing(concurrency: HostConcurrency): ScriptedWorker {
  const worker = ScriptedWorker.ready(gatewayOf(concurrency))
  worker.run('first')
  worker.answer(resultOf('first'))
  return worker
}

function cancelOf(id: string, force: boolean): TaskCancel {
  const flags = { force, retrieveTaskObject: false }
  return { kind: 'taskCancel', taskId: taskId(id), flags, count: 1 }
}

function submit(worker: ScriptedWorker, id: string, priority = 0): string[] {
  return worker.receive(taskOf(id, { priority }))
}

test('as many tasks as there are slots run at a time, whatever their durations', () => {
  const worker = readyWorker(2)
  assert.deepEqual(submit(worker, 'a'), ['dispatch a'])
  assert.deepEqual(submit(worker, 'b'), ['dispatch b'])
  assert.deepEqual(submit(worker, 'c'), [])
  assert.deepEqual(submit(worker, 'd'), [])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success', 'dispatch c'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', 'dispatch d'])
})

test('a task of a higher priority than all that run exceeds the limit, one for each priority', () => {
  const worker = readyWorker(1)
  submit(worker, 'parent')
  assert.deepEqual(submit(worker, 'child', 1), ['dispatch child'])
  assert.deepEqual(submit(worker, 'sibling', 1), [])
  assert.deepEqual(submit(worker, 'other'), [])
  assert.deepEqual(submit(worker, 'grandchild', 2), ['dispatch grandchild'])
  assert.deepEqual(worker.answer(resultOf('grandchild')), ['send grandchild success'])
  assert.deepEqual(worker.answer(resultOf('child')), ['send child success', 'dispatch sibling'])
  assert.deepEqual(worker.answer(resultOf('sibling')), ['send sibling success'])
  assert.deepEqual(worker.answer(resultOf('parent')), ['send parent success', 'dispatch other'])
})

test('it is logged that children exceed the limit, at most once a minute', () => {
  const worker = readyWorker(1)
  submit(worker, 'parent')
  const warnings = (id: string): number => {
    const event = { type: 'messageReceived', message: taskOf(id, { priority: 1 }) } as const
    const isWarning = (action: WorkerAction): boolean =>
      action.type === 'log' && action.level === 'warn' && /children exceed/.test(action.text)
    const count = worker.handle(event).filter(isWarning).length
    worker.answer(resultOf(id))
    return count
  }
  assert.deepEqual(['a', 'b'].map(warnings), [1, 0])
  worker.pass(60_000)
  assert.equal(warnings('c'), 1)
})

test('tasks of a run are dispatched one by one', () => {
  const worker = readyWorker(2)
  const first = taskId('\0\0middle-bytes\0\0')
  const values = ['a', 'b', 'c'].map((text) => Buffer.from(text))
  const run = { ...taskOf(first), functionArgs: [], bytes: undefined, count: 3 }
  const message = { ...run, packed: pack(values) }
  const event = { ...message, bytes: encode(message) }
  const dispatched = worker
    .handle({ type: 'messageReceived', message: event })
    .flatMap((action) => (action.type === 'dispatch' ? [decode(action.bytes)] : []))
    .map((one) => (one.kind === 'task' ? [one.taskId, countOf(one)] : []))
  assert.deepEqual(dispatched, [
    [nthTaskId(first, 0), 1],
    [nthTaskId(first, 1), 1],
  ])
})

test('a running task is cancelled by force only, and its slot is free once it was given up', () => {
  const worker = readyWorker(1)
  submit(worker, 'a')
  submit(worker, 'b')
  assert.deepEqual(worker.receive(cancelOf('a', false)), ['send a notFound'])
  const lines = worker.receive(cancelOf('a', true))
  assert.deepEqual(lines, ['send a canceled', 'stop a cancelled', 'ask 1'])
  const skipped = { ...resultOf('a', { status: 'canceled' }), inlineResults: [] }
  assert.deepEqual(worker.answer(skipped), ['dispatch b'])
})

test('if the bridge ends, its tasks run again; it is started again, with a growing pause', () => {
  const worker = readyWorker(2)
  submit(worker, 'a')
  submit(worker, 'b')
  assert.deepEqual(worker.die('retired'), ['start 2', `send request ${SERIALIZER},fn`])
  worker.receive(objectsOf(SERIALIZER, 'fn'))
  assert.deepEqual(worker.show({ type: 'processorReady', processor: 2, pid: 78 }), [
    'dispatch a',
    'dispatch b',
  ])
  assert.deepEqual(worker.die('retired', { exitCode: 1, stderr: '' }, 2), [])
  assert.deepEqual(worker.pass(99), [])
  assert.deepEqual(worker.pass(1), ['start 3', `send request ${SERIALIZER},fn`])
  assert.deepEqual(worker.die('retired', { exitCode: 1, stderr: '' }, 3), [])
  assert.deepEqual(worker.pass(199).concat(worker.pass(1)), [
    'start 4',
    `send request ${SERIALIZER},fn`,
  ])
})

/** A worker that had a bridge, and tries in vain to start another one. */
class BridgelessWorker {
  readonly worker: ScriptedWorker = readyWorker(2)
  /** The bridge that it tries to start. */
  processor = 2

  constructor() {
    this.worker.receive(taskOf('a'))
    this.worker.die('retired')
  }

  /** What it does meanwhile, apart from that. */
  pass(ms: number): string[] {
    const end = this.worker.now + ms
    const lines: string[] = []
    while (this.worker.now < end) {
      // As if its Python had been removed.
      lines.push(...this.worker.die('nothing', { exitCode: 9, stderr: 'gone' }, this.processor))
      lines.push(...this.#passUntilStart())
    }
    return lines.filter((line) => !/^start|^send request/.test(line))
  }

  /** It can start one. */
  recover(): string[] {
    return this.worker.show({ type: 'processorReady', processor: this.processor, pid: 78 })
  }

  #passUntilStart(): string[] {
    const lines: string[] = []
    this.processor += 1
    while (!lines.includes(`start ${this.processor}`)) lines.push(...this.worker.pass(100))
    return lines
  }
}

test('without a bridge for long, tasks go to other workers, until there is one', () => {
  const bridgeless = new BridgelessWorker()
  const { worker } = bridgeless
  const lines = bridgeless.pass(10_000).filter((line) => line !== 'sendHeartbeat')
  assert.deepEqual(lines, ['send disconnectRequest', 'reconnect'])
  worker.show({ type: 'disconnected', reason: '' })
  assert.deepEqual(worker.show({ type: 'connected' }), [])
  // The scheduler may be silent for as long as it takes.
  assert.deepEqual(bridgeless.pass(1_000_000), [])
  assert.deepEqual(bridgeless.recover(), ['sendHeartbeat'])
  worker.receive(echoOf())
  worker.receive(taskOf('a'))
  assert.equal(worker.receive(objectsOf(SERIALIZER, 'fn')).at(-1), 'dispatch a')
})

test('without a bridge for a moment, the worker keeps its tasks', () => {
  const bridgeless = new BridgelessWorker()
  assert.deepEqual(new Set(bridgeless.pass(5_000)), new Set(['sendHeartbeat']))
  const { worker } = bridgeless
  bridgeless.recover()
  assert.equal(worker.receive(objectsOf(SERIALIZER, 'fn')).at(-1), 'dispatch a')
  assert.ok(!worker.pass(10_000).includes('reconnect'))
})

test('without a bridge and a scheduler, the worker ends as others do', () => {
  const bridgeless = new BridgelessWorker()
  bridgeless.pass(10_000)
  bridgeless.worker.show({ type: 'disconnected', reason: '' })
  assert.match(bridgeless.worker.pass(301_000).at(-1) ?? '', /^end /)
})

test('children run beside a task with which bridges crashed, and nothing else does', () => {
  const worker = readyWorker(3)
  submit(worker, 'parent')
  const crash = { exitCode: 1, stderr: '' }
  for (let processor = 1; processor <= CRASHES; processor += 1) {
    worker.die('nothing', crash, processor)
    worker.pass(20_000)
    worker.show({ type: 'processorReady', processor: processor + 1, pid: 78 })
    worker.receive(objectsOf(SERIALIZER, 'fn'))
  }
  const last = CRASHES + 1
  assert.deepEqual(submit(worker, 'other'), [], 'it runs alone')
  assert.deepEqual(submit(worker, 'child', 1), ['dispatch child'])
  assert.deepEqual(submit(worker, 'sibling', 1), [])
  assert.deepEqual(submit(worker, 'grandchild', 2), ['dispatch grandchild'])
  assert.deepEqual(worker.answer(resultOf('grandchild'), last), ['send grandchild success'])
  assert.deepEqual(worker.answer(resultOf('child'), last), [
    'send child success',
    'dispatch sibling',
  ])
  assert.deepEqual(worker.answer(resultOf('sibling'), last), ['send sibling success'])
  assert.deepEqual(worker.answer(resultOf('parent'), last), [
    'send parent success',
    'dispatch other',
  ])
})

test('a bridge that cannot work ends the worker at once', () => {
  const worker = new ScriptedWorker(gatewayOf(new HostConcurrency(1)))
  worker.handle({ type: 'started' })
  const death = { exitCode: 9, stderr: 'no module named soamapi\n' }
  assert.deepEqual(worker.die('unknown', death), [
    'end no bridge: no module named soamapi (failure)',
  ])
})

test('its heartbeats contain the number of slots and its features', () => {
  const worker = new ScriptedWorker(gatewayOf(new HostConcurrency(7)))
  worker.handle({ type: 'started' })
  worker.handle({ type: 'connected' })
  const actions = worker.handle({ type: 'processorReady', processor: 1, pid: 77 })
  const heartbeats = actions.flatMap((action): WorkerHeartbeat[] =>
    action.type === 'sendHeartbeat' ? [action.heartbeat] : [],
  )
  assert.deepEqual(
    heartbeats.map(({ concurrency, features }) => [concurrency, features]),
    [[7, FEATURES]],
  )
})

test('if no bridge can be started, the worker ends, and says so', () => {
  const concurrency = new HostConcurrency(1)
  const worker = new ScriptedWorker({ ...gatewayOf(concurrency), deathTimeoutMs: 5000 })
  worker.handle({ type: 'started' })
  const lines = worker.pass(5000)
  assert.equal(lines.at(-1), 'end no bridge could be started for 5000 ms (failure)')
})

/** Two workers with common slots; a free slot is offered to both. */
function twoWorkers(limit: number): {
  readonly left: ScriptedWorker
  readonly right: ScriptedWorker
  /** What both do with free slots. */
  readonly settle: () => string[]
} {
  const concurrency = new HostConcurrency(limit)
  const [left, right] = [sharing(concurrency), sharing(concurrency)]
  let isFree = false
  concurrency.listen(() => (isFree = true))
  const settle = (): string[] => {
    const lines: string[] = []
    while (isFree) {
      isFree = false
      for (const worker of [left, right]) lines.push(...worker.show({ type: 'tick' }))
    }
    return lines
  }
  return { left, right, settle }
}

test('two workers share the slots, and take turns', () => {
  const { left, right, settle } = twoWorkers(1)
  for (const n of [1, 2, 3]) {
    submit(left, `l${n}`)
    submit(right, `r${n}`)
  }
  const order: string[] = []
  const note = (lines: readonly string[]): void => {
    for (const line of [...lines, ...settle()]) {
      const [, id] = /^dispatch (\w+)$/.exec(line) ?? []
      if (id !== undefined) order.push(id)
    }
  }
  note(left.answer(resultOf('l1')))
  note(right.answer(resultOf('r1')))
  note(left.answer(resultOf('l2')))
  note(right.answer(resultOf('r2')))
  note(left.answer(resultOf('l3')))
  assert.deepEqual(order, ['r1', 'l2', 'r2', 'l3', 'r3'])
})

test('if several slots become free, both workers use them', () => {
  const { left, right, settle } = twoWorkers(2)
  for (const id of ['l1', 'l2']) submit(left, id)
  submit(right, 'r1')
  submit(left, 'l3')
  assert.deepEqual(left.answer(resultOf('l1')), ['send l1 success'], 'it is the turn of r1')
  assert.deepEqual(left.answer(resultOf('l2')), ['send l2 success'])
  assert.deepEqual(settle(), ['dispatch r1', 'dispatch l3'])
})

test('a worker that wants nothing any more leaves its turn to the other one', () => {
  const { left, right, settle } = twoWorkers(1)
  submit(left, 'l1')
  submit(right, 'r1')
  submit(left, 'l2')
  assert.deepEqual(left.answer(resultOf('l1')), ['send l1 success'], 'it is the turn of r1')
  assert.deepEqual(right.receive(cancelOf('r1', false)), ['send r1 canceled'])
  assert.deepEqual(settle(), ['dispatch l2'])
})

test('children pass the slots of both workers, and a worker that ends frees its slots', () => {
  const { left, right } = twoWorkers(2)
  submit(left, 'l1')
  submit(right, 'r1')
  assert.deepEqual(submit(right, 'child', 1), ['dispatch child'])
  assert.deepEqual(submit(left, 'other', 1), [])
  right.machine.giveUnitsBack()
  assert.deepEqual(left.show({ type: 'tick' }), ['dispatch other'])
})

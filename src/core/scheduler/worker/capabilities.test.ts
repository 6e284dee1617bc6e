// Tasks that need capabilities which not all workers have.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  child,
  clientHeartbeat,
  peer,
  result,
  task,
  type TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'
import type { Task } from '../../../wire/message.js'

type Amounts = Readonly<Record<string, number>>

function listOf(amounts: Amounts): Task['capabilities'] {
  return Object.entries(amounts).map(([name, value]) => ({ name, value }))
}

function needing(id: string, amounts: Amounts, priority = 0): Task {
  return { ...task(id, 'C', priority), capabilities: listOf(amounts) }
}

/** A scheduler with a client and workers of these agents: `A1` and `A2` are workers of `A`. */
function cluster(offers: Readonly<Record<string, Amounts>>): TestScheduler {
  const scheduler = withPeers({ clients: ['C'] })
  for (const [name, amounts] of Object.entries(offers)) join(scheduler, name, amounts)
  scheduler.actions()
  return scheduler
}

function join(scheduler: TestScheduler, name: string, amounts: Amounts): TestScheduler {
  const capabilities = listOf(amounts)
  return scheduler.receive(name, { ...workerHeartbeat(), agentId: name.charAt(0), capabilities })
}

/** The assignments: `A1:t`. */
function given(scheduler: TestScheduler): string[] {
  const lines = scheduler
    .lines()
    .flatMap((line) => /^(\S+) <- task (\S+)/.exec(line)?.slice(1, 3) ?? [])
  const pairs: string[] = []
  for (let at = 0; at < lines.length; at += 2) pairs.push(`${lines[at]}:${lines[at + 1]}`)
  return pairs
}

test('a task goes to a worker with the capability, even if others idle', () => {
  const scheduler = cluster({ A1: {}, B1: { linux: -1 }, C1: { linux: -1, gpu: 1 } })
  scheduler.receive('C', needing('x', { linux: -1, gpu: 1 }))
  assert.deepEqual(given(scheduler), ['C1:x'])
  scheduler.receive('C', needing('y', { linux: -1 })).receive('C', task('z', 'C'))
  assert.deepEqual(given(scheduler), ['B1:y', 'A1:z'])
})

test('units belong to the agent, however many workers it has', () => {
  const gpu = { gpu: 2 }
  const scheduler = cluster({ A1: gpu, A2: gpu, A3: gpu, A4: gpu })
  for (const id of ['a', 'b', 'c', 'd']) scheduler.receive('C', needing(id, { gpu: 1 }))
  assert.deepEqual(given(scheduler), ['A1:a', 'A2:b'])
  for (const id of ['p', 'q', 'r']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(given(scheduler), ['A3:p', 'A4:q'], 'plain tasks overtake them')
  scheduler.receive('A2', result('b'))
  assert.deepEqual(given(scheduler), ['A2:c'])
  scheduler.receive('A4', result('q'))
  assert.deepEqual(given(scheduler), ['A4:r'])
  scheduler.receive('A1', result('a', 'failed'))
  assert.deepEqual(given(scheduler), ['A1:d'])
})

test('a task that needs several units waits for all of them', () => {
  const scheduler = cluster({ A1: { gpu: 2 }, A2: { gpu: 2 } })
  scheduler.receive('C', needing('a', { gpu: 1 })).receive('C', needing('b', { gpu: 2 }))
  assert.deepEqual(given(scheduler), ['A1:a'])
  scheduler.receive('A1', result('a'))
  assert.deepEqual(given(scheduler), ['A1:b'])
})

test('a capability without units uses no units', () => {
  const scheduler = cluster({ A1: { gpu: 1 }, A2: { gpu: 1 } })
  scheduler.receive('C', needing('a', { gpu: 1 })).receive('C', needing('b', { gpu: -1 }))
  assert.deepEqual(given(scheduler), ['A1:a', 'A2:b'])
})

test('a capability that is offered without a number is unlimited', () => {
  const scheduler = cluster({ A1: { gpu: -1 }, A2: { gpu: -1 } })
  scheduler.receive('C', needing('a', { gpu: 8 })).receive('C', needing('b', { gpu: 8 }))
  assert.deepEqual(given(scheduler), ['A1:a', 'A2:b'])
})

test('workers that name no agent have their own units', () => {
  const scheduler = withPeers({ clients: ['C'] })
  for (const name of ['W', 'X']) {
    scheduler.receive(name, { ...workerHeartbeat(), capabilities: listOf({ gpu: 1 }) })
  }
  scheduler.receive('C', needing('a', { gpu: 1 })).receive('C', needing('b', { gpu: 1 }))
  assert.deepEqual(given(scheduler), ['W:a', 'X:b'])
})

test('a task that no worker fits delays no others, is reported, and runs once a worker fits', () => {
  const scheduler = cluster({ A1: { gpu: 1 } })
  scheduler.receive('C', needing('x', { tpu: 1, linux: -1 })).receive('C', needing('y', { gpu: 2 }))
  scheduler.receive('C', task('z', 'C'))
  assert.deepEqual(given(scheduler), ['A1:z'])
  scheduler.receive('C', clientHeartbeat()).actions()
  let logged: unknown[] = []
  for (let second = 1; second <= 8; second += 1) {
    scheduler.moveTo(scheduler.now + 1_000)
    scheduler.receive('C', clientHeartbeat()).receive('A1', workerHeartbeat())
    const lines = scheduler.logActions().filter(({ text }) => text.startsWith('tasks wait'))
    logged = [...logged, ...lines.map(({ fields }) => [fields['reason'], fields['needs']])]
    if (second < 8) scheduler.actions()
  }
  assert.deepEqual(logged, [
    ['no-capability', 'linux, tpu=1'],
    ['no-capability', 'gpu=2'],
  ])
  const echo = scheduler.lines().findLast((line) => line.startsWith('C <- echo'))
  assert.equal(echo, 'C <- echo S noCapability 1 8000 (linux, tpu=1) noCapability 1 8000 (gpu=2)')
  scheduler.actions()
  join(scheduler, 'B1', { tpu: 4, linux: -1 })
  assert.deepEqual(given(scheduler), ['B1:x'])
})

test('units are returned once, however their task ends', () => {
  const scheduler = cluster({ A1: { gpu: 1 }, A2: { gpu: 1 } })
  scheduler.receive('C', needing('a', { gpu: 1 })).receive('C', needing('b', { gpu: 1 }))
  assert.deepEqual(given(scheduler), ['A1:a'])
  scheduler.handle({ type: 'peerDisconnected', peer: peer('A1') })
  assert.deepEqual(given(scheduler), ['A2:a'], 'its turn comes first')
  scheduler.receive('A2', result('a', 'canceled'))
  assert.deepEqual(given(scheduler), ['A2:a'], 'it was given back')
  scheduler.receive('A2', result('a'))
  assert.deepEqual(given(scheduler), ['A2:b'])
})

test('a waiting parent keeps its units', () => {
  const scheduler = cluster({ A1: { gpu: 2 }, A2: { gpu: 2 } })
  scheduler.receive('C', needing('p', { gpu: 1 })).receive('A1', update('p', 'waiting'))
  const inner = (id: string): Task => ({ ...child(id, 'C', 'p'), capabilities: listOf({ gpu: 1 }) })
  scheduler.receive('C', inner('x')).receive('C', inner('y'))
  assert.deepEqual(given(scheduler), ['A1:p', 'A2:x'])
  scheduler.receive('A2', result('x'))
  assert.deepEqual(given(scheduler), ['A2:y'])
})

test('a task blocked only by its ancestors is reported within five seconds, and runs later', () => {
  const scheduler = cluster({ A1: { gpu: 1 }, A2: { gpu: 1 } })
  scheduler.receive('C', needing('p', { gpu: 1 })).receive('A1', update('p', 'waiting'))
  const inner = { ...child('x', 'C', 'p'), capabilities: listOf({ gpu: 1 }) }
  scheduler.receive('C', inner).actions()
  const logged: unknown[] = []
  for (let second = 1; second <= 5; second += 1) {
    scheduler.moveTo(scheduler.now + 990)
    for (const worker of ['A1', 'A2']) scheduler.receive(worker, workerHeartbeat())
    const lines = scheduler.logActions().filter(({ text }) => text.startsWith('tasks wait'))
    logged.push(...lines.map(({ text, fields }) => [text, fields['task']]))
    scheduler.actions()
  }
  const text = 'tasks wait for units that are held by waiting parent tasks'
  assert.deepEqual(logged, [[text, '78']])
  scheduler.receive('C', clientHeartbeat())
  const echo = scheduler.lines().findLast((line) => line.startsWith('C <- echo')) ?? ''
  assert.match(echo, /noCapability 1 \d+ \(gpu=1, besides what waiting parents hold\)$/)
  join(scheduler, 'B1', { gpu: 1 })
  assert.deepEqual(given(scheduler), ['B1:x'])
})

test('parents that wait for units of each other are reported', () => {
  const scheduler = cluster({ A1: { gpu: 2 }, A2: { gpu: 2 }, A3: { gpu: 2 }, A4: { gpu: 2 } })
  const inner = (id: string, parent: string): Task => {
    return { ...child(id, 'C', parent), capabilities: listOf({ gpu: 1 }) }
  }
  const echo = (): string => {
    scheduler.moveTo(scheduler.now + 1_000).receive('C', clientHeartbeat())
    return scheduler.lines().findLast((line) => line.startsWith('C <- echo')) ?? ''
  }
  scheduler.receive('C', needing('p', { gpu: 1 })).receive('A1', update('p', 'waiting'))
  scheduler.receive('C', needing('q', { gpu: 1 }))
  scheduler.receive('C', inner('x', 'p')).receive('C', needing('outside', { gpu: 1 }))
  // One of the two still runs: it may finish and free a unit.
  assert.match(echo(), /allBusy 2 0$/)
  scheduler.receive('C', inner('y', 'q')).receive('A2', update('q', 'waiting'))
  assert.match(echo(), /noCapability 3 \d+ \(gpu=1, besides what waiting parents hold\)$/)
  // A child of it that is running and ends with it.
  scheduler.receive('C', child('plain', 'C', 'q'))
  assert.match(echo(), /allBusy 3 0$/)
  scheduler.actions()
})

test('tasks that wait for tasks other than their ancestors are not reported as stuck', () => {
  const scheduler = cluster({ A1: { gpu: 2 }, A2: { gpu: 2 }, A3: { gpu: 2 } })
  scheduler.receive('C', needing('p', { gpu: 1 })).receive('A1', update('p', 'waiting'))
  scheduler.receive('C', needing('q', { gpu: 1 }))
  scheduler.receive('C', { ...child('x', 'C', 'p'), capabilities: listOf({ gpu: 1 }) })
  scheduler.moveTo(scheduler.now + 1_000)
  scheduler.receive('C', clientHeartbeat())
  const echo = scheduler.lines().findLast((line) => line.startsWith('C <- echo'))
  assert.equal(echo, 'C <- echo S allBusy 1 0')
})

test('a task that a worker returns with has its units, even if other tasks hold them', () => {
  const scheduler = cluster({ A1: { gpu: 1 }, A2: { gpu: 1 } })
  scheduler.receive('C', needing('a', { gpu: 1 })).receive('C', needing('b', { gpu: 1 }))
  scheduler.handle({ type: 'peerDisconnected', peer: peer('A1') })
  scheduler.actions()
  scheduler.receive('A2', result('a', 'canceled'))
  join(scheduler, 'A1', { gpu: 1 })
  scheduler.actions()
  scheduler.receive('A2', result('a'))
  scheduler.receive('A2', result('b'))
  scheduler.receive('A1', result('b'))
  assert.equal(scheduler.machine.counts.tasks, 0)
})

test('tasks with different requirements take turns with plain ones, by priority', () => {
  const scheduler = cluster({ A1: { gpu: 1, tpu: 1 } })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  for (const id of ['g', 'h']) scheduler.receive('C', needing(id, { gpu: 1 }))
  for (const id of ['t', 'u']) scheduler.receive('C', needing(id, { tpu: 1 }))
  scheduler.receive('C', needing('first', { tpu: -1 }, 5))
  const order: string[] = []
  for (;;) {
    const [next] = given(scheduler)
    if (next === undefined) break
    order.push(next.slice(3))
    scheduler.receive('A1', result(next.slice(3)))
  }
  assert.deepEqual(order, ['a', 'first', 'g', 't', 'b', 'h', 'u', 'c'])
})

test('very many requirements cost nothing but their turn', () => {
  const scheduler = cluster({ A1: {} })
  for (let index = 0; index < 2_000; index += 1) {
    scheduler.receive('C', needing(`n${index}`, { [`shard-${index}`]: -1 }))
  }
  scheduler.receive('C', task('z', 'C'))
  assert.deepEqual(given(scheduler), ['A1:z'])
  for (let index = 0; index < 2_000; index += 7) join(scheduler, 'B1', {})
  join(scheduler, 'C1', { 'shard-1999': -1 })
  assert.deepEqual(given(scheduler), ['C1:n1999'])
})

test('a list that is too long is refused', () => {
  const scheduler = cluster({ A1: {} })
  const amounts = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`n${index}`, 1]))
  scheduler.receive('C', needing('x', amounts))
  assert.ok(scheduler.lines().includes('C <- result x canceled'))
})

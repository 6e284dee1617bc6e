// Ready nodes that are sent as runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_RUNS } from '../../../base/features.js'
import { identity, objectId } from '../../../base/ids.js'
import type { Task, TaskResult } from '../../../wire/message.js'
import { countOf } from '../../../wire/run.js'
import { pack, unpack } from '../../../wire/run.kit.js'
import type { SchedulerAction, SchedulerCoreOptions } from '../events.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  OURS,
  result,
  TestScheduler,
  workerHeartbeat,
} from '../scheduler.kit.js'
import {
  argsOf,
  graph,
  large,
  measuredScheduler,
  messageOf,
  node,
  resultsTo,
  small,
} from './graph.kit.js'

const TINY = 0.000_01

/** The id of the node with a number. */
function id(number: number): string {
  const lower = String.fromCharCode(number >>> 8, number & 0xff)
  return `${lower}a prefix::${String.fromCharCode(0, 0)}${lower}`
}

function ids(all: readonly Task[]): readonly string[] {
  return all.map(({ taskId }) => taskId)
}

function numberOf(text: string): number {
  return text.charCodeAt(14) * 256 + text.charCodeAt(15)
}

/** The same with an object for their arguments. */
function measured(
  seconds: number = TINY,
  options: Partial<SchedulerCoreOptions> = {},
): TestScheduler {
  const scheduler = measuredScheduler(seconds, ['W'], options)
  scheduler.receive('C', instruction('create', 'C', ['x'])).actions()
  return scheduler
}

/** Nodes of consecutive numbers; `args`: of each. */
function nodes(
  first: number,
  count: number,
  args: (number: number) => readonly string[] = () => [],
): Task[] {
  return Array.from({ length: count }, (_, at) => node(id(first + at), args(first + at)))
}

/** The results of consecutive nodes, written by the serializer. */
function values(first: number, texts: readonly string[], kind: number = 15): TaskResult {
  const entries = texts.map((text) =>
    Buffer.from([kind, text.length, 0, 0, 0, ...Buffer.from(text)]),
  )
  const { metadata, ...plain } = result(id(first), 'success', TINY)
  const durations = Buffer.concat(entries.map(() => metadata.subarray(0, 4)))
  const packed = pack(entries)
  return { ...plain, results: [], metadata: durations, count: texts.length, packed }
}

/** The Tasks among the actions: `worker first+count(arguments of each)`; single ones without count. */
function sent(actions: readonly SchedulerAction[]): readonly string[] {
  return actions.flatMap((action) => {
    const task = messageOf(action)
    if (task?.kind !== 'task' || !('to' in action)) return []
    const count = countOf(task)
    if (task.packed.byteLength === 0)
      return [`${action.to} ${numberOf(task.taskId)}(${names(task)})`]
    const args = unpack(task.packed, count).map(entryText)
    assert.ok(task.keepsResult, 'the results of nodes are written by the serializer')
    return [`${action.to} ${numberOf(task.taskId)}+${count}(${args.join(', ')})`]
  })
}

/** `=a` a value, `~a` a shared one, `@0` an object. */
function entryText(entry: Uint8Array): string {
  const bytes = Buffer.from(entry)
  const texts: string[] = []
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] === 12) {
      texts.push(`@${bytes[at + 1] ?? ''}`)
      at += 2
      continue
    }
    const end = at + 5 + bytes.readUInt32LE(at + 1)
    texts.push((bytes[at] === 14 ? '~' : '=') + bytes.toString('latin1', at + 5, end))
    at = end
  }
  return texts.join(' ')
}

function names(task: Task): string {
  return argsOf(task)
    .map((text) => (text.length === 16 ? String(numberOf(text)) : text))
    .join(' ')
}

function told(scheduler: TestScheduler): readonly string[] {
  const results = [...resultsTo('C', scheduler.actions())]
  return results.map(([task, { status, inlineResults }]) => {
    const name = task.length === 16 && task.includes('a prefix') ? numberOf(task) : task
    return `${name} ${status} ${Buffer.concat(inlineResults).toString()}`.trimEnd()
  })
}

test('ready nodes are a run, and so are those that need their results', () => {
  const scheduler = measured()
  const layer0 = nodes(0, 3, (number) => [`=i${number}`])
  const layer1 = nodes(3, 2, (number) => [id(number - 3), id(number - 2), '=c'])
  scheduler.receive('C', graph('g', [id(3), id(4)], [...layer0, ...layer1]))
  assert.deepEqual(sent(scheduler.actions()), ['W 0+3(=i0, =i1, =i2)'])
  scheduler.receive('W', values(0, ['a', 'b', 'c']))
  assert.deepEqual(sent(scheduler.actions()), ['W 3+2(~a ~b =c, ~b ~c =c)'])
  scheduler.receive('W', values(3, ['x', 'y']))
  assert.deepEqual(told(scheduler), ['3 success x', '4 success y', 'g success'])
  assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 2 })
})

test('a task that was cut out of a run gets no links: its result is packed', () => {
  const scheduler = measured(TINY, { perWorkerQueueSize: 3 })
  scheduler.receive('C', graph('g', [id(4)], [...nodes(0, 4), node(id(4), [id(3)])]))
  assert.deepEqual(sent(scheduler.actions()), ['W 0+3(, , )'])
  scheduler.receive('W', values(0, ['a', 'b', 'c']))
  assert.deepEqual(sent(scheduler.actions()), ['W 3+1()'])
  scheduler.receive('W', values(3, ['d']))
  assert.deepEqual(sent(scheduler.actions()), ['W 4(=d)'])
})

test('results in parts make nodes ready, which follow at once', () => {
  const scheduler = measured()
  const all = [...nodes(0, 4), ...nodes(4, 4, (number) => [id(number - 4), id(number - 4)])]
  scheduler.receive('C', graph('g', ids(nodes(4, 4)), all))
  assert.deepEqual(sent(scheduler.actions()), ['W 0+4(, , , )'])
  scheduler.receive('W', values(2, ['c', 'd']))
  assert.deepEqual(sent(scheduler.actions()), ['W 6+2(~c ~c, ~d ~d)'])
  scheduler.receive('W', values(0, ['a', 'b'])).receive('W', values(6, ['C', 'D']))
  assert.deepEqual(sent(scheduler.actions()), ['W 4+2(~a ~a, ~b ~b)'])
})

test('objects are listed once, and referred to by their numbers', () => {
  const scheduler = measured()
  const all = nodes(0, 2, (number) => ['@x', `=${number}`, '@f'])
  scheduler.receive('C', graph('g', [id(0), id(1)], all))
  const actions = scheduler.actions()
  assert.deepEqual(sent(actions), ['W 0+2(@0 =0 @1, @0 =1 @1)'])
  const [task] = actions.map(messageOf).filter((message) => message?.kind === 'task')
  assert.deepEqual(task?.kind === 'task' && argsOf(task), ['@x', '@f'])
})

test('not together: other objects, names, functions, unmeasured and long ones, gaps in the ids', () => {
  const first = (scheduler: TestScheduler, all: readonly Task[]): readonly string[] => {
    scheduler.receive('C', graph('g', [], all))
    return sent(scheduler.actions())
  }
  const two = nodes(0, 2)
  const [a, b] = two as [Task, Task]
  const alone = ['W 0()', 'W 1()']
  const differing = [node(id(0), ['@x']), node(id(1), ['@f'])]
  assert.deepEqual(first(measured(), differing), ['W 0(@x)', 'W 1(@f)'])
  assert.deepEqual(first(measured(), [a, { ...b, name: 'b' }]), alone)
  assert.deepEqual(first(measured(), [a, { ...b, retries: 1 }]), alone)
  assert.deepEqual(first(measured(), [a, { ...b, funcObjectId: objectId('x') }]), alone.slice(0, 1))
  assert.deepEqual(first(measured(0.006), two), alone)
  assert.deepEqual(first(measured(), [a, node(id(2))]), ['W 0()', 'W 2()'])
  assert.deepEqual(first(measured(), [node(id(4095)), node(id(4096))]), ['W 4095()', 'W 4096()'])
  const unmeasured = new TestScheduler()
  unmeasured.receive('C', clientHeartbeat()).receive('C', instruction('create', 'C', ['f']))
  unmeasured.receive('W', workerHeartbeat())
  assert.deepEqual(first(unmeasured, two), ['W 0()'])
})

test('nodes with many bytes are in short runs, or alone', () => {
  const counts = (bytes: number): readonly string[] => {
    const scheduler = measured()
    const all = nodes(0, 6, () => [`=${'x'.repeat(bytes)}`])
    scheduler.receive('C', graph('g', [], all))
    return sent(scheduler.actions()).map((text) => text.replace(/\(.*/, ''))
  }
  assert.deepEqual(counts(1_000), ['W 0+6'])
  assert.deepEqual(counts(30_000), ['W 0+3', 'W 3+3'])
  assert.deepEqual(counts(70_000), ['W 0', 'W 1', 'W 2', 'W 3', 'W 4', 'W 5'])
})

test('a worker that does not read runs gets single nodes', () => {
  const scheduler = measured()
  scheduler.receive('V', workerHeartbeat({ ...OURS, features: OURS.features & ~FEATURE_RUNS }))
  scheduler.receive('C', graph('g', [id(0), id(1)], nodes(0, 2)))
  assert.deepEqual(sent(scheduler.actions()).toSorted(), ['V 1()', 'W 0()'])
})

test('nodes that need objects, or have returned some, are sent alone', () => {
  const scheduler = measured()
  const all = [...nodes(0, 2), ...nodes(2, 2, (number) => [id(number - 2), id(0)])]
  scheduler.receive('C', graph('g', [id(2), id(3)], all))
  assert.deepEqual(sent(scheduler.actions()), ['W 0+2(, )'])
  scheduler.receive('W', instruction('create', 'C', ['r']))
  scheduler.receive('W', large(id(0), 'r')).receive('W', values(1, ['b']))
  assert.deepEqual(sent(scheduler.actions()), ['W 2(@r @r)', 'W 3(=b @r)'])
})

test('one that fails fails those that need it, and no others', () => {
  const scheduler = measured()
  const all = [...nodes(0, 3), ...nodes(3, 3, (number) => [id(number - 3), id(number - 3)])]
  scheduler.receive('C', graph('g', ids(nodes(3, 3)), all))
  scheduler.actions()
  scheduler.receive('W', small(id(1), 'no', { status: 'failed' }))
  scheduler.receive('W', values(0, ['a'])).receive('W', values(2, ['c']))
  assert.deepEqual(told(scheduler), ['4 failed no'])
  scheduler.receive('W', values(3, ['A'])).receive('W', values(5, ['C']))
  assert.deepEqual(told(scheduler), ['3 success A', '5 success C', 'g failed'])
})

test('a node is cancelled alone, and the others go on', () => {
  const scheduler = measured()
  const all = nodes(0, 4)
  scheduler.receive('C', graph('g', ids(all), all))
  scheduler.actions()
  scheduler.receive('C', cancel(id(2)))
  assert.deepEqual(told(scheduler), ['2 canceled'])
  scheduler.receive('W', result(id(2), 'canceled'))
  scheduler.receive('W', values(0, ['a', 'b'])).receive('W', values(3, ['d']))
  assert.deepEqual(told(scheduler), ['0 success a', '1 success b', '3 success d', 'g success'])
})

test('what a lost worker had runs elsewhere, and may come back in other parts', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ids(nodes(0, 4)), nodes(0, 4)))
  scheduler.actions()
  scheduler.receive('W', values(1, ['b']))
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W') })
  scheduler.receive('V', workerHeartbeat())
  assert.deepEqual(sent(scheduler.actions()).toSorted(), ['V 0+1()', 'V 2+2(, )'])
  scheduler.receive('V', values(2, ['c', 'd'])).receive('V', values(0, ['a']))
  assert.deepEqual(told(scheduler), ['2 success c', '3 success d', '0 success a', 'g success'])
})

test('a result that is written in another way ends its node as cancelled', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', [id(0), id(1)], nodes(0, 2)))
  scheduler.actions()
  scheduler.receive('W', values(0, ['a', 'b'], 9))
  assert.deepEqual(told(scheduler), ['0 canceled', '1 canceled', 'g success'])
})

test('tiny results: layer by layer; larger ones: in the order of the graph', () => {
  const two = (size: number): readonly string[] => {
    const scheduler = measured()
    // Depth first: number 4 needs 0, 5 needs 1, and so on; both layers are ready at once.
    const all = [0, 1, 4, 5, 2, 3, 6, 7].map((number) => {
      return node(id(number), number < 4 ? [] : [id(number - 4), id(number - 4)])
    })
    scheduler.receive('C', graph('g', ids(nodes(4, 4)), all.slice(0, 2), true))
    scheduler.receive('W', values(0, ['a'.repeat(size), 'b']))
    scheduler.actions()
    scheduler.receive('C', graph('g', ids(nodes(4, 4)), all.slice(2)))
    return sent(scheduler.actions()).map((text) => text.replace(/\(.*/, ''))
  }
  assert.deepEqual(two(1), ['W 2+2', 'W 4+2'])
  assert.deepEqual(two(100), ['W 4+2', 'W 2+2'])
})

test('long functions run in the order of the graph, whatever their results', () => {
  const begun = (scheduler: TestScheduler): readonly string[] => {
    // A chain of 0, 4 and 5, which was sent first, then others of the first layer.
    const all = [
      node(id(0)),
      node(id(4), [id(0), id(0)]),
      node(id(5), [id(4), id(4)]),
      ...nodes(1, 3),
    ]
    scheduler.receive('C', graph('g', [id(1), id(2), id(3), id(5)], all))
    const seen: string[] = []
    for (;;) {
      const next = sent(scheduler.actions())
      if (next.length === 0) return seen
      for (const text of next) {
        const number = Number(/ (\d+)/.exec(text)?.[1])
        seen.push(String(number))
        scheduler.receive(
          'W',
          small(id(number), 'x', { metadata: result('t', 'success', 0.1).metadata }),
        )
      }
    }
  }
  assert.deepEqual(begun(measured(0.1)), ['0', '4', '5', '1', '2', '3'])
})

test('a worker that holds few tasks gets a part, and the next part before later nodes', () => {
  const scheduler = measured(TINY, { perWorkerQueueSize: 2 })
  const all = [...nodes(0, 5), node(id(5), ['@x'])]
  scheduler.receive('C', graph('g', ids(all), all))
  assert.deepEqual(sent(scheduler.actions()), ['W 0+2(, )'])
  scheduler.receive('W', values(0, ['a', 'b']))
  assert.deepEqual(sent(scheduler.actions()), ['W 2+2(, )'])
  scheduler.receive('C', cancel(id(4))).receive('W', values(2, ['c', 'd']))
  assert.deepEqual(sent(scheduler.actions()), ['W 5(@x)'])
})

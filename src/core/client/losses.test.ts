// What a client does when an object storage server is lost with content that it needs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId, type TaskId, taskId } from '../../base/ids.js'
import { NO_LOSS, type ObjectLoss, type TaskResult } from '../../wire/message.js'
import { ALL_FEATURES, GraphSetting, type SketchCall, sketchGraph } from './graph-scheduler.kit.js'
import {
  Harness,
  inlineResult,
  NO_OPTIONS,
  objectResponse,
  resultOf,
  sent,
  storedResult,
  submission,
  summary,
  taskResult,
} from './harness.test.kit.js'

const LARGE = Buffer.alloc(101, 'L')
const CREATE_LARGE = /^create <obj/

/** What a scheduler tells: these objects are lost. */
function loss(objects: readonly string[], rest: Partial<ObjectLoss> = {}): ObjectLoss {
  const objectIds = objects.map((id) => objectId(id))
  return { ...NO_LOSS, objectIds, ...rest }
}

/** Results in the cluster are requested only when a test says so. */
function open(): Harness {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  return harness
}

/** `a` has its result `r1` in the cluster, and `b`, which needs it, is with the scheduler. */
function chain(deathLimit = 0): Harness {
  const harness = open()
  const options = { ...NO_OPTIONS, workerDeathLimit: deathLimit }
  harness.handle({ type: 'taskSubmitted', task: { ...submission('a'), options } })
  harness.submit('b', [resultOf('a')])
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  assert.deepEqual(summary(harness.flush()), ['task b'])
  return harness
}

test('a lost argument is sent again, with the tasks that need it, and nothing else is', () => {
  const harness = open()
  harness.submit('a', [LARGE])
  harness.submit('b')
  const [created] = sent(harness.flush()).flatMap((message) => {
    return message.kind === 'objectInstruction' ? [message.objectContent.objectIds.at(-1)] : []
  })
  const confirmed = summary(harness.receive(loss([created ?? ''])))
  assert.deepEqual(confirmed, ['objectLoss'], 'before anything else')
  const [create, task, ...others] = summary(harness.flush())
  assert.match(create ?? '', CREATE_LARGE)
  assert.deepEqual([task, ...others], ['task a'])
  harness.receive(inlineResult('a'))
  harness.receive(inlineResult('b'))
  assert.deepEqual(harness.ends, [
    ['a', 'value ok'],
    ['b', 'value ok'],
  ])
})

test('a lost result is made again, and the tasks that need it wait for it', () => {
  const harness = chain()
  harness.receive(loss(['r1']))
  assert.deepEqual(summary(harness.flush()), ['task a'])
  assert.equal(harness.machine.whereIs(taskId('b')), 'pending')
  harness.receive(storedResult('a', 'r2'))
  const [task] = sent(harness.flush())
  assert(task?.kind === 'task')
  assert.deepEqual(
    task.functionArgs.map(({ data }) => Buffer.from(data).toString()),
    ['r2'],
  )
  harness.receive(inlineResult('b'))
  assert.equal(harness.endOf('b'), 'value ok')
})

test('a result that is being fetched is made again, and offered again', () => {
  const harness = open()
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  assert.deepEqual(summary(harness.want('a')), ['get r1'])
  harness.receive(loss(['r1']))
  harness.receive(objectResponse('r1', undefined))
  assert.deepEqual(summary(harness.flush()), ['task a'])
  harness.receive(storedResult('a', 'r2'))
  assert.deepEqual(summary(harness.want('a')), ['get r2'])
  harness.receive(objectResponse('r2', 'again'))
  assert.equal(harness.endOf('a'), 'value again')
})

test('what a lost result was made from is made again, if it is gone', () => {
  const harness = open()
  harness.submit('a')
  harness.submit('b', [resultOf('a')])
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.flush()
  harness.receive(storedResult('b', 'r2'))
  harness.want('a')
  harness.receive(objectResponse('r1', 'one'))
  assert.deepEqual(harness.ends, [['a', 'value one']])
  harness.receive(loss(['r2']))
  assert.deepEqual(
    summary(harness.flush()).filter((line) => line !== 'delete r1'),
    ['task a'],
  )
  harness.receive(storedResult('a', 'r3'))
  assert.deepEqual(summary(harness.flush()), ['task b'])
})

test('a result that is lost as often as a task may lose its worker ends it, and its dependents', () => {
  const harness = chain(2)
  harness.receive(loss(['r1']))
  harness.flush()
  harness.receive(storedResult('a', 'r2'))
  harness.flush()
  harness.receive(loss(['r2']))
  assert.deepEqual(harness.ends, [
    ['a', 'workerDied'],
    ['b', 'workerDied'],
  ])
  assert.deepEqual(summary(harness.flush()), [])
})

test('before the scheduler has answered on a new connection, nothing is sent twice', () => {
  const harness = chain()
  harness.disconnect()
  harness.handle({ type: 'connected' })
  harness.receive(loss(['r1']))
  assert.equal(summary(harness.flush()).includes('task a'), false)
  harness.echo()
  const lines = summary(harness.flush())
  assert.deepEqual(
    lines.filter((line) => line.startsWith('task')),
    ['task a'],
  )
})

test('objects and graphs that the client does not know are ignored, and confirmed', () => {
  const harness = open()
  const results = [storedResult('x', 'rx')]
  const message = loss(['unknown'], { graphTaskIds: [taskId('G')], results })
  assert.deepEqual(summary(harness.receive(message)), ['objectLoss'])
  assert.deepEqual(summary(harness.flush()), ['delete rx'], 'this client is its user')
})

const CALLS: Readonly<Record<string, SketchCall>> = {
  a: ['f', { bytes: '1' }],
  b: ['f', { bytes: '2' }],
  c: ['g', 'a'],
  d: ['g', 'b'],
  e: ['h', 'c', 'd'],
}

/** A graph of which the scheduler has run `a` to `d`. */
function graphSetting(): { setting: GraphSetting; idOf: (name: string) => TaskId } {
  const setting = new GraphSetting('S1', ALL_FEATURES)
  const graph = sketchGraph('G', CALLS, ['e'])
  setting.submit(graph)
  setting.flush()
  assert.equal(setting.scheduler.parts.length, 1)
  return { setting, idOf: graph.idOf }
}

/** The graph is dropped: the result of `lost` is gone, others are there. */
function drop(
  setting: GraphSetting,
  lost: readonly TaskId[],
  results: readonly TaskResult[],
  object = 'r',
): void {
  const graphTaskIds = [taskId('G')]
  setting.harness.receive(loss([object], { graphTaskIds, nodeTaskIds: lost, results }))
}

/** The calls that are sent, as `id(arguments)`. */
function callsSent(setting: GraphSetting, idOf: (name: string) => TaskId): readonly string[] {
  const names = new Map(Object.keys(CALLS).map((name) => [String(idOf(name)), name]))
  return sent(setting.harness.flush()).flatMap((message) => {
    if (message.kind !== 'graphTask') return []
    return message.graph.map((node) => {
      const args = node.functionArgs.map(({ type, data }) => {
        const text = Buffer.from(data).toString('latin1')
        if (type === 'task') return names.get(text)
        return type.endsWith('nline') ? `=${text}` : `@${text}`
      })
      return `${names.get(node.taskId)}(${args.join(' ')})`
    })
  })
}

test('of a dropped graph, only what is not there any more is computed again', () => {
  const { setting, idOf } = graphSetting()
  const kept = { ...storedResult('', 'rd'), taskId: idOf('d') }
  drop(setting, [idOf('c')], [kept])
  assert.deepEqual(callsSent(setting, idOf), ['a(=1)', 'c(a)', 'e(c @rd)'])
})

test('values in messages are kept, too; and objects that are kept may be lost, too', () => {
  const { setting, idOf } = graphSetting()
  const small = { ...inlineResult('', 'C'), taskId: idOf('c') }
  const large = { ...storedResult('', 'rd'), taskId: idOf('d') }
  drop(setting, [], [small, large])
  assert.deepEqual(callsSent(setting, idOf), ['e(=C @rd)'])
  setting.harness.receive(loss(['rd'], { graphTaskIds: [taskId('G')] }))
  assert.deepEqual(callsSent(setting, idOf), ['b(=2)', 'd(b)', 'e(=C d)'])
})

test('objects that were kept for a graph are deleted when it has ended', () => {
  const { setting, idOf } = graphSetting()
  drop(setting, [idOf('c')], [{ ...storedResult('', 'rd'), taskId: idOf('d') }])
  callsSent(setting, idOf)
  setting.harness.receive({ ...inlineResult('', 'E'), taskId: idOf('e') })
  setting.harness.receive(taskResult('G', {}))
  assert.equal(setting.harness.endOf('e'), 'value E')
  assert.deepEqual(summary(setting.harness.flush()), ['delete rd'])
})

test('another scheduler has nothing of what was kept', () => {
  const { setting, idOf } = graphSetting()
  drop(setting, [idOf('c')], [{ ...storedResult('', 'rd'), taskId: idOf('d') }])
  callsSent(setting, idOf)
  setting.harness.disconnect()
  setting.harness.open('S2', ALL_FEATURES)
  const again = callsSent(setting, idOf)
  assert.deepEqual(again, ['a(=1)', 'b(=2)', 'c(a)', 'd(b)', 'e(c d)'])
})

test('a call that has lost its result too often ends the targets that need it', () => {
  const { setting, idOf } = graphSetting()
  for (let times = 1; times <= 4; times += 1) {
    assert.equal(setting.harness.endOf('e'), undefined)
    drop(setting, [idOf('c')], [], `r${times}`)
    callsSent(setting, idOf)
  }
  assert.equal(setting.harness.endOf('e'), 'workerDied')
})

test('a loss that is told again, over a new connection, is counted once', () => {
  const { setting, idOf } = graphSetting()
  for (let times = 1; times <= 2; times += 1) {
    const message = loss([`r${times}`], { graphTaskIds: [taskId('G')], nodeTaskIds: [idOf('c')] })
    setting.harness.receive(message)
    callsSent(setting, idOf)
    setting.harness.disconnect()
    setting.harness.open('S1', ALL_FEATURES)
    setting.harness.receive(message)
    callsSent(setting, idOf)
    assert.equal(setting.harness.endOf('e'), undefined)
  }
})

test('a lost object that was sent again meanwhile is deleted when it is not needed any more', () => {
  const harness = open()
  harness.submit('a', [LARGE])
  const [created] = sent(harness.flush()).flatMap((message) => {
    return message.kind === 'objectInstruction' ? [message.objectContent.objectIds.at(-1)] : []
  })
  harness.disconnect()
  harness.open()
  assert.ok(summary(harness.flush()).some((line) => line.includes('<obj')))
  harness.cancel('a')
  // The scheduler has lost it before it was there again.
  harness.receive(loss([created ?? '']))
  harness.handle({ type: 'clearRequested' })
  const deleted = sent(harness.flush()).flatMap((message) => {
    const isDelete = message.kind === 'objectInstruction' && message.instructionType === 'delete'
    return isDelete ? message.objectContent.objectIds : []
  })
  assert.ok(deleted.includes(objectId(created ?? '')))
})

test('a task that must not run twice, but may have begun, is not sent again', () => {
  const harness = open()
  harness.submit('a', [LARGE])
  harness.submit('b', [resultOf('a')])
  const [created] = sent(harness.flush()).flatMap((message) => {
    return message.kind === 'objectInstruction' ? [message.objectContent.objectIds.at(-1)] : []
  })
  const results = [taskResult('a', { status: 'workerDied', results: [] })]
  harness.receive(loss([created ?? ''], { results }))
  assert.deepEqual(summary(harness.flush()), [])
  assert.deepEqual(harness.ends, [
    ['a', 'workerDied'],
    ['b', 'workerDied'],
  ])
})

for (const isTold of [true, false]) {
  const how = isTold ? 'told' : 'connected again'
  test(`a graph on its way waits until a lost result that it needs is there again: ${how}`, () => {
    const harness = new Harness()
    harness.open('S1', ALL_FEATURES)
    harness.isEager = false
    harness.submit('a')
    harness.flush()
    harness.receive(storedResult('a', 'r1'))
    const graph = sketchGraph('G', { b: ['f', resultOf('a')], c: ['g', 'b'] }, ['c'])
    harness.handle({ type: 'graphSubmitted', graph })
    harness.flush()
    harness.receive(loss(['r1']))
    if (isTold) harness.receive(loss([], { graphTaskIds: [taskId('G')] }))
    else {
      harness.disconnect()
      harness.open('S1', ALL_FEATURES)
    }
    const tasks = summary(harness.flush()).filter((line) => !line.startsWith('create'))
    assert.deepEqual(tasks, ['task a'])
    harness.receive(storedResult('a', 'r2'))
    const [part] = sent(harness.flush()).filter(({ kind }) => kind === 'graphTask')
    assert(part?.kind === 'graphTask')
    const [argument] = part.graph[0]?.functionArgs ?? []
    assert.equal(Buffer.from(argument?.data ?? '').toString(), 'r2')
  })
}

test('a target gets its result, if only the graph was dropped after it', () => {
  const setting = new GraphSetting('S1', ALL_FEATURES)
  const graph = sketchGraph('G', CALLS, ['c', 'e'])
  setting.submit(graph)
  setting.flush()
  setting.harness.disconnect()
  setting.harness.open('S1', ALL_FEATURES)
  setting.harness.flush()
  drop(setting, [], [{ ...inlineResult('', 'C'), taskId: graph.idOf('c') }])
  assert.equal(setting.harness.endOf('c'), 'value C')
  assert.deepEqual(callsSent(setting, graph.idOf), ['b(=2)', 'd(b)', 'e(=C d)'])
})

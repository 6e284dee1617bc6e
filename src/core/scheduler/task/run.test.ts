import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_RUNS, hasFeature } from '../../../base/features.js'
import { identity, taskId } from '../../../base/ids.js'
import { decode } from '../../../wire/message.js'
import { countOf, nthTaskId } from '../../../wire/run.js'
import { unpack } from '../../../wire/run.kit.js'
import type { SchedulerAction } from '../events.js'
import {
  cancel,
  clientHeartbeat,
  OURS,
  result,
  results,
  run,
  task,
  type TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const FIRST = 'AAthe-middle--AA'

function id(at: number): string {
  return nthTaskId(taskId(FIRST), at)
}

/** A scheduler that knows how long the function takes: 10 microseconds. */
function measured(
  workers: readonly string[],
  options: Parameters<typeof withPeers>[1] = {},
): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers }, options)
  scheduler.receive('C', task('warm-up', 'C'))
  scheduler.receive(workers[0] as string, result('warm-up', 'success', 0.000_01))
  scheduler.actions()
  return scheduler
}

/** The texts of the packed arguments or results in an action. */
function entriesIn(action: SchedulerAction | undefined): readonly string[] {
  assert.ok(action?.type === 'forward' || action?.type === 'send')
  const message = action.type === 'send' ? action.message : decode(action.bytes)
  assert.ok(message.kind === 'task' || message.kind === 'taskResult')
  return unpack(message.packed, countOf(message)).map((entry) => Buffer.from(entry).toString())
}

test('a function that was never measured gets one task of a run, then as many as fill a slice', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', run(FIRST, 'C', 700))
  assert.deepEqual(scheduler.lines(), [`W <- task ${FIRST}`])
  scheduler.receive('W', results(FIRST, 1))
  const lines = scheduler.lines()
  assert.equal(lines[0], `C <- result ${FIRST} success`)
  assert.equal(lines[1], `W <- task ${id(1)}*400`, 'while it is new, slices of four milliseconds')
  assert.equal(lines.length, 3)
})

test('slices of a function that has run some thousand times take a millisecond', () => {
  const scheduler = measured(['W'])
  const first = (): string | undefined => {
    return scheduler.receive('C', run(FIRST, 'C', 700)).lines()[0]
  }
  for (let count = 0; count < 6; count += 1) {
    assert.equal(first(), `W <- task ${FIRST}*400`)
    scheduler.receive('W', results(FIRST, 700)).actions()
  }
  assert.equal(first(), `W <- task ${FIRST}*100`)
})

test('many idle workers get a long run over several turns, with other events in between', () => {
  const workers = Array.from({ length: 600 }, (_, at) => `W${at}`)
  const scheduler = withPeers({ clients: ['C'], workers }, { loadBalanceMs: 0 })
  const assigned = (): number => {
    return scheduler.lines().filter((line) => line.includes('<- task')).length
  }
  scheduler.receive('C', run(FIRST, 'C', 600))
  assert.equal(assigned(), 256)
  scheduler.receive('C', clientHeartbeat())
  assert.equal(assigned(), 256)
  assert.equal(scheduler.machine.deadline, scheduler.now, 'the rest is due at once')
  scheduler.moveTo(scheduler.now)
  assert.equal(assigned(), 88)
  assert.notEqual(scheduler.machine.deadline, scheduler.now)
})

test('results are forwarded as they came, whatever slices they belong to', () => {
  const scheduler = measured(['W'])
  scheduler.receive('C', run(FIRST, 'C', 700))
  const slices = scheduler.actions()
  assert.deepEqual(
    slices.map((action) => scheduler.describe(action)),
    [`W <- task ${FIRST}*400`, `W <- task ${id(400)}*300`],
  )
  assert.deepEqual(entriesIn(slices[1]).slice(0, 2), ['400', '401'])
  scheduler.receive('W', results(id(350), 100))
  const [first, second, ...others] = scheduler.actions()
  assert.deepEqual(entriesIn(first).at(-1), 'r49')
  assert.deepEqual(entriesIn(second)[0], 'r50')
  assert.deepEqual(others, [])
  scheduler.receive('W', results(FIRST, 350)).receive('W', results(id(450), 250))
  assert.equal(scheduler.machine.counts.tasks, 0)
})

test('one task of a run is cancelled while it waits, another one while a worker has it', () => {
  const scheduler = measured(['W'])
  scheduler.receive('C', run(FIRST, 'C', 700))
  scheduler.receive('C', run('AAthe-middle-2AA', 'C', 700))
  scheduler.receive('C', run('AAthe-middle-3AA', 'C', 700)).actions()
  const waiting = nthTaskId(taskId('AAthe-middle-3AA'), 690)
  scheduler.receive('C', cancel(waiting, true))
  assert.deepEqual(scheduler.lines(), [`C <- result ${waiting} canceled`])
  scheduler.receive('C', cancel(id(10), true))
  assert.deepEqual(scheduler.lines(), [`W <- cancel ${id(10)} by force`])
  scheduler.receive('W', result(id(10), 'canceled'))
  scheduler.receive('W', results(FIRST, 10)).receive('W', results(id(11), 89))
  const ended = scheduler.lines().filter((line) => line.startsWith('C <- '))
  assert.deepEqual(ended, [
    `C <- result ${id(10)} canceled`,
    `C <- result ${FIRST}*10 success`,
    `C <- result ${id(11)}*89 success`,
  ])
  assert.equal(scheduler.machine.counts.tasks, 2100 - 101)
})

test('a task of a run that fails is retried alone', () => {
  const scheduler = measured(['W'])
  scheduler.receive('C', { ...run(FIRST, 'C', 20), retries: 1 }).actions()
  scheduler.receive('W', result(id(5), 'failed', 0.000_01))
  const [again] = scheduler.actions()
  assert.deepEqual(scheduler.describe(again as SchedulerAction), `W <- task ${id(5)}`)
  assert.deepEqual(entriesIn(again), ['5'])
  scheduler.receive('W', result(id(5), 'failed', 0.000_01))
  assert.deepEqual(scheduler.lines(), [`C <- result ${id(5)} failed`])
})

test('the unfinished tasks of a lost worker go to another one', () => {
  const scheduler = measured(['W1', 'W2'])
  scheduler.receive('C', run(FIRST, 'C', 40))
  const mine = scheduler.lines().filter((line) => line.startsWith('W1'))
  assert.deepEqual(mine, [`W1 <- task ${FIRST}*25`])
  scheduler.receive('W1', results(FIRST, 10)).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W1') })
  assert.deepEqual(scheduler.lines(), [`W2 <- task ${id(10)}*15`])
})

test('tasks that a worker has not begun are taken back from a slice, and the first one stays', () => {
  const scheduler = measured(['W1'], { loadBalanceMs: 10 })
  scheduler.receive('C', run(FIRST, 'C', 20)).actions()
  scheduler.receive('W2', workerHeartbeat()).moveTo(50)
  const [recall = ''] = scheduler.lines().filter((line) => line.includes('cancel'))
  const [, from = '', count = ''] = /^W1 <- cancel (.+)\*(\d+)$/s.exec(recall) ?? []
  assert.notEqual(from, FIRST)
  scheduler.receive('W1', { ...result(from, 'canceled'), count: Number(count) })
  const lines = scheduler.lines()
  assert.equal(lines[0]?.slice(0, `W2 <- task ${from}`.length), `W2 <- task ${from}`)
})

test('a run that is sent again adds only the tasks that are not known', () => {
  const scheduler = measured(['W'])
  scheduler.receive('C', run(id(5), 'C', 10)).actions()
  scheduler.receive('C', run(FIRST, 'C', 20))
  assert.deepEqual(scheduler.lines(), [`W <- task ${FIRST}*5`, `W <- task ${id(15)}*5`])
  assert.equal(scheduler.machine.counts.tasks, 20)
})

test('runs whose parts disagree are refused as a whole', () => {
  const scheduler = measured(['W'])
  const good = run(FIRST, 'C', 10)
  const refused = [
    { ...good, taskId: taskId('short') },
    { ...good, taskId: taskId('AAthe-middle--BB') },
    { ...good, count: 11 },
    { ...good, packed: good.packed.subarray(1) },
    { ...good, packed: new Uint8Array() },
    { ...run('\x0f\xf8the-middle--\x0f\xf8', 'C', 9) },
    { ...good, count: 2 ** 32 - 1 },
  ]
  for (const message of refused) {
    scheduler.receive('C', message)
    const [line, ...others] = scheduler.lines()
    assert.match(line ?? '', /canceled$/s)
    assert.deepEqual(others, [])
  }
  assert.equal(scheduler.machine.counts.tasks, 0)
})

test('a worker that sends malformed results of a run ends its tasks as cancelled', () => {
  const scheduler = measured(['W'])
  scheduler.receive('C', run(FIRST, 'C', 10)).actions()
  scheduler.receive('W', { ...results(FIRST, 10), packed: new Uint8Array(3) })
  assert.deepEqual(scheduler.lines(), [`C <- result ${FIRST}*10 canceled`])
  scheduler.receive('C', run(FIRST, 'C', 10)).actions()
  scheduler.receive('W', { ...results(FIRST, 10), count: 2 ** 31 })
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('W', { ...results(FIRST, 10), metadata: new Uint8Array(7) })
  assert.deepEqual(scheduler.lines(), [`C <- result ${FIRST}*10 canceled`])
})

test('what a malformed run says of its tasks is not counted', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', { ...run(FIRST, 'C', 10), count: 2 ** 31 })
  assert.deepEqual(scheduler.lines(), [`C <- result ${FIRST}*${2 ** 31} canceled`])
  assert.equal(scheduler.machine.metrics.ended.get('canceled') ?? 0, 0)
})

test('a scheduler with little room takes the first tasks of a run', () => {
  const scheduler = measured(['W'], { maxNumberOfTasksWaiting: 3, perWorkerQueueSize: 1 })
  scheduler.receive('C', run(FIRST, 'C', 10))
  const lines = scheduler.lines().filter((line) => line.startsWith('C'))
  assert.deepEqual(lines, [`C <- result ${id(4)}*6 noWorker`])
  assert.equal(scheduler.machine.counts.tasks, 4)
})

test('a worker returns with one task of a run', () => {
  const scheduler = withPeers({ workers: ['W1', 'W2'] })
  scheduler.receive('W1', { ...workerHeartbeat(), tasks: [taskId(id(3))] })
  scheduler.receive('C', clientHeartbeat())
  scheduler.receive('C', { ...run(FIRST, 'C', 8), mayHaveRun: true })
  const given = scheduler.lines().filter((line) => line.includes('task'))
  assert.deepEqual(given, [`W1 <- task ${id(3)}`])
})

test('children belong to one task of a run, and end with it', () => {
  const scheduler = measured(['W'])
  scheduler.receive('C', run(FIRST, 'C', 10)).actions()
  scheduler.receive('N', clientHeartbeat(OURS, 'W'))
  scheduler.receive('N', { ...run('NNthe-middle--NN', 'N', 5, 1), parentTaskId: taskId(id(2)) })
  scheduler.receive('W', update(id(2), 'waiting')).actions()
  scheduler.receive('W', result(id(2), 'failed', 1))
  const lines = scheduler.lines()
  assert.ok(lines.some((line) => /^W <- cancel NNthe-middle--NN(\*\d)? by force$/s.test(line)))
  scheduler.machine.checkInvariants()
})

test('clients are not told of runs while a worker could not read them', () => {
  const features = (scheduler: TestScheduler): number => {
    scheduler.receive('N', clientHeartbeat()).actions()
    const [echo] = scheduler.receive('N', clientHeartbeat()).actions()
    assert.ok(echo?.type === 'send' && echo.message.kind === 'clientHeartbeatEcho')
    return echo.message.features
  }
  const scheduler = withPeers({ workers: ['W1'] })
  assert.ok(hasFeature(features(scheduler), FEATURE_RUNS))
  const older = { features: OURS.features & ~FEATURE_RUNS, runtime: OURS.runtime }
  scheduler.receive('W2', workerHeartbeat(older))
  assert.equal(features(scheduler), OURS.features & ~FEATURE_RUNS)
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W2') })
  assert.ok(hasFeature(features(scheduler), FEATURE_RUNS))
})

test('a small limit of tasks per worker counts each task of a run', () => {
  const scheduler = measured(['W'], { perWorkerQueueSize: 5 })
  scheduler.receive('C', run(FIRST, 'C', 20))
  assert.deepEqual(scheduler.lines(), [`W <- task ${FIRST}*5`])
  scheduler.receive('W', results(FIRST, 2))
  assert.deepEqual(scheduler.lines(), [`C <- result ${FIRST}*2 success`, `W <- task ${id(5)}*2`])
})

test('of a run whose ids another client uses in part, only that part is refused', () => {
  const scheduler = measured(['W'])
  scheduler.receive('D', clientHeartbeat())
  scheduler.receive('D', run(id(5), 'D', 10)).actions()
  scheduler.receive('C', run(FIRST, 'C', 20))
  const refused = scheduler.lines().filter((line) => line.startsWith('C'))
  assert.deepEqual(refused, [`C <- result ${id(5)}*10 notFound`])
  assert.equal(scheduler.machine.counts.tasks, 20)
})

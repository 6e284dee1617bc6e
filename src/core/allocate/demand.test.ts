import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demandOf, type DemandRules, needsOf } from './demand.js'
import type { Announcement, ClusterView, SeenWorker, WaitingWork } from './events.js'

const PLAIN = new Map<string, number>()
const RULES: DemandRules = {
  own: { name: 'a', offers: PLAIN, runtime: 'javascript' },
  backlogSeconds: 30,
  bootSeconds: 0,
  workersPerUnit: 1,
  lifetimeSeconds: Infinity,
  enoughSeconds: 0,
  leaving: new Set(),
}

function work(
  tasks: number,
  seconds: number | undefined,
  more: Partial<WaitingWork> = {},
): WaitingWork {
  const times = { seconds, runningSeconds: 0, waitedSeconds: 0 }
  return { needs: '', runtime: 'javascript', tasks, ...times, ...more }
}

function worker(id: string, more: Partial<SeenWorker> = {}): SeenWorker {
  const state = { isIdle: false, isLeaving: false, offers: PLAIN, endsInMs: Infinity }
  return { id, allocation: '', runtime: 'javascript', ...state, ...more }
}

function busy(count: number): readonly SeenWorker[] {
  return Array.from({ length: count }, (_, at) => worker(`w${at}`))
}

function other(name: string, more: Partial<Announcement> = {}): Announcement {
  const numbers = { room: 10, pending: 0, claim: 0, running: 0 }
  const state = { isPaused: false, action: 'wait', reason: '', problem: '' } as const
  const what = { name, provider: 'local', offers: PLAIN, runtime: 'javascript' } as const
  return { ...what, ...numbers, ...state, ...more }
}

function targetOf(view: Partial<ClusterView>, rules: Partial<DemandRules> = {}): number {
  const whole = { waiting: [], workers: [], allocators: [], ...view }
  return demandOf(whole, { ...RULES, ...rules }).target
}

test('enough workers to finish the measured work in time', () => {
  assert.equal(targetOf({ waiting: [work(2_000, 0.05)] }), 4)
  assert.equal(targetOf({ waiting: [work(2_000, 0.05), work(10, 30)] }), 14)
})

test('never more than there are tasks, but at least one', () => {
  assert.equal(targetOf({ waiting: [work(3, 3_600)] }), 3)
  assert.equal(targetOf({ waiting: [work(1, 0.001)] }), 1)
  assert.equal(targetOf({ waiting: [work(2, 3_600)], workers: busy(3) }), 5)
})

test('for tasks that take longer than workers live, there are none', () => {
  const view = { waiting: [work(3, 61), work(1, 60)], workers: [], allocators: [] }
  const demand = demandOf(view, { ...RULES, lifetimeSeconds: 60 })
  assert.deepEqual([demand.target, demand.waitingTasks, demand.tooLong], [1, 1, 3])
})

test('a function that was never measured is tried on one unit', () => {
  assert.equal(targetOf({ waiting: [work(500, undefined)] }), 1)
  assert.equal(targetOf({ waiting: [work(500, undefined)] }, { workersPerUnit: 8 }), 8)
  assert.equal(targetOf({ waiting: [work(500, undefined)], workers: busy(4) }), 4)
})

test('a first task that does not end shows how long the others take at least', () => {
  const after = (runningSeconds: number, seconds?: number): number => {
    return targetOf({ waiting: [work(500, seconds, { runningSeconds })], workers: busy(1) })
  }
  assert.equal(after(0.05), 1)
  assert.equal(after(1), 17)
  assert.equal(after(6), 100)
  assert.equal(after(60), 501)
  assert.equal(after(60, 0.06), 1, 'measured: that is what counts')
})

test('the workers that are there work while others start', () => {
  const view = { waiting: [work(1_000, 1)], workers: busy(5) }
  assert.equal(targetOf(view), 34)
  assert.equal(targetOf(view, { bootSeconds: 100 }), 17)
})

test('without work the busy workers are needed, and no more', () => {
  const workers = [...busy(2), worker('idle', { isIdle: true })]
  assert.equal(targetOf({ workers }), 2)
})

test('little work that waits for too long needs workers beside the busy ones', () => {
  const waiting = [work(1, 1, { waitedSeconds: 40 })]
  assert.equal(targetOf({ waiting, workers: busy(2) }), 2)
  assert.equal(targetOf({ waiting, workers: busy(2) }, { enoughSeconds: 31 }), 3)
})

test('work that was never measured and waits for too long doubles the workers', () => {
  const waiting = [work(5, undefined, { waitedSeconds: 40 })]
  const grown = [1, 2, 4, 8].map((count) => {
    return targetOf({ waiting, workers: busy(count) }, { enoughSeconds: 31 })
  })
  assert.deepEqual(grown, [2, 4, 8, 13])
})

test('workers that leave, or whose time ends before others could come, do not count', () => {
  const workers = [
    worker('leaving', { isLeaving: true }),
    worker('drained'),
    worker('ending', { endsInMs: 59_000 }),
    worker('lasting', { endsInMs: 61_000 }),
  ]
  const view = { waiting: [], workers, allocators: [] }
  const rules = { ...RULES, bootSeconds: 60, leaving: new Set(['drained']) }
  assert.equal(demandOf(view, rules).workers, 1)
})

test('work that needs what the workers do not offer is not for them', () => {
  const gpu = { ...RULES.own, offers: new Map([['gpu', 2]]) }
  const waiting = [work(1, 60, { needs: 'gpu=2' }), work(1, 60, { needs: 'gpu=3' })]
  assert.equal(targetOf({ waiting }), 0)
  assert.equal(targetOf({ waiting }, { own: gpu }), 1)
  assert.equal(targetOf({ waiting: [work(9, 60, { runtime: 'python' })] }), 0)
})

test('work that no present worker can run needs one, whatever they will have finished', () => {
  const gpus = new Map([['gpu', 1]])
  const own = { ...RULES.own, offers: gpus }
  const waiting = [work(4, 1), work(1, undefined, { needs: 'gpu=1' })]
  assert.equal(targetOf({ waiting, workers: busy(2) }, { own }), 3)
  const workers = [...busy(2), worker('g', { offers: gpus })]
  assert.equal(targetOf({ waiting, workers }, { own }), 3)
  assert.equal(targetOf({ waiting: [work(60, 1, { needs: 'gpu=1' })], workers: [] }, { own }), 2)
})

test('work that no present worker can run needs one although others idle', () => {
  const own = { ...RULES.own, offers: new Map([['gpu', 1]]) }
  const waiting = [work(3, 1), work(1, 10, { needs: 'gpu=1' })]
  const workers = [1, 2, 3, 4, 5].map((at) => worker(`w${at}`, { isIdle: at > 1 }))
  assert.equal(targetOf({ waiting, workers }, { own }), 6)
  assert.equal(targetOf({ waiting: waiting.slice(0, 1), workers }, { own }), 1)
})

test('plain work is for the allocator with the plainest workers that has room', () => {
  const own = { name: 'gpus', offers: new Map([['gpu', -1]]), runtime: 'javascript' } as const
  const waiting = [work(10, 60), work(1, 60, { needs: 'gpu' })]
  assert.equal(targetOf({ waiting }, { own }), 11)
  assert.equal(targetOf({ waiting, allocators: [other('plain')] }, { own }), 1)
  for (const cannot of [{ room: 0 }, { isPaused: true }]) {
    assert.equal(targetOf({ waiting, allocators: [other('plain', cannot)] }, { own }), 11)
  }
})

test('what others have asked for counts, if it is for the same work', () => {
  const allocators = [
    other('b', { pending: 3 }),
    other('p', { pending: 5, runtime: 'python' }),
    other('a', { pending: 7 }),
  ]
  const demand = demandOf({ waiting: [work(10, 60)], workers: [], allocators }, RULES)
  assert.equal(demand.othersPending, 3)
  assert.deepEqual(
    demand.rivals.map(({ name }) => name),
    ['b'],
  )
})

test('workers that others have asked for do not count for work that they cannot run', () => {
  const own = { ...RULES.own, offers: new Map([['gpu', 1]]) }
  const waiting = [work(4, 60, { needs: 'gpu=1' }), work(3, 1)]
  const missing = (pending: number, name = 'plain', offers = PLAIN): number => {
    const allocators = [other(name, { offers, pending, room: 0 })]
    const demand = demandOf({ waiting, workers: busy(1), allocators }, { ...RULES, own })
    return demand.target - demand.workers - demand.othersPending
  }
  assert.deepEqual(
    [0, 1, 50].map((pending) => missing(pending)),
    [4, 4, 4],
  )
  const gpus = [0, 1, 3, 50].map((pending) => missing(pending, 'gpus', own.offers))
  assert.deepEqual(gpus, [4, 3, 1, -46])
})

test('requirements are read as a scheduler writes them', () => {
  assert.deepEqual(needsOf(''), [])
  assert.deepEqual(needsOf('gpu=1, linux'), [
    { name: 'gpu', units: 1 },
    { name: 'linux', units: 0 },
  ])
  assert.deepEqual(needsOf('"a, b"=2, "c\\"d"'), [
    { name: 'a, b', units: 2 },
    { name: 'c"d', units: 0 },
  ])
})

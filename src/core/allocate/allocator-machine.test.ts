import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AllocatorMachine } from './allocator-machine.js'
import type {
  AllocatorAction,
  AllocatorCoreOptions,
  AllocatorEvent,
  ClusterView,
  ListedUnit,
  SeenWorker,
} from './events.js'

const OPTIONS: AllocatorCoreOptions = {
  name: 'one',
  provider: 'slurm',
  offers: new Map(),
  runtime: 'javascript',
  minWorkers: 0,
  maxWorkers: 200,
  workersPerUnit: 1,
  backlogMs: 30_000,
  idleMs: 60_000,
  maxQueuedUnits: 20,
  startTimeoutMs: 600_000,
  isDryRun: false,
}
const WORK = {
  needs: '',
  runtime: 'javascript',
  tasks: 1,
  seconds: 1,
  runningSeconds: 0,
  waitedSeconds: 0,
} as const
const VIEWED = {
  type: 'viewed',
  view: { waiting: [WORK], workers: [], allocators: [] },
} as const

/** What a machine does and announces. */
function driven(
  options: Partial<AllocatorCoreOptions> = {},
): (event: AllocatorEvent, now: number) => readonly AllocatorAction[] {
  const machine = new AllocatorMachine({ ...OPTIONS, ...options })
  return (event, now) => {
    const actions: AllocatorAction[] = []
    machine.handle(event, now, (action) => actions.push(action))
    return actions
  }
}

function reported(actions: readonly AllocatorAction[]): readonly string[] {
  return actions.flatMap((action) => {
    return action.type === 'announce' ? [action.report.reason, action.report.problem] : []
  })
}

test('nothing is started before the units are listed, and the reason says why not', () => {
  const handle = driven()
  assert.deepEqual(reported(handle(VIEWED, 0)), ['the provider has not listed its units yet', ''])
  handle({ type: 'listFailed', problem: 'no squeue' }, 1)
  assert.deepEqual(reported(handle(VIEWED, 2)), [
    'the provider cannot list its units: no squeue',
    'no squeue',
  ])
  handle({ type: 'listed', units: [], begunAt: 3 }, 3)
  const actions = handle(VIEWED, 4)
  assert.deepEqual(
    actions.map(({ type }) => type),
    ['decided', 'start', 'announce'],
  )
  assert.deepEqual(reported(actions), [
    '1 task waits (1 s of work): 1 worker needed, 1 missing',
    '',
  ])
})

test('a unit that hangs is asked for its output before it is cancelled', () => {
  const handle = driven()
  const unit = { id: '1', key: '1', state: 'running' } as const
  handle({ type: 'listed', units: [unit], begunAt: 0 }, 0)
  const actions = handle(VIEWED, 600_001)
  assert.deepEqual(
    actions.slice(0, 3).map(({ type }) => type),
    ['inspect', 'log', 'cancel'],
  )
})

test('of many units that fail together, a few are shown', () => {
  const handle = driven()
  const units = Array.from({ length: 300 }, (_, at) => {
    return { id: `u${at}`, key: String(at), state: 'running' } as const
  })
  handle({ type: 'listed', units, begunAt: 0 }, 0)
  const types = handle({ type: 'listed', units: [], begunAt: 2 }, 2).map(({ type }) => type)
  assert.deepEqual(types, ['inspect', 'log', 'inspect', 'log', 'inspect', 'log', 'log'])
  const [, problem] = reported(handle(VIEWED, 3))
  assert.equal(problem, 'u2: it ended without a worker')
})

test('a worker that leaves is replaced at once, one that is lost after a while', () => {
  const worker = {
    id: 'w',
    allocation: 'one/1',
    runtime: 'javascript',
    isIdle: false,
    offers: new Map<string, number>(),
    endsInMs: Infinity,
  } as const
  const unit = { id: '1', key: '1', state: 'running' } as const
  for (const isLeaving of [true, false]) {
    const handle = driven()
    handle({ type: 'listed', units: [unit], begunAt: 0 }, 0)
    const there = { ...VIEWED.view, waiting: [], workers: [{ ...worker, isLeaving: false }] }
    for (const at of [1_000, 99_000]) handle({ type: 'viewed', view: there }, at)
    const workers = isLeaving ? [{ ...worker, isLeaving }] : []
    handle({ type: 'viewed', view: { ...there, workers } }, 100_000)
    const [reason] = reported(handle(VIEWED, 101_000))
    assert.match(reason ?? '', isLeaving ? /^1 task waits/ : /^workers are on their way/)
  }
})

const IDLE_WORKER: SeenWorker = {
  id: 'w',
  allocation: 'one/1',
  runtime: 'javascript',
  isIdle: true,
  isLeaving: false,
  offers: new Map(),
  endsInMs: Infinity,
}

/** A machine that has drained its only worker at time 2,000. It may have one worker at most. */
function drained(): ReturnType<typeof driven> {
  const handle = driven({ maxWorkers: 1, idleMs: 1_000 })
  handle({ type: 'listed', units: [{ id: '1', key: '1', state: 'running' }], begunAt: 0 }, 0)
  const view = { ...VIEWED.view, waiting: [], workers: [IDLE_WORKER] }
  handle({ type: 'viewed', view }, 1_000)
  const actions = handle({ type: 'viewed', view }, 2_000)
  assert.ok(actions.some(({ type }) => type === 'drain'))
  return handle
}

/** How many units are started when work waits. */
function startedBy(actions: readonly AllocatorAction[]): number {
  return actions.reduce((sum, action) => sum + (action.type === 'start' ? action.units : 0), 0)
}

test('a worker that leaves counts towards the maximum until its unit has ended', () => {
  const handle = drained()
  const view = { ...VIEWED.view, workers: [{ ...IDLE_WORKER, isLeaving: true }] }
  const actions = handle({ type: 'viewed', view }, 3_000)
  assert.equal(startedBy(actions), 0)
  assert.equal(reported(actions)[0], '1 worker is the maximum, with those that are leaving')
  assert.equal(startedBy(handle(VIEWED, 4_000)), 0, 'its process may still be there')
  handle({ type: 'listed', units: [], begunAt: 4_500 }, 4_500)
  assert.equal(startedBy(handle(VIEWED, 5_000)), 1)
})

test('so does one that leaves on its own', () => {
  const handle = driven({ maxWorkers: 2 })
  const units = ['1', '2'].map((key) => ({ id: key, key, state: 'running' }) as const)
  handle({ type: 'listed', units, begunAt: 0 }, 0)
  const busy = { ...IDLE_WORKER, isIdle: false }
  const other = { ...busy, id: 'v', allocation: 'one/2' }
  const started = (workers: readonly SeenWorker[], at: number): number => {
    const view = { ...VIEWED.view, waiting: [{ ...WORK, tasks: 9, seconds: 60 }], workers }
    return startedBy(handle({ type: 'viewed', view }, at))
  }
  assert.equal(started([busy, other], 1_000), 0)
  const leaving = { ...other, isLeaving: true }
  assert.deepEqual([started([busy, leaving], 2_000), started([busy, leaving], 9_000)], [0, 0])
  handle({ type: 'listed', units: units.slice(0, 1), begunAt: 9_500 }, 9_500)
  assert.equal(started([busy], 9_600), 1)
})

test('if all workers are leaving and do not end, one more is allowed for what they may need', () => {
  const handle = drained()
  const view = { ...VIEWED.view, workers: [{ ...IDLE_WORKER, isIdle: false, isLeaving: true }] }
  const counts = [3_000, 7_900, 8_000, 8_100].map((at) => {
    return startedBy(handle({ type: 'viewed', view }, at))
  })
  assert.deepEqual(counts, [0, 0, 1, 0])
})

test('no workers are started for tasks that take longer than these live', () => {
  const handle = driven({ lifetimeMs: 500 })
  handle({ type: 'listed', units: [], begunAt: 0 }, 0)
  assert.deepEqual(reported(handle(VIEWED, 1)), ['1 task takes longer than workers live', ''])
})

/** A cluster without workers, in which tasks wait that were measured at a minute each. */
function viewOf(tasks: number): ClusterView {
  const work = {
    needs: '',
    runtime: 'javascript',
    tasks,
    seconds: 60,
    runningSeconds: 0,
    waitedSeconds: 0,
  } as const
  return { waiting: [work], workers: [], allocators: [] }
}

/** The reason of the decision for a view, with these units. */
function reasonFor(tasks: number, unit: ListedUnit): string {
  const machine = new AllocatorMachine({ ...OPTIONS, maxQueuedUnits: 1 })
  const actions: AllocatorAction[] = []
  const act = (action: AllocatorAction): void => void actions.push(action)
  machine.handle({ type: 'listed', units: [], begunAt: -1 }, 0, act)
  machine.handle({ type: 'viewed', view: viewOf(1) }, 0, act)
  machine.handle({ type: 'started', asked: 1, units: [unit], problem: '' }, 1, act)
  machine.handle({ type: 'listed', units: [unit], begunAt: 2 }, 2, act)
  machine.handle({ type: 'viewed', view: viewOf(tasks) }, 3, act)
  const last = actions.findLast((action) => action.type === 'decided')
  return last?.decision.reason ?? ''
}

test('a decision to wait says why units are still queued, if the provider knows', () => {
  const unit = { id: '1', key: '1', state: 'queued' } as const
  assert.equal(reasonFor(1, unit), 'workers are on their way')
  assert.equal(reasonFor(1, { ...unit, why: 'no node' }), 'workers are on their way (no node)')
  const full = 'the maximum of 1 unit is queued (no node)'
  assert.equal(reasonFor(2, { ...unit, why: 'no node' }), full)
})

test('a decision that is the same as the last one is told once, also in a dry run', () => {
  const handle = driven({ isDryRun: true })
  handle({ type: 'listed', units: [], begunAt: 0 }, 0)
  const decided = [1, 2, 3].flatMap((now) => {
    handle({ type: 'listed', units: [], begunAt: now }, now)
    return handle(VIEWED, now).filter(({ type }) => type === 'decided')
  })
  assert.equal(decided.length, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AllocatorMachine } from './allocator-machine.js'
import type { AllocatorAction, ClusterView, ListedUnit } from './events.js'

const OPTIONS = {
  name: 'a',
  provider: 'kubernetes',
  offers: new Map<string, number>(),
  runtime: 'javascript',
  minWorkers: 0,
  maxWorkers: 10,
  workersPerUnit: 1,
  backlogMs: 30_000,
  idleMs: 60_000,
  maxQueuedUnits: 1,
  startTimeoutMs: 600_000,
  isDryRun: false,
} as const

/** A cluster without workers, in which tasks wait that were measured at a minute each. */
function viewOf(tasks: number): ClusterView {
  const work = { needs: '', runtime: 'javascript', tasks, seconds: 60, waitedSeconds: 0 } as const
  return { waiting: [work], workers: [], allocators: [] }
}

/** The reason of the decision for a view, with these units. */
function reasonFor(tasks: number, unit: ListedUnit): string {
  const machine = new AllocatorMachine(OPTIONS)
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

// Random fleets and random work of unknown duration: no worker idles for long while another has
// tasks to begin, each task runs once, and few tasks are moved.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../../../base/short-run.kit.js'
import { objectId } from '../../../base/ids.js'
import { Fleet } from '../fleet.kit.js'
import { instruction, task } from '../scheduler.kit.js'

const LATENCY_MS = 1
const BALANCE_MS = 100

/** Until a worker counts as slow, plus further checks and round trips. */
const MAX_WASTE_MS = 1.5 * BALANCE_MS

/** Some tasks of a function take a hundred thousand times as long as others. */
const work = fc.record({
  name: fc.constantFrom('f', 'g', 'h'),
  ms: fc.constantFrom(0.02, 0.02, 0.02, 0.5, 4, 15, 60, 400, 3000),
  at: fc.nat(300),
  priority: fc.nat(1),
})

interface Work {
  readonly name: string
  readonly ms: number
  readonly at: number
  readonly priority: number
}

/** Runs some work on workers that join at the given times. */
function fleetOf(works: readonly Work[], joins: readonly number[]): Fleet {
  const durations = works.map(({ ms }) => ms)
  const durationOf = (id: string): number => durations[Number(id)] as number
  const fleet = new Fleet({ durationOf, latencyMs: LATENCY_MS, loadBalanceMs: BALANCE_MS })
  fleet.say('C', instruction('create', 'C', ['f', 'g', 'h']))
  const events = [
    ...works.map((item, index) => ({ at: item.at, begin: () => submit(fleet, index, item) })),
    ...joins.map((at, index) => ({ at, begin: () => fleet.join(`W${index}`) })),
  ]
  for (const { at, begin } of events.toSorted((a, b) => a.at - b.at)) {
    fleet.runTo(at)
    begin()
  }
  fleet.runOut()
  return fleet
}

function submit(fleet: Fleet, index: number, { name, priority }: Work): void {
  fleet.say('C', { ...task(`${index}`, 'C', priority), funcObjectId: objectId(name) })
}

const works = fc.array(work, { minLength: 1, maxLength: 80, size: 'max' })
const joins = fc
  .array(fc.nat(2000), { maxLength: 7, size: 'max' })
  .map((later) => [0, ...later.map((at) => (at < 1000 ? 0 : at))])

test('property: no worker idles for long while tasks wait, and balancing settles', () => {
  fc.assert(
    fc.property(works, joins, (some, times) => {
      const fleet = fleetOf(some, times)
      assert.equal(fleet.outcomes.size, some.length, 'all tasks end')
      for (const [id, status] of fleet.outcomes) {
        assert.equal(status, 'success')
        assert.equal(fleet.begun.get(id), 1, `${id} runs once`)
      }
      const recalls = [...fleet.recalls.values()]
      const total = recalls.reduce((sum, count) => sum + count, 0)
      assert.ok(total <= 2 * some.length, `${total} recalls of ${some.length} tasks`)
      assert.ok(Math.max(0, ...recalls) <= 5, `${Math.max(...recalls)} recalls of one task`)
      assert.ok(fleet.longestWasteMs <= MAX_WASTE_MS, `idle for ${fleet.longestWasteMs} ms`)
      // A few for each task and recall, and a check of the peers each second.
      const mostSteps = 20 + 4 * (some.length + total + times.length) + fleet.now / 500
      assert.ok(fleet.steps <= mostSteps, `${fleet.steps} events, more than ${mostSteps}`)
      fleet.scheduler.machine.checkInvariants()
    }),
    { numRuns: sized(1_000, 200) },
  )
})

test('with more workers than tasks, each task has its own and nothing is moved', () => {
  const some = Array.from({ length: 20 }, () => ({ name: 'f', ms: 500, at: 0, priority: 0 }))
  const fleet = fleetOf(
    some,
    Array.from({ length: 50 }, () => 0),
  )
  assert.deepEqual([fleet.now <= 510, fleet.recalls.size], [true, 0])
})

test('when a worker dies at any moment between a recall and its answer, nothing is lost', () => {
  const count = 40
  let asked = 0
  for (let ms = 0; ms < 200; ms += 1) {
    const isLong = (id: string): boolean => Number(id) === 10
    const durationOf = (id: string): number => (isLong(id) ? 500 : 0.05)
    const fleet = new Fleet({ durationOf, latencyMs: 25, loadBalanceMs: BALANCE_MS })
    fleet.say('C', instruction('create', 'C', ['f']))
    fleet.join('W0')
    for (let i = 0; i < count; i += 1) fleet.say('C', task(`${i}`, 'C'))
    fleet.runTo(100)
    fleet.join('W1')
    fleet.runTo(150 + ms / 2)
    if (fleet.recalls.size > 0) asked += 1
    fleet.crash(fleet.tasksOf('W0').includes('10') ? 'W0' : 'W1')
    fleet.join('W2')
    fleet.runOut()
    assert.equal(fleet.outcomes.size, count, `all end when it dies after ${ms / 2} ms`)
    assert.ok([...fleet.outcomes.values()].every((status) => status === 'success'))
    fleet.scheduler.machine.checkInvariants()
  }
  assert.ok(asked > 190, 'it died as a worker that was asked for tasks')
})

test('no task is moved while all workers are busy', () => {
  const some = Array.from({ length: 30 }, () => ({ name: 'f', ms: 50, at: 0, priority: 0 }))
  assert.equal(fleetOf(some, [0, 0, 0]).recalls.size, 0)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { taskId, type TaskId } from '../base/ids.js'
import { nthTaskId } from '../wire/run.js'
import { type CountedEntry, TaskTable } from './task-table.js'

interface Entry extends CountedEntry {
  count: number
}

const FIRST = taskId('\x04\0middle-bytes\x04\0')

function entry(from: number, count: number): Entry {
  return { id: nthTaskId(FIRST, from), count }
}

function newTable(): TaskTable<Entry> {
  return new TaskTable<Entry>((whole, count) => {
    const rest = { id: nthTaskId(whole.id, count), count: whole.count - count }
    whole.count = count
    return rest
  })
}

function placesIn(table: TaskTable<Entry>): string {
  table.checkInvariants()
  const at = new Map<TaskId, number>()
  for (let place = 0; place < 1024; place += 1) at.set(nthTaskId(FIRST, place), place)
  return [...table.values()]
    .map(({ id, count }) => [at.get(id) as number, count] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([from, count]) => `${from}+${count}`)
    .join(' ')
}

test('a task that is asked for is cut out of its run', () => {
  const table = newTable()
  table.add(entry(10, 100))
  assert.equal(table.get(nthTaskId(FIRST, 9)), undefined)
  assert.equal(table.get(nthTaskId(FIRST, 110)), undefined)
  assert.equal(table.get(nthTaskId(FIRST, 20))?.count, 1)
  assert.equal(table.get(nthTaskId(FIRST, 10))?.count, 1)
  assert.equal(placesIn(table), '10+1 11+9 20+1 21+89')
  assert.equal(table.size, 100)
})

test('a range is cut at both ends, and skips what is not there', () => {
  const table = newTable()
  table.add(entry(0, 10))
  table.add(entry(20, 10))
  const found = table.range(nthTaskId(FIRST, 5), 20)
  assert.deepEqual(
    found.map(({ count }) => count),
    [5, 5],
  )
  assert.equal(placesIn(table), '0+5 5+5 20+5 25+5')
})

test('ids that cannot be in a run are single', () => {
  const table = newTable()
  const single = { id: taskId('short'), count: 1 }
  table.add(single)
  table.add(entry(0, 2))
  assert.equal(table.get(single.id), single)
  assert.ok(table.has(single))
  assert.ok(table.delete(single))
  assert.equal(table.get(single.id), undefined)
  assert.equal(table.size, 2)
})

test('a table contains the tasks that were added and not removed', () => {
  const step = fc.record({
    what: fc.constantFrom('add', 'get', 'range', 'delete'),
    from: fc.nat(63),
    count: fc.integer({ min: 1, max: 20 }),
  })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const table = newTable()
      const model = new Set<number>()
      for (const { what, from, count } of steps) {
        const places = Array.from({ length: count }, (_, offset) => from + offset)
        const id = nthTaskId(FIRST, from)
        if (what === 'add') {
          assert.equal(
            table.hasAny(id, count),
            places.some((place) => model.has(place)),
          )
          if (places.some((place) => model.has(place))) continue
          table.add(entry(from, count))
          for (const place of places) model.add(place)
        } else if (what === 'get') {
          assert.equal(table.get(id)?.count, model.has(from) ? 1 : undefined)
        } else {
          const found = table.range(id, count)
          const there = places.filter((place) => model.has(place))
          assert.equal(
            found.reduce((sum, each) => sum + each.count, 0),
            there.length,
          )
          if (what === 'range') continue
          for (const each of found) assert.ok(table.delete(each))
          for (const place of there) model.delete(place)
        }
        table.checkInvariants()
        assert.equal(table.size, model.size)
      }
    }),
  )
})

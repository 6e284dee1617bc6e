import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId } from '../../../base/ids.js'
import { Turn } from '../../../base/machine.js'
import type { ObjectEntry, ObjectUser, WorkerEntry } from '../entries.js'
import { ObjectTable } from './table.js'
import { instruction } from '../scheduler.kit.js'

function newUser(): ObjectUser {
  return { identity: identity('C'), objects: new Set(), objectBytes: 0 }
}

test('workers are notified of very many removals in several rounds', () => {
  const count = 50_000
  const table = new ObjectTable(new Turn())
  const user = newUser()
  const workers = ['V', 'W'].map(() => ({ held: new Set<ObjectEntry>() }) as unknown as WorkerEntry)
  const ids = Array.from({ length: count }, (_, index) => `o${index}`)
  table.create(user, instruction('create', 'C', ids).objectContent)
  for (const entry of user.objects) for (const worker of workers) table.hold(worker, entry)
  table.delete(user, ids.map(objectId))
  const told = new Map(workers.map((worker) => [worker, new Set<string>()]))
  let goes = 0
  for (; table.hasRemovals; goes += 1) {
    let length = 0
    for (const [worker, removed] of table.takeRemovals()) {
      assert.ok(removed.length > 0)
      length += removed.length
      for (const id of removed) told.get(worker)?.add(id)
    }
    assert.ok(length < count, `${length} in one round`)
  }
  assert.ok(goes > 1)
  for (const seen of told.values()) assert.equal(seen.size, count)
  assert.equal(table.count, 0)
})

test('a deleted object has no holders', () => {
  const table = new ObjectTable(new Turn())
  const user = newUser()
  const worker = { held: undefined } as WorkerEntry
  table.create(user, instruction('create', 'C', ['o']).objectContent)
  const [entry] = user.objects
  assert.ok(entry !== undefined)
  table.hold(worker, entry)
  table.delete(user, [objectId('o')])
  assert.equal(worker.held?.size, 0)
  // A node of a graph may still refer to it, and would be assigned to a worker that has left.
  assert.equal(entry.holders.size, 0)
})

test('the bytes of each user follow its objects', () => {
  const table = new ObjectTable(new Turn())
  const [one, two] = [newUser(), newUser()]
  table.create(one, instruction('create', 'C', ['o', 'p']).objectContent)
  const { bytes } = table
  const [first] = one.objects
  assert.ok(first !== undefined && bytes > 0)
  table.use(two, first)
  table.use(two, first)
  assert.deepEqual([one.objectBytes, two.objectBytes], [bytes, bytes / 2])
  table.create(two, {
    ...instruction('create', 'C', ['o']).objectContent,
    objectBytes: [[new Uint8Array(100)]],
  })
  assert.deepEqual([one.objectBytes, two.objectBytes], [bytes / 2 + 100, 100])
  table.delete(one, [objectId('o')])
  table.drop([objectId('o'), objectId('p')])
  assert.deepEqual([one.objectBytes, two.objectBytes, table.bytes], [0, 0, 0])
})

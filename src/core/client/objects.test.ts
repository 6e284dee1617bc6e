import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NO_BYTES } from '../../base/bytes.js'
import { objectId } from '../../base/ids.js'
import type { StoredValue } from './events.js'
import { ObjectTable, type ClientObject, type ObjectRole } from './objects.js'

const MIB = 1024 ** 2
const ROLES: readonly ObjectRole[] = ['function', 'attachment', 'argument']

function value(id: string, bytes = 10): StoredValue {
  return { id: objectId(id), name: NO_BYTES, content: new Uint8Array(bytes) }
}

test('the same value is one object, whoever uses it', () => {
  const table = new ObjectTable()
  const first = table.use(value('a'), 'argument')
  assert.equal(table.use(value('a'), 'argument'), first)
  assert.equal(first.users, 2)
  assert.equal(table.usedBytes, 10)
})

test('an object is sent once per connection', () => {
  const table = new ObjectTable()
  const object = table.use(value('a'), 'argument')
  assert.equal(table.isSent(object), false)
  table.markSent(object)
  assert.equal(table.isSent(object), true)
  table.forgetSent()
  assert.equal(table.isSent(object), false)
})

test('an argument that nobody uses goes after two seconds, and the scheduler is to be told', () => {
  const table = new ObjectTable()
  const object = table.use(value('a'), 'argument')
  table.markSent(object)
  table.release(object, 1_000)
  assert.equal(table.deadline, 3_000)
  table.sweep(2_999)
  assert.equal(table.hasRemovals, false)
  table.sweep(3_000)
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
  assert.equal(table.hasRemovals, false)
  table.checkInvariants()
})

test('an argument that is used again in time is neither sent nor deleted', () => {
  const table = new ObjectTable()
  const object = table.use(value('a'), 'argument')
  table.markSent(object)
  table.release(object, 1_000)
  assert.equal(table.use(value('a'), 'argument'), object)
  table.sweep(9_000)
  assert.equal(table.isSent(object), true)
  assert.equal(table.hasRemovals, false)
})

test('an object that was never sent goes without a word', () => {
  const table = new ObjectTable()
  table.release(table.use(value('a'), 'argument'), 0)
  table.sweep(2_000)
  assert.equal(table.hasRemovals, false)
  assert.deepEqual(table.takeAll(), [])
})

test('functions stay until there are too many, then the one unused for longest goes', () => {
  const table = new ObjectTable()
  for (let i = 0; i <= 1_000; i += 1) {
    const object = table.use(value(`f${i}`), 'function')
    table.markSent(object)
    table.release(object, i)
  }
  table.sweep(1_000_000)
  assert.deepEqual(table.takeRemovals(), [objectId('f0')])
  assert.equal(table.takeAll().length, 1_000)
})

test('an attachment that nobody uses stays for a minute', () => {
  const table = new ObjectTable()
  const attachment = table.use(value('a'), 'attachment')
  const argument = table.use(value('b'), 'argument')
  for (const object of [attachment, argument]) {
    table.markSent(object)
    table.release(object, 1_000)
  }
  assert.equal(table.deadline, 3_000)
  table.sweep(3_000)
  assert.deepEqual(table.takeRemovals(), [objectId('b')])
  assert.equal(table.deadline, 61_000)
  table.sweep(60_999)
  assert.equal(table.hasRemovals, false)
  table.sweep(61_000)
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
  assert.equal(table.deadline, undefined)
  table.checkInvariants()
})

test('attachments push out neither functions nor arguments, but one another', () => {
  const table = new ObjectTable()
  const release = (id: string, role: ObjectRole, bytes: number): void => {
    const object = table.use(value(id, bytes), role)
    table.markSent(object)
    table.release(object, 0)
  }
  release('function', 'function', MIB)
  release('argument', 'argument', 200 * MIB)
  release('a', 'attachment', 200 * MIB)
  assert.equal(table.hasRemovals, false)
  release('b', 'attachment', 200 * MIB)
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
  table.checkInvariants()
})

test('what has had several roles stays as long as the one that lasts longest', () => {
  for (const roles of [ROLES, ROLES.toReversed()]) {
    const table = new ObjectTable()
    const [object] = roles.map((role) => table.use(value('a'), role)) as [ClientObject]
    for (const _ of roles) table.release(object, 0)
    assert.equal(object.role, 'function')
    table.checkInvariants()
  }
  const table = new ObjectTable()
  const object = table.use(value('a'), 'attachment')
  table.use(value('a'), 'argument')
  assert.equal(object.role, 'attachment')
})

test('unused arguments beyond 256 MiB go at once', () => {
  const table = new ObjectTable()
  for (const id of ['a', 'b', 'c']) {
    const object = table.use(value(id, 100 * MIB), 'argument')
    table.markSent(object)
    table.release(object, 0)
  }
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
})

test('a value used as an argument and as a function stays like a function', () => {
  const table = new ObjectTable()
  const object = table.use(value('a'), 'argument')
  table.use(value('a'), 'function')
  table.release(object, 0)
  table.release(object, 0)
  table.checkInvariants()
  table.sweep(100_000)
  assert.equal(table.use(value('a'), 'argument'), object)
})

test('everything that may be in the scheduler: what was ever sent, and what is to be deleted', () => {
  const table = new ObjectTable()
  table.markSent(table.use(value('a'), 'function'))
  table.forgetSent()
  table.use(value('b'), 'function')
  table.removeResult(objectId('r'))
  assert.deepEqual(new Set(table.takeAll()), new Set([objectId('a'), objectId('r')]))
})

test('property: whatever is used and released, what is in use is there and the sums are right', () => {
  const step = fc.oneof(
    fc.record({ use: fc.nat(8), role: fc.constantFrom<ObjectRole>(...ROLES) }),
    fc.record({ release: fc.nat(8) }),
    fc.record({ wait: fc.nat(3_000) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const table = new ObjectTable()
      const uses: ClientObject[] = []
      let now = 0
      for (const action of steps) {
        if ('use' in action) uses.push(table.use(value(`o${action.use}`, 5), action.role))
        else if ('wait' in action) table.sweep((now += action.wait))
        else {
          const [object] = uses.splice(action.release % Math.max(uses.length, 1), 1)
          if (object !== undefined) table.release(object, now)
        }
        table.checkInvariants()
        assert.equal(table.users, uses.length)
        assert.equal(table.usedBytes, 5 * new Set(uses).size)
      }
    }),
  )
})

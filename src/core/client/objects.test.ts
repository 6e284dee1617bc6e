import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NO_BYTES } from '../../base/bytes.js'
import { objectId, type ObjectId } from '../../base/ids.js'
import { Turn } from '../../base/machine.js'
import type { StoredValue } from './events.js'
import { ClientObjectTable, type ClientObject, type ObjectRole } from './objects.js'

const MIB = 1024 ** 2
const ROLES: readonly ObjectRole[] = ['function', 'attachment', 'argument']

/** Lets time pass for a table. */
function setTime(turn: Turn<never>, now: number): void {
  turn.begin(now, () => assert.fail('a table emits no actions'))
  turn.ring()
}

function value(id: string, bytes = 10): StoredValue {
  return { id: objectId(id), name: NO_BYTES, content: new Uint8Array(bytes) }
}

test('equal values share one object', () => {
  const table = new ClientObjectTable(new Turn())
  const first = table.use(value('a'), 'argument')
  assert.equal(table.use(value('a'), 'argument'), first)
  assert.equal(first.users, 2)
  assert.equal(table.usedBytes, 10)
})

test('an object is sent once per connection', () => {
  const table = new ClientObjectTable(new Turn())
  const object = table.use(value('a'), 'argument')
  assert.equal(table.isSent(object), false)
  table.markSent(object)
  assert.equal(table.isSent(object), true)
  table.forgetSent()
  assert.equal(table.isSent(object), false)
})

test('an unused argument is deleted after two seconds, and the scheduler must be notified', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  const object = table.use(value('a'), 'argument')
  table.markSent(object)
  setTime(turn, 1_000)
  table.release(object)
  assert.equal(turn.nextAlarmAt, 3_000)
  setTime(turn, 2_999)
  assert.equal(table.hasRemovals, false)
  setTime(turn, 3_000)
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
  assert.equal(table.hasRemovals, false)
  table.checkInvariants()
})

test('an argument that is used again in time is neither resent nor deleted', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  const object = table.use(value('a'), 'argument')
  table.markSent(object)
  setTime(turn, 1_000)
  table.release(object)
  assert.equal(table.use(value('a'), 'argument'), object)
  setTime(turn, 9_000)
  assert.equal(table.isSent(object), true)
  assert.equal(table.hasRemovals, false)
})

test('an object that was never sent is removed without a message', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  table.release(table.use(value('a'), 'argument'))
  setTime(turn, 2_000)
  assert.equal(table.hasRemovals, false)
  assert.deepEqual(table.takeAll(), [])
})

test('functions stay until there are too many, then the one unused for longest is deleted', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  for (let i = 0; i <= 1_000; i += 1) {
    const object = table.use(value(`f${i}`), 'function')
    table.markSent(object)
    setTime(turn, i)
    table.release(object)
  }
  setTime(turn, 1_000_000)
  assert.deepEqual(table.takeRemovals(), [objectId('f0')])
  // It may not have read that.
  assert.equal(table.takeAll().length, 1_001)
})

test('an unused attachment stays for a minute', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  const attachment = table.use(value('a'), 'attachment')
  const argument = table.use(value('b'), 'argument')
  for (const object of [attachment, argument]) {
    table.markSent(object)
    setTime(turn, 1_000)
    table.release(object)
  }
  assert.equal(turn.nextAlarmAt, 3_000)
  setTime(turn, 3_000)
  assert.deepEqual(table.takeRemovals(), [objectId('b')])
  assert.equal(turn.nextAlarmAt, 61_000)
  setTime(turn, 60_999)
  assert.equal(table.hasRemovals, false)
  setTime(turn, 61_000)
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
  assert.equal(turn.nextAlarmAt, undefined)
  table.checkInvariants()
})

test('attachments displace each other, but neither functions nor arguments', () => {
  const table = new ClientObjectTable(new Turn())
  const release = (id: string, role: ObjectRole, bytes: number): void => {
    const object = table.use(value(id, bytes), role)
    table.markSent(object)
    table.release(object)
  }
  release('function', 'function', MIB)
  release('argument', 'argument', 200 * MIB)
  release('a', 'attachment', 200 * MIB)
  assert.equal(table.hasRemovals, false)
  release('b', 'attachment', 200 * MIB)
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
  table.checkInvariants()
})

test('an object with several roles stays as long as its longest-lasting role', () => {
  for (const roles of [ROLES, ROLES.toReversed()]) {
    const table = new ClientObjectTable(new Turn())
    const [object] = roles.map((role) => table.use(value('a'), role)) as [ClientObject]
    for (const _ of roles) table.release(object)
    assert.equal(object.role, 'function')
    table.checkInvariants()
  }
  const table = new ClientObjectTable(new Turn())
  const object = table.use(value('a'), 'attachment')
  table.use(value('a'), 'argument')
  assert.equal(object.role, 'attachment')
})

test('unused arguments beyond 256 MiB are deleted at once', () => {
  const table = new ClientObjectTable(new Turn())
  for (const id of ['a', 'b', 'c']) {
    const object = table.use(value(id, 100 * MIB), 'argument')
    table.markSent(object)
    table.release(object)
  }
  assert.deepEqual(table.takeRemovals(), [objectId('a')])
})

test('a value used as an argument and as a function stays like a function', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  const object = table.use(value('a'), 'argument')
  table.use(value('a'), 'function')
  table.release(object)
  table.release(object)
  table.checkInvariants()
  setTime(turn, 100_000)
  assert.equal(table.use(value('a'), 'argument'), object)
})

test('the scheduler may hold everything that was ever sent or is still to be deleted', () => {
  const table = new ClientObjectTable(new Turn())
  table.markSent(table.use(value('a'), 'function'))
  table.forgetSent()
  table.use(value('b'), 'function')
  table.removeResult(objectId('r'))
  assert.deepEqual(new Set(table.takeAll()), new Set([objectId('a'), objectId('r')]))
})

test('property: objects in use are kept and the sums are right, whatever is used and released', () => {
  const step = fc.oneof(
    fc.record({ use: fc.nat(8), role: fc.constantFrom<ObjectRole>(...ROLES) }),
    fc.record({ release: fc.nat(8) }),
    fc.record({ wait: fc.nat(3_000) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const turn = new Turn<never>()
      const table = new ClientObjectTable(turn)
      const uses: ClientObject[] = []
      for (const action of steps) {
        if ('use' in action) uses.push(table.use(value(`o${action.use}`, 5), action.role))
        else if ('wait' in action) setTime(turn, turn.now + action.wait)
        else {
          const [object] = uses.splice(action.release % Math.max(uses.length, 1), 1)
          if (object !== undefined) table.release(object)
        }
        table.checkInvariants()
        assert.equal(table.users, uses.length)
        assert.equal(table.usedBytes, 5 * new Set(uses).size)
      }
    }),
  )
})

test('content in a file is dropped with its object, however that ends', () => {
  const turn = new Turn<never>()
  const dropped: number[] = []
  const table = new ClientObjectTable(turn, ({ byteLength }) => dropped.push(byteLength))
  const filed = (id: string, byteLength: number): StoredValue => {
    return { ...value(id), content: { chunk: NO_BYTES, byteLength } }
  }
  const used = table.use(filed('a', 1), 'argument')
  assert.equal(table.usedBytes, 1)
  table.release(used)
  table.use(filed('a', 1), 'argument')
  setTime(turn, 10_000)
  assert.deepEqual(dropped, [], 'it is used again')
  table.release(used)
  setTime(turn, 20_000)
  assert.deepEqual(dropped.splice(0), [1])
  table.pin(filed('b', 2))
  table.unpin(objectId('b'))
  assert.deepEqual(dropped.splice(0), [2])
  table.pin(filed('c', 3))
  table.clear()
  assert.deepEqual(dropped, [3])
  table.checkInvariants()
})

test('deletions are remembered until the scheduler has read something that was sent later', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  const idsOf = (...names: string[]): ObjectId[] => names.map((name) => objectId(name))
  for (const [at, name] of ['a', 'b', 'c'].entries()) {
    setTime(turn, 10 * at)
    table.removeResult(objectId(name))
    assert.deepEqual(table.takeRemovals(), idsOf(name))
  }
  table.confirmRemovals(10)
  table.repeatRemovals((id) => id === objectId('c'))
  assert.deepEqual(table.takeRemovals(), idsOf('b'))
  table.keepResult(objectId('b'))
  table.removeResult(objectId('d'))
  table.keepResult(objectId('d'))
  table.repeatRemovals(() => false)
  assert.equal(table.hasRemovals, false, 'the scheduler keeps them')
  table.removeResult(objectId('e'))
  assert.deepEqual(table.takeRemovals(), idsOf('e'))
  table.forgetRemovals()
  table.repeatRemovals(() => false)
  assert.equal(table.hasRemovals, false)
})

test('at most 100,000 deletions are remembered, the last ones', () => {
  const turn = new Turn<never>()
  const table = new ClientObjectTable(turn)
  for (let i = 0; i < 100_002; i += 1) table.removeResult(objectId(`r${i}`))
  assert.equal(table.takeRemovals().length, 100_002)
  table.repeatRemovals(() => false)
  const repeated = table.takeRemovals()
  assert.equal(repeated.length, 100_000)
  assert.equal(repeated[0], objectId('r2'))
})

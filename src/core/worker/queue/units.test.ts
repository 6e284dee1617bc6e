import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HostUnits, type Grant } from './units.js'

const GPU = [{ name: 'gpu', value: 3 }]
const needs = (value: number): { name: string; value: number }[] => [{ name: 'gpu', value }]
const me = {}

test('the lowest numbers go first, and nobody has those of another', () => {
  const units = new HostUnits(GPU)
  const first = units.take(me, needs(1))
  assert.deepEqual(first?.units, { gpu: [0] })
  assert.deepEqual(units.take(me, needs(2))?.units, { gpu: [1, 2] })
  assert.equal(units.take(me, needs(1)), undefined)
  units.giveBack(me, first)
  assert.deepEqual(units.take(me, needs(1))?.units, { gpu: [0] })
})

test('a name takes nothing, and what is not counted is not counted here', () => {
  const units = new HostUnits([
    { name: 'gpu', value: 1 },
    { name: 'linux', value: -1 },
  ])
  const grant = units.take(me, [...needs(-1), { name: 'linux', value: 8 }])
  assert.deepEqual(grant?.units, { gpu: [], linux: [] })
  assert.equal(units.take(me, needs(-1)), units.take(me, needs(-1)))
  assert.equal(freeOf(units), 1)
  units.giveBack(me, grant)
  assert.deepEqual(Object.keys(units.take(me, [{ name: '__proto__', value: -1 }])?.units ?? {}), [
    '__proto__',
  ])
})

test('who was refused is told when units have come free, and only then', () => {
  const units = new HostUnits(GPU)
  let calls = 0
  units.listen(() => (calls += 1))
  const all = units.take(me, needs(3)) as Grant
  units.giveBack(me, all)
  assert.equal(calls, 0)
  const again = units.take(me, needs(3)) as Grant
  assert.equal(units.take({}, needs(1)), undefined)
  units.giveBack(me, again)
  assert.equal(calls, 1)
})

test('what a worker had that has ended is free, and cannot be given back a second time', () => {
  const units = new HostUnits(GPU)
  const grant = units.take(me, needs(2)) as Grant
  units.giveBackAll(me)
  assert.equal(freeOf(units), 3)
  assert.throws(() => units.giveBack(me, grant), /twice/)
})

test('property: no unit is lost, and none has two owners', () => {
  const move = fc.record({ count: fc.nat(3), back: fc.nat(9), isBack: fc.boolean() })
  fc.assert(
    fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
      const units = new HostUnits([{ name: 'gpu', value: 5 }])
      const held: Grant[] = []
      for (const { count, back, isBack } of moves) {
        const grant = isBack ? held[back % Math.max(held.length, 1)] : undefined
        if (grant !== undefined) {
          held.splice(held.indexOf(grant), 1)
          units.giveBack(me, grant)
        } else {
          const taken = units.take(me, needs(count + 1))
          if (taken !== undefined) held.push(taken)
        }
        const numbers = held.flatMap((each) => each.units['gpu'] ?? [])
        assert.equal(new Set(numbers).size, numbers.length)
        assert.ok(numbers.every((number) => number >= 0 && number < 5))
        assert.equal(freeOf(units) + numbers.length, 5)
      }
    }),
  )
})

/** How many units of `gpu` nobody has. */
function freeOf(units: HostUnits): number {
  const probe = {}
  let count = 0
  while (units.take(probe, [{ name: 'gpu', value: 1 }]) !== undefined) count += 1
  units.giveBackAll(probe)
  return count
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TwoSides } from '../two-sides.kit.js'

interface Linked {
  readonly at: number
  before?: Linked
  after?: Linked
}

/** A list that is linked both ways: its ends. */
function listOf(size: number): { readonly first: Linked; readonly last: Linked } {
  const first: Linked = { at: 0 }
  let last = first
  for (let at = 1; at < size; at += 1) {
    const next: Linked = { at, before: last }
    last.after = next
    last = next
  }
  return { first, last }
}

/** How many follow each other properly. */
function sizeOf(first: Linked): number {
  let size = 1
  for (let node = first; node.after !== undefined; node = node.after) {
    assert.equal(node.after.before, node)
    assert.equal(node.after.at, node.at + 1)
    size += 1
  }
  return size
}

test('a long list that a class has by one end and the message by the other is one list', () => {
  const sides = new TwoSides()
  const { first, last } = listOf(1_000)
  class Owner {
    static readonly list = first
  }
  const sent = sides.send({ last, owner: new Owner() })
  const Copy = sent.owner.constructor as typeof Owner
  assert.equal(sizeOf(Copy.list), 1_000)
  let node = sent.last
  while (node.before !== undefined) node = node.before
  assert.equal(node, Copy.list)
  const again = sides.send({ owner: new Owner() })
  assert.equal(again.owner.constructor, Copy)
  assert.equal(Copy.list, node)
})

test('what only the message has is another copy in the next one, however long its lists are', () => {
  const sides = new TwoSides()
  const { first, last } = listOf(300)
  class Owner {
    static readonly list = first
  }
  const own = listOf(300)
  const value = { last, Owner, own: own.first, end: own.last }
  const [one, other] = [sides.send(value), sides.send(value)]
  assert.equal(one.Owner, other.Owner)
  assert.equal(one.last, other.last)
  assert.notEqual(one.own, other.own)
  assert.equal(sizeOf(one.own), 300)
})

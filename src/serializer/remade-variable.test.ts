// oxlint-disable typescript/unbound-method -- that is what is tested
// Constants of this module that hold what cannot travel, but can be made again.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()

const text = 'abc'
const blob = new Blob([text])
const blobs = { first: blob, list: [new Blob(['x'])] }
const storage = new AsyncLocalStorage<number>()
const { format: taken } = new Intl.NumberFormat('de')
const format = new Intl.NumberFormat('de').format
const changed = new AsyncLocalStorage<number>()
changed.enterWith(1)
const target = new EventTarget()
let reassigned = new Blob(['a'])
reassigned = new Blob(['b'])

test('a constant is made again from its initializer where its value cannot travel', async () => {
  const copy = sides.send(() => blob.text())
  assert.equal(await copy(), 'abc')
  assert.equal(sides.send((value: number) => format(value))(1.5), format(1.5))
  assert.equal(sides.send(() => storage.run(3, () => storage.getStore()))(), 3)
})

test('functions and initializers that use one constant share one value', async () => {
  const copy = sides.send({
    own: () => blob,
    within: () => blobs.first,
    both: () => [blob === blobs.first, blobs.list[0]?.size],
  })
  assert.equal(copy.own(), copy.within())
  assert.equal(copy.own(), copy.own())
  assert.deepEqual(copy.both(), [true, 1])
  class Reader {
    static read = (): Promise<string> => blob.text()
    read(): Promise<string> {
      return blob.text()
    }
  }
  const Copy = sides.send({ Reader }).Reader
  assert.deepEqual([await Copy.read(), await new Copy().read()], ['abc', 'abc'])
})

test('what was made again can be sent on, and come back', async () => {
  const read = (): Promise<string> => blob.text()
  assert.equal(await sides.andBack(read)(), 'abc')
  assert.equal(await sides.send(sides.andBack({ read })).read(), 'abc')
})

test('what may have changed since, or is at work, is refused as before', () => {
  assert.throws(() => sides.send(() => changed.getStore()), /an AsyncLocalStorage cannot travel/)
  assert.throws(() => sides.send(() => target.dispatchEvent), /an EventTarget cannot travel/)
  assert.throws(() => sides.send(() => reassigned.size), /a Blob cannot travel/)
  assert.throws(() => sides.send(() => taken(1)), /its code is native/)
  const local = new Blob(['a'])
  assert.throws(() => sides.send(() => local.size), /a Blob cannot travel/)
  assert.throws(() => sides.send(blob), /a Blob cannot travel/)
})

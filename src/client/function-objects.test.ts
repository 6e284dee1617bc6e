import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity } from '../base/ids.js'
import type { Serializer } from '../serializer/serializer.js'
import { FunctionObjects } from './function-objects.js'
import { ObjectIds } from './ids.js'

const ids = new ObjectIds(identity('me'))

/** Remembers functions by themselves, as long as nobody says that they have changed. */
class CountingSerializer implements Serializer {
  readonly known = new Map<unknown, Uint8Array>()

  serialize(value: unknown): Uint8Array {
    const bytes = this.known.get(value) ?? Buffer.from(String(value))
    this.known.set(value, bytes)
    return bytes
  }

  deserialize(): unknown {
    return undefined
  }
}

test('the same bytes are the same object', () => {
  const functions = new FunctionObjects(new CountingSerializer(), ids)
  const fn = (): number => 1
  const object = functions.of(fn)
  assert.equal(functions.of(fn), object)
  assert.equal(object.id, ids.of(Buffer.from(String(fn))))
  assert.equal(Buffer.from(object.name).toString(), 'fn')
})

test('a function that has changed is another object', () => {
  const serializer = new CountingSerializer()
  const functions = new FunctionObjects(serializer, ids)
  const fn = (): number => 1
  const before = functions.of(fn)
  serializer.known.set(fn, Buffer.from('changed'))
  assert.notEqual(functions.of(fn).id, before.id)
})

test('a function without a usable name is named after its id', () => {
  const functions = new FunctionObjects(new CountingSerializer(), ids)
  const strange = Object.defineProperty(() => 1, 'name', { value: 5 })
  for (const fn of [
    (
      () => () =>
        1
    )(),
    strange,
  ]) {
    assert.match(Buffer.from(functions.of(fn).name).toString(), /^<func [0-9a-f]{6}>$/)
  }
})

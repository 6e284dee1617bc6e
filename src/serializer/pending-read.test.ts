import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeserializeError } from '../base/errors.js'
import { PendingImport } from './module/policy.js'
import { pendingImportOf, readWhenImported } from './pending-read.js'

function pending(name = 'x'): PendingImport {
  return new PendingImport(name, Promise.resolve())
}

test('a pending import is found in the thrown error, and inside it', () => {
  const first = pending()
  assert.equal(pendingImportOf(first), first)
  const wrapped = new DeserializeError('outer', { cause: new Error('inner', { cause: first }) })
  assert.equal(pendingImportOf(wrapped), first)
  assert.equal(pendingImportOf(new Error('other')), undefined)
  assert.equal(pendingImportOf('text'), undefined)
  assert.equal(pendingImportOf(undefined), undefined)
})

test('errors that contain themselves, or cannot be read, have none', () => {
  const circle = new Error('circle')
  circle.cause = circle
  assert.equal(pendingImportOf(circle), undefined)
  const hostile = Object.defineProperty(new Error('hostile'), 'cause', {
    get: () => assert.fail('no'),
  })
  assert.equal(pendingImportOf(hostile), undefined)
})

test('one without a promise, which has travelled, cannot be awaited', () => {
  const travelled = Object.assign(pending(), { done: '[a Promise]' })
  assert.equal(pendingImportOf(travelled), undefined)
})

test('reading is tried again after each import', async () => {
  const imports = ['b', 'c']
  const order: string[] = []
  const value = await readWhenImported(pending('a'), () => {
    order.push('read')
    const name = imports.shift()
    if (name === undefined) return 'value'
    throw new PendingImport(
      name,
      Promise.resolve().then(() => void order.push(name)),
    )
  })
  assert.equal(value, 'value')
  assert.deepEqual(order, ['read', 'b', 'read', 'c', 'read'])
})

test('other errors of reading are thrown', async () => {
  const error = new DeserializeError('garbage')
  const read = (): never => {
    throw error
  }
  await assert.rejects(readWhenImported(pending(), read), (reason) => reason === error)
})

test('reading that never ends is given up', async () => {
  let rounds = 0
  const read = (): never => {
    rounds += 1
    throw pending('again')
  }
  await assert.rejects(readWhenImported(pending(), read), {
    name: 'DeserializeError',
    message: /after 100 imports: again/,
  })
  assert.equal(rounds, 100)
})

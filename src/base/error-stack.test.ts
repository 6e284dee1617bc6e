import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteStacks } from './error-stack.js'

const shout = (stack: string): string => stack.toUpperCase()

test('the stacks of an error, its cause and its errors are rewritten, each once', () => {
  const inner = new RangeError('inner')
  const shared = new Error('shared', { cause: inner })
  const error = new AggregateError([shared, 'text', shared], 'outer', { cause: shared })
  inner.cause = error
  let count = 0
  const before = error.stack
  rewriteStacks(error, (stack) => `${stack}!${(count += 1)}`)
  assert.equal(count, 3)
  assert.equal(error.stack, `${before}!1`)
  assert.match(inner.stack ?? '', /!\d$/)
  assert.match(shared.stack ?? '', /!\d$/)
})

test('a rewritten stack is hidden, as before, and can be changed', () => {
  const error = new Error('x')
  rewriteStacks(error, shout)
  const property = Object.getOwnPropertyDescriptor(error, 'stack')
  assert.match(String(property?.value), /^ERROR: X\n {4}AT /)
  assert.deepEqual(
    { ...property, value: '' },
    {
      value: '',
      enumerable: false,
      configurable: true,
      writable: true,
    },
  )
  const shown = Object.defineProperty(new Error('x'), 'stack', { value: 'seen', enumerable: true })
  rewriteStacks(shown, shout)
  assert.deepEqual(Object.keys(shown), ['stack'])
})

test('a stack that stays the same is not changed', () => {
  const error = new Error('x')
  const before = Object.getOwnPropertyDescriptor(error, 'stack')
  rewriteStacks(error, (stack) => stack)
  assert.deepEqual(Object.getOwnPropertyDescriptor(error, 'stack'), before)
})

test('a value that is not an error, is frozen, or has a custom stack, stays', () => {
  const frozen = Object.freeze(new Error('frozen'))
  const { stack } = frozen
  rewriteStacks(frozen, shout)
  assert.equal(frozen.stack, stack)
  const own = Object.defineProperty(new Error('own'), 'stack', { get: () => 'mine' })
  rewriteStacks(own, shout)
  assert.equal(own.stack, 'mine')
  const number = Object.assign(new Error('number'), { stack: 5 })
  rewriteStacks(number, shout)
  assert.equal(number.stack, 5)
  const value = { stack: 'value' }
  rewriteStacks(value, shout)
  assert.equal(value.stack, 'value')
  for (const thrown of [undefined, null, 5, 'text', Symbol('s')]) rewriteStacks(thrown, shout)
})

test('a user’s accessors are not called, and proxies that throw do no harm', () => {
  const error = new Error('x')
  for (const key of ['cause', 'errors']) {
    Object.defineProperty(error, key, { get: () => assert.fail('called') })
  }
  rewriteStacks(error, shout)
  assert.match(error.stack ?? '', /^ERROR/)
  const trap = (): never => {
    throw new Error('trapped')
  }
  const traps = { getPrototypeOf: trap, get: trap, getOwnPropertyDescriptor: trap }
  rewriteStacks(new Proxy(new Error('p'), traps), shout)
  rewriteStacks(new Proxy(new Error('p'), { defineProperty: trap }), shout)
  rewriteStacks(new Error('c', { cause: new Proxy(new Error('p'), traps) }), shout)
})

test('a chain of any length is processed in finite time', () => {
  let error = new Error('last')
  for (let depth = 0; depth < 5_000; depth += 1) error = new Error('x', { cause: error })
  let count = 0
  rewriteStacks(error, (stack) => {
    count += 1
    return stack
  })
  assert.equal(count, 1_000)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSite, captureSite, moveToSite, REMOTE_SEPARATOR, type CallSite } from './call-site.js'

function publicMethod(): CallSite {
  return innerMethod()
}

function innerMethod(): CallSite {
  return captureSite()
}

test('the stack of a submit begins where the program called the library', () => {
  const error = new Error('one\ntwo')
  error.stack = 'Error: one\ntwo\n    at remote (task.js:1:1)'
  addSite(error, publicMethod())
  const lines = (error.stack ?? '').split('\n')
  assert.deepEqual(lines.slice(0, 2), ['Error: one', 'two'])
  assert.match(lines[2] ?? '', /^ {4}at .*call-site\.test/)
  assert.doesNotMatch(error.stack ?? '', /publicMethod|innerMethod/)
  assert.deepEqual(lines.slice(-2), [REMOTE_SEPARATOR, '    at remote (task.js:1:1)'])
})

test('a remote error without frames gets no separator', () => {
  const error = new Error('bare')
  error.stack = 'Error: bare'
  addSite(error, publicMethod())
  assert.doesNotMatch(error.stack ?? '', /worker/)
  assert.match(error.stack ?? '', /^Error: bare\n {4}at /)
})

test('the frames of an error made inside the library are replaced', () => {
  const error = new Error('inside')
  error.stack = 'Error: inside\n    at inner (library.js:1:1)'
  moveToSite(error, publicMethod())
  assert.doesNotMatch(error.stack ?? '', /library/)
  assert.match(error.stack ?? '', /call-site\.test/)
})

test('a value without a stack, or with one that cannot be changed, stays unchanged', () => {
  const frozen = Object.freeze(new Error('frozen'))
  const { stack } = frozen
  addSite(frozen, publicMethod())
  assert.equal(frozen.stack, stack)
  const value = { stack: 'no error' }
  addSite(value, publicMethod())
  assert.deepEqual(value, { stack: 'no error' })
  const error = new Error('x')
  Object.assign(error, { stack: 5 })
  addSite(error, publicMethod())
  assert.equal(error.stack, 5)
})

test('a program that formats stacks as no text, or not at all, gets the error unchanged', (t) => {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace')
  t.after(() => {
    if (before === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace')
    else Object.defineProperty(Error, 'prepareStackTrace', before)
  })
  const fail = (): never => {
    throw new Error('not formatted')
  }
  for (const format of [(_: Error, frames: unknown) => frames, fail]) {
    const error = new Error('x')
    error.stack = 'Error: x\n    at remote (task.js:1:1)'
    Object.assign(Error, { prepareStackTrace: format })
    addSite(error, publicMethod())
    assert.equal(error.stack, 'Error: x\n    at remote (task.js:1:1)')
  }
})

test('an empty site changes nothing', () => {
  const error = new Error('x')
  const { stack } = error
  addSite(error, { taskName: '', ownFrames: 0 })
  assert.equal(error.stack, stack)
})

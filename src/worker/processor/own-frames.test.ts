import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { deserializeError } from '../../serializer/error-codec.js'
import { serializeFailure } from './call.js'
import { withoutOwnFrames } from './own-frames.js'

const OWN = new URL('./runner.js', import.meta.url).href

/** A stack of one line of text and some frames. */
function stack(...frames: string[]): string {
  return ['Error: text', ...frames.map((frame) => `    at ${frame}`)].join('\n')
}

test('only frames of user code remain', () => {
  const before = stack(
    'parse (file:///app/parse.js:3:9)',
    'Object.<anonymous> (/app/task.cjs:12:5)',
    'file:///app/task.js:1:1',
    'AsyncResource.runInAsyncScope (node:async_hooks:206:9)',
    `TaskRunner.#perform (${OWN}:100:20)`,
    `Processor.onMessage (${fileURLToPath(OWN)}:40:2)`,
    'Socket.emit (node:events:519:28)',
    'addChunk (node:internal/streams/readable:559:12)',
  )
  const user = [
    'parse (file:///app/parse.js:3:9)',
    'Object.<anonymous> (/app/task.cjs:12:5)',
    'file:///app/task.js:1:1',
  ]
  assert.equal(withoutOwnFrames(before), stack(...user))
})

test('frames of Node inside user code stay, frames around user code do not', () => {
  const before = stack(
    'Object.readFileSync (node:fs:452:35)',
    'new Promise (<anonymous>)',
    'load (file:///app/task.js:1:1)',
    'Channel.emit (node:events:519:28)',
    'async Promise.all (index 0)',
    'Script.runInThisContext (node:vm:137:12)',
    `async TaskRunner.#settle (${OWN}:1:1)`,
    'process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    'Socket.emit (node:events:519:28)',
  )
  const after = stack(
    'Object.readFileSync (node:fs:452:35)',
    'new Promise (<anonymous>)',
    'load (file:///app/task.js:1:1)',
    'Channel.emit (node:events:519:28)',
    'async Promise.all (index 0)',
  )
  assert.equal(withoutOwnFrames(before), after)
  assert.equal(withoutOwnFrames(after), after)
})

test('an error of this package has no frames at all', () => {
  assert.equal(
    withoutOwnFrames(stack(`read (${OWN}:1:1)`, `${OWN}:2:2`, `async ${OWN}:3:3`)),
    stack(),
  )
})

test('lines that are not frames stay, wherever they are', () => {
  const text = 'Error: first line\n  at noon\n    at lunch\nlast line'
  assert.equal(withoutOwnFrames(`${text}\n    at f (${OWN}:1:1)`), text)
  assert.equal(withoutOwnFrames(''), '')
})

test('errors inside an error are treated alike, and other values are not changed', () => {
  const frame = `\n    at f (${OWN}:1:1)`
  const inner = new Error('inner')
  inner.stack = `Error: inner${frame}`
  const error = new AggregateError([inner], 'outer', { cause: inner })
  error.stack = `AggregateError: outer${frame}\n    at task (/app/task.js:1:1)`
  const read = deserializeError(serializeFailure(error)) as AggregateError
  assert.equal(read.stack, 'AggregateError: outer\n    at task (/app/task.js:1:1)')
  assert.equal((read.cause as Error).stack, 'Error: inner')
  assert.equal((read.errors[0] as Error).stack, 'Error: inner')
  assert.equal(deserializeError(serializeFailure('text')), 'text')
})

test('an error that replaces a value that cannot be serialized has no frames', () => {
  const read = deserializeError(serializeFailure(new WeakMap())) as Error
  assert.equal(read.name, 'SerializeError')
  assert.equal(read.stack?.includes('\n'), false)
  assert.ok(Error.stackTraceLimit > 0)
})

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { identity, taskId } from '../base/ids.js'
import { currentTask, TaskScopes, type TaskContext, type TaskScope } from './task-scope.js'

function scopeOf(id: string): TaskScope {
  return {
    taskId: taskId(id),
    priority: 0,
    output: 'log',
    outputClient: identity(''),
    traceContext: '',
    context: {} as TaskContext,
    serializer: { serialize: () => new Uint8Array(0), deserialize: () => undefined },
    host: { address: '', worker: identity(''), clients: new Map() },
    childStarted: () => {},
    childEnded: () => {},
  }
}

test('outside tasks there is no current task', () => {
  const scopes = new TaskScopes()
  assert.equal(scopes.current, undefined)
  assert.throws(() => currentTask(), { name: 'TaskNotFoundError' })
})

test('until tasks can overlap, the running one is known without being followed', async () => {
  const scopes = new TaskScopes()
  const scope = scopeOf('a')
  await scopes.run(scope, async () => {
    assert.equal(scopes.current, scope)
    await nextTurn()
    assert.equal(scopes.current, scope)
  })
  assert.equal(scopes.followed, undefined)
  assert.equal(scopes.current, scope)
  scopes.end(scopeOf('b'))
  assert.equal(scopes.current, scope)
  scopes.end(scope)
  assert.equal(scopes.current, undefined)
})

test('from then on each is followed through everything it awaits', async () => {
  const scopes = new TaskScopes()
  const [a, b] = [scopeOf('a'), scopeOf('b')]
  const seen: (TaskScope | undefined)[] = []
  const late = scopes.run(a, async () => {
    const before = nextTurn().then(() => seen.push(scopes.current))
    scopes.follow()
    scopes.follow()
    assert.equal(scopes.followed, a)
    await before
    await nextTurn()
    seen.push(scopes.followed)
  })
  assert.equal(scopes.followed, undefined)
  const other = scopes.run(b, async () => {
    await nextTurn()
    seen.push(scopes.followed)
  })
  await Promise.all([late, other])
  assert.deepEqual(
    seen.map((scope) => scope?.taskId),
    ['a', 'b', 'a'],
  )
  scopes.end(a)
  scopes.end(b)
  assert.equal(scopes.current, undefined)
})

test('the leftover context of a task does not reach the next, followed or not', () => {
  const scopes = new TaskScopes()
  const storage = new AsyncLocalStorage<string>()
  const visit = (id: string): string | undefined => {
    return scopes.run(scopeOf(id), () => {
      const before = storage.getStore()
      storage.enterWith(id)
      return before
    })
  }
  assert.deepEqual([visit('a'), visit('b')], [undefined, undefined])
  scopes.run(scopeOf('c'), () => scopes.follow())
  assert.deepEqual([visit('d'), visit('e'), storage.getStore()], [undefined, undefined, undefined])
})

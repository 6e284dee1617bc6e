import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { identity, taskId } from '../base/ids.js'
import type { TaskScope } from '../runtime/task-scope.js'
import { Setup } from './processor/runner.kit.js'

/** A setup with tasks that submit children, which the test finishes. */
class NestedSetup extends Setup {
  readonly #release = new Map<string, () => void>()

  constructor() {
    super()
    this.define('one', () => 1)
    this.define('parent', (name: string) => this.child(name))
  }

  /** Called inside a task: awaits one child. */
  async child(name: string): Promise<string> {
    const { scope } = this
    scope.childStarted()
    await new Promise<void>((resolve) => this.#release.set(name, resolve))
    return `${name} done`
  }

  /** Adds a task that awaits a child of this name. */
  addParent(name: string, priority = 0): void {
    this.codec.values.set(name, name)
    this.add(name, 'parent', { inputs: [Buffer.from(name)], priority })
  }

  /** Finishes the child of a task, as its client does: first it counts, then it settles. */
  release(name: string, scope?: TaskScope): void {
    scope?.childEnded()
    this.#release.get(name)?.()
  }
}

/** The scopes of tasks by their id, recorded by the tasks. */
function scopesOf(setup: NestedSetup): Map<string, TaskScope> {
  const scopes = new Map<string, TaskScope>()
  setup.define('parent', (name: string) => {
    scopes.set(name, setup.scope)
    return setup.child(name)
  })
  return scopes
}

test('while a task only awaits its children, the next one runs', async () => {
  const setup = new NestedSetup()
  const scopes = scopesOf(setup)
  setup.addParent('a')
  setup.add('b', 'one')
  setup.runner.run()
  assert.deepEqual(setup.outbox.story, [])
  await nextTurn()
  assert.deepEqual(setup.outbox.story, ['a waiting', 'b success'])
  setup.release('a', scopes.get('a'))
  await nextTurn()
  assert.deepEqual(setup.outbox.story, ['a waiting', 'b success', 'a success'])
})

test('a task that awaits its children one by one waits once', async () => {
  const setup = new NestedSetup()
  const scopes: TaskScope[] = []
  setup.define('serial', async () => {
    scopes.push(setup.scope)
    await setup.child('first')
    return setup.child('second')
  })
  setup.add('a', 'serial')
  setup.runner.run()
  await nextTurn()
  for (const name of ['first', 'second']) {
    setup.release(name, scopes[0])
    await nextTurn()
  }
  assert.deepEqual(setup.outbox.story, ['a waiting', 'a success'])
})

test('a resumed task keeps others from starting until it has finished', async () => {
  const setup = new NestedSetup()
  const scopes: TaskScope[] = []
  let finish = (): void => {}
  setup.define('works', async () => {
    scopes.push(setup.scope)
    await setup.child('child')
    await new Promise<void>((resolve) => (finish = resolve))
  })
  setup.add('a', 'works')
  setup.runner.run()
  await nextTurn()
  setup.release('child', scopes[0])
  await nextTurn()
  setup.add('b', 'one')
  setup.runner.run()
  await nextTurn()
  assert.deepEqual(setup.outbox.story, ['a waiting', 'a resumed'])
  assert.deepEqual(setup.runner.exitNote, { taskIds: ['a'] })
  finish()
  await nextTurn()
  assert.deepEqual(setup.outbox.story.slice(2), ['a success', 'b success'])
})

test('a task that resumes while another runs continues beside it', async () => {
  const setup = new NestedSetup()
  const scopes = scopesOf(setup)
  let finish = (): void => {}
  setup.define('holds', () => new Promise<void>((resolve) => (finish = resolve)))
  setup.addParent('a')
  for (const id of ['b', 'c']) setup.add(id, 'holds')
  setup.runner.run()
  await nextTurn()
  assert.equal(setup.statusOf(1).isStarted, true)
  setup.release('a', scopes.get('a'))
  await nextTurn()
  assert.deepEqual(setup.outbox.story, ['a waiting', 'a success'])
  assert.equal(setup.statusOf(2).isStarted, false)
  finish()
  await nextTurn()
  assert.deepEqual(setup.outbox.story.slice(2), ['b success'])
  assert.equal(setup.statusOf(2).isStarted, true)
})

test('nesting of any depth finishes, children before earlier tasks', async () => {
  const setup = new NestedSetup()
  const seen: string[] = []
  setup.define('leaf', (name: string) => seen.push(name))
  for (const name of ['low', 'child', 'grandchild']) setup.codec.values.set(name, name)
  setup.add('1', 'leaf', { inputs: [Buffer.from('low')] })
  setup.add('2', 'leaf', { inputs: [Buffer.from('child')], priority: 1 })
  setup.add('3', 'leaf', { inputs: [Buffer.from('grandchild')], priority: 2 })
  setup.add('4', 'leaf', { inputs: [Buffer.from('child')], priority: 1 })
  setup.runner.run()
  assert.deepEqual(seen, ['grandchild', 'child', 'child', 'low'])
})

test('thousands of waiting tasks are cheap', async () => {
  const setup = new NestedSetup()
  const scopes = scopesOf(setup)
  const count = 3_000
  const names = Array.from({ length: count }, (_, index) => `t${index}`)
  for (const name of names) setup.addParent(name)
  setup.runner.run()
  for (let turns = 0; turns < 2 * count && scopes.size < count; turns += 1) await nextTurn()
  assert.equal(scopes.size, count)
  await nextTurn()
  assert.equal(setup.outbox.results.length, 0)
  assert.equal(setup.runner.exitNote, 'nothing')
  for (const name of names) setup.release(name, scopes.get(name))
  await nextTurn()
  await nextTurn()
  assert.equal(setup.outbox.results.length, count)
  assert.ok(setup.outbox.results.every(({ status }) => status === 'success'))
  assert.equal(setup.statusOf(count - 1).isStarted, false)
})

test('each task keeps its own context, however tasks are interleaved', async () => {
  const setup = new NestedSetup()
  const storage = new AsyncLocalStorage<string>()
  const scopes: TaskScope[] = []
  setup.define('mixed', async () => {
    const me = setup.scope
    scopes.push(me)
    const before = storage.getStore() ?? 'nothing'
    storage.enterWith(me.taskId)
    await setup.child(me.taskId)
    return [me === setup.scope, before, storage.getStore()]
  })
  const ids = ['a', 'b', 'c']
  for (const id of ids) setup.add(id, 'mixed')
  setup.runner.run()
  for (let turns = 0; turns < 10 && scopes.length < 3; turns += 1) await nextTurn()
  for (const [index, id] of ids.entries()) setup.release(id, scopes[index])
  await nextTurn()
  assert.deepEqual(
    setup.lines,
    ids.map((id) => `${id} success [true,"nothing","${id}"]`),
  )
  assert.equal(setup.scopes.current, undefined)
})

test('a scope contains what clients need', () => {
  const setup = new NestedSetup()
  const facts = {
    address: 'tcp://127.0.0.1:1',
    worker: identity('w'),
    inlineLimitBytes: 8,
    taskTimeoutMs: 0,
  }
  setup.runner.setHost(facts)
  const scopes: TaskScope[] = []
  setup.define('look', () => void scopes.push(setup.scope))
  for (const id of ['a', 'b']) setup.add(id, 'look', { priority: 3 })
  setup.runner.run()
  const [first, second] = scopes
  assert.equal(first?.taskId, 'a')
  assert.equal(first.priority, 3)
  assert.equal(first.serializer, setup.codec)
  assert.equal(first.host.address, facts.address)
  assert.equal(first.host.worker, facts.worker)
  assert.equal(first.host.clients, second?.host.clients)
  assert.equal(setup.outbox.results[0]?.worker, 'w')
  // A client that outlives the task may still count finished children.
  first.childStarted()
  first.childEnded()
})

test('a long result that other tasks need is kept under its id', () => {
  const setup = new NestedSetup()
  setup.runner.setHost({
    address: '',
    worker: identity('w'),
    inlineLimitBytes: 8,
    taskTimeoutMs: 0,
  })
  setup.define('short', () => 'x')
  setup.define('long', () => 'x'.repeat(20))
  setup.define('fail', () => {
    throw new Error('a message of more than eight bytes')
  })
  for (const fn of ['short', 'long', 'fail']) setup.add(fn, fn, { keepsResult: true })
  setup.add('not kept', 'long')
  setup.runner.run()
  assert.deepEqual(
    setup.outbox.results.map(({ results }) => results.length),
    [0, 1, 0, 0],
  )
  const id = setup.outbox.results[1]?.results[0] ?? ''
  assert.deepEqual([...setup.kept], [[id, `"${'x'.repeat(20)}"`]])
})

test('a cancelled waiting task is abandoned; if it is alone, the agent decides', async () => {
  const setup = new NestedSetup()
  const scopes = scopesOf(setup)
  for (const name of ['a', 'b']) setup.addParent(name)
  setup.runner.run()
  for (let turns = 0; turns < 5; turns += 1) await nextTurn()
  assert.deepEqual(setup.statusOf(0), {
    dispatchNumber: 0,
    taskNumber: 0,
    isStarted: true,
    isListening: false,
    isAlone: false,
    hasGivenUp: false,
    runningMs: 0,
  })
  setup.runner.stop(taskId('a'), 'cancelled')
  await nextTurn()
  assert.deepEqual(setup.outbox.story.slice(-1), ['a canceled'])
  const { isAlone, hasGivenUp } = setup.statusOf(1)
  assert.deepEqual({ isAlone, hasGivenUp }, { isAlone: true, hasGivenUp: true })
  setup.runner.stop(taskId('b'), 'cancelled')
  await nextTurn()
  assert.deepEqual(setup.outbox.story.slice(-1), ['a canceled'])
  // The outcome of the abandoned task does not matter.
  setup.release('a', scopes.get('a'))
  await nextTurn()
  assert.equal(setup.statusOf(1).hasGivenUp, false)
  setup.release('b', scopes.get('b'))
  await nextTurn()
  assert.deepEqual(setup.outbox.story.slice(-2), ['a canceled', 'b success'])
  assert.equal(setup.isRetired, false)
})

test('a processor with only abandoned tasks left retires', async () => {
  const setup = new NestedSetup()
  const scopes = scopesOf(setup)
  for (const name of ['a', 'b']) setup.addParent(name)
  setup.runner.run()
  for (let turns = 0; turns < 5; turns += 1) await nextTurn()
  setup.runner.stop(taskId('a'), 'cancelled')
  setup.release('b', scopes.get('b'))
  await nextTurn()
  assert.equal(setup.isRetired, true)
  assert.equal(setup.runner.exitNote, 'retired')
  setup.add('c', 'one')
  setup.runner.run()
  assert.deepEqual(setup.outbox.story.slice(-2), ['a canceled', 'b success'])
})

test('the exit note names the task that ended the process, not one that waits', async () => {
  const setup = new NestedSetup()
  const scopes = scopesOf(setup)
  const notes: unknown[] = []
  setup.define('ends', async () => {
    await nextTurn()
    notes.push(setup.runner.exitNote)
  })
  for (const name of ['a', 'b']) setup.addParent(name)
  setup.add('c', 'ends')
  setup.runner.run()
  for (let turns = 0; turns < 8; turns += 1) await nextTurn()
  setup.scopes.run(scopes.get('b') as TaskScope, () => notes.push(setup.runner.exitNote))
  setup.runner.stop(taskId('b'), 'cancelled')
  setup.scopes.run(scopes.get('b') as TaskScope, () => notes.push(setup.runner.exitNote))
  assert.deepEqual(notes, [{ taskIds: ['c'] }, { taskIds: ['b'] }, 'nothing'])
})

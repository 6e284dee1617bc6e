// Several started tasks in one real processor. Tasks do here what clients inside tasks do
// otherwise: they notify their scope that they have submitted a task, and that it has ended.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScopes } from '#src/runtime/task-scope.js'
import { until } from './condition.js'
import { pathFor, setUp } from './worker-agent-setup.js'

/** State that tasks of one processor share. */
interface Shared {
  releases?: Map<string, () => void>
  runs?: string[]
}

/** A task that waits for a child until `release` runs in the same processor. */
const wait = async (name: string): Promise<string> => {
  const shared = globalThis as Shared
  const scope = taskScopes.current
  ;(shared.runs ??= []).push(name)
  scope?.childStarted()
  await new Promise<void>((resolve) => (shared.releases ??= new Map()).set(name, resolve))
  scope?.childEnded()
  return `${name} as ${taskScopes.current?.context.name}`
}

const release = (name: string): string => {
  const { releases } = globalThis as Shared
  releases?.get(name)?.()
  return 'released'
}

const runs = (): string[] => (globalThis as Shared).runs ?? []

test('while a task waits for its children, another runs in the same processor', async (context) => {
  const { scheduler } = await setUp(context)
  const parent = scheduler.submit(wait, ['a'], { extension: { name: 'parent' } })
  const child = scheduler.submit(release, ['a'], { priority: 1 })
  assert.equal((await child.outcome).value, 'released')
  const { value, result } = await parent.outcome
  assert.equal(value, 'a as parent')
  assert.deepEqual(scheduler.updatesOf(parent.id), ['waiting'])
  assert.equal(result.worker, scheduler.workers[0])
  assert.equal(scheduler.processorIds.size, 1)
})

test('a 1.9.9 scheduler receives no reports, and nested tasks still end', async (context) => {
  const { scheduler } = await setUp(context, {}, { features: 0 })
  const parent = scheduler.submit(wait, ['a'], { asObjects: true })
  const child = scheduler.submit(release, ['a'], { asObjects: true, priority: 1 })
  assert.equal((await child.outcome).value, 'released')
  assert.equal((await parent.outcome).status, 'success')
  assert.deepEqual(scheduler.updatesOf(parent.id), [])
  const results = scheduler.messages.filter((message) => message.kind === 'taskResult')
  assert.ok(results.every(({ worker }) => worker === ''))
})

test('two hundred tasks wait for each other in one processor', async (context) => {
  const { scheduler } = await setUp(context)
  const depth = 200
  const nest = async (level: number, last: number): Promise<string> => {
    const shared = globalThis as { waiting?: (() => void)[] }
    const waiting = (shared.waiting ??= [])
    if (level === last) {
      for (const resolve of waiting) resolve()
      return `released ${waiting.length}`
    }
    const scope = taskScopes.current
    scope?.childStarted()
    await new Promise<void>((resolve) => waiting.push(resolve))
    scope?.childEnded()
    return taskScopes.current?.context.name ?? ''
  }
  const tasks = Array.from({ length: depth }, (_, level) => {
    const extension = { name: `level ${level}` }
    return scheduler.submit(nest, [level, depth - 1], { extension })
  })
  const outcomes = await Promise.all(tasks.map(({ outcome }) => outcome))
  const values = outcomes.map(({ value }) => value)
  assert.equal(values.pop(), `released ${depth - 1}`)
  assert.deepEqual(
    values,
    values.map((_, level) => `level ${level}`),
  )
})

test('if a child kills the processor, its parent runs again, but not forever', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'runs')
  const once = async (file: string): Promise<number> => {
    const { appendFileSync, readFileSync } = await import('node:fs')
    appendFileSync(file, 'x')
    const count = readFileSync(file).length
    if (count === 2) return count
    taskScopes.current?.childStarted()
    return new Promise(() => {})
  }
  const parent = scheduler.submit(once, [path])
  await until('it waits', () => scheduler.waitsOf(parent.id) === 1)
  const child = scheduler.submit(() => process.exit(3), [], { priority: 1 })
  const { status, value } = await child.outcome
  assert.equal(status, 'failed')
  assert.equal((value as Error & { exitCode?: number }).exitCode, 3)
  assert.equal((await parent.outcome).value, 2)

  const stubborn = scheduler.submit(wait, ['never'])
  let deaths = 0
  const deadly = (): never => process.exit(1)
  for (; scheduler.isOpen(stubborn.id); deaths += 1) {
    const waits = deaths + 1
    await until('it waits again, or is over', () => {
      return scheduler.waitsOf(stubborn.id) >= waits || !scheduler.isOpen(stubborn.id)
    })
    const extension = { parentTaskId: stubborn.taskId }
    const bad = await scheduler.submit(deadly, [], { priority: 1, extension }).outcome
    assert.equal(bad.status, 'failed')
  }
  assert.equal(deaths, 3)
  assert.match(
    String((await stubborn.outcome).value),
    /ProcessorDiedError.*a task that it submitted/,
  )
})

test('an exception in a callback is attributed to the task of the callback', async (context) => {
  const { scheduler } = await setUp(context)
  const waiting = scheduler.submit(wait, ['a'])
  await until('it waits', () => scheduler.waitsOf(waiting.id) === 1)
  const bomb = scheduler.submit(() => {
    setTimeout(() => {
      throw new Error('from the bomb')
    }, 10)
    return new Promise(() => {})
  }, [])
  const { status, value } = await bomb.outcome
  assert.equal(status, 'failed')
  assert.match((value as { stderr?: string }).stderr ?? '', /from the bomb/)
  await until('the other runs again', () => scheduler.waitsOf(waiting.id) === 2)
  assert.equal((await scheduler.submit(release, ['a']).outcome).value, 'released')
  assert.equal((await waiting.outcome).status, 'success')
})

test('cancelling a waiting task frees its place, and its neighbours run once', async (context) => {
  const { scheduler } = await setUp(context)
  const tasks = ['a', 'b'].map((name) => scheduler.submit(wait, [name]))
  const [a, b] = tasks
  assert.ok(a !== undefined && b !== undefined)
  await until('both wait', () => tasks.every(({ id }) => scheduler.waitsOf(id) === 1))
  scheduler.cancel(a.id, true)
  assert.equal((await a.outcome).status, 'canceled')
  await scheduler.submit(release, ['b']).outcome
  assert.equal((await b.outcome).status, 'success')
})

test('a kept result is not fetched by the next task', async (context) => {
  const { scheduler } = await setUp(context)
  const make = (): string => 'x'.repeat(100_000)
  const made = await scheduler.submit(make, [], { extension: { keepsResult: true } }).outcome
  const [id = ''] = made.result.results
  assert.notEqual(id, '')
  const count = (text: string): number => text.length
  const { value } = await scheduler.submitWith(count, [id]).outcome
  assert.equal(value, 100_000)
  const requested = scheduler.messages.flatMap((message) => {
    return message.kind === 'objectRequest' ? message.objectIds : []
  })
  assert.ok(!(requested as string[]).includes(id))
})

test('old objects are forgotten and fetched again', async (context) => {
  const { scheduler } = await setUp(context, { objectCacheBytes: 1_000_000 })
  const size = (text: string): number => text.length
  const use = async (letter: string): Promise<void> => {
    const { value } = await scheduler.submit(size, [letter.repeat(400_000)], { asObjects: true })
      .outcome
    assert.equal(value, 400_000)
  }
  for (const letter of ['a', 'b', 'c', 'd', 'a']) await use(letter)
  const requests = scheduler.messages.flatMap((message) => {
    return message.kind === 'objectRequest' ? message.objectIds : []
  })
  assert.ok(requests.length > new Set(requests).size, 'nothing was fetched twice')
})

test('values shared in a processor last as long as it lives', async (context) => {
  const { scheduler } = await setUp(context)
  const first = scheduler.submit(wait, ['a'])
  await scheduler.submit(release, ['a']).outcome
  await first.outcome
  assert.deepEqual((await scheduler.submit(runs, []).outcome).value, ['a'])
})

// Tasks that submit tasks, on real clusters: any depth ends, even on one worker, and related tasks
// end together.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  Client,
  currentClient,
  currentTask,
  TaskCancelledError,
  TaskNotFoundError,
} from 'scaler-ts'
import { sized } from '#src/base/short-run.kit.js'
import { until } from './condition.js'

const fibonacci = async (client: Client, n: number): Promise<number> => {
  if (n < 2) return n
  const a = client.submit(fibonacci, client, n - 1)
  const b = client.submit(fibonacci, client, n - 2)
  return (await a) + (await b)
}

const sumTo = async (n: number): Promise<number> => {
  return n === 0 ? 0 : n + (await currentClient().submit(sumTo, n - 1))
}

const double = (x: number): number => 2 * x

for (const workers of [1, 4]) {
  describe(`on ${workers} worker${workers === 1 ? '' : 's'}`, () => {
    let client: Client
    before(async () => {
      client = await Client.local({ workers })
    })
    after(() => client.close())

    test('a recursion 200 deep ends', async () => {
      assert.equal(await client.submit(sumTo, 200), 20_100)
    })

    const [n, expected] = sized([16, 987], [11, 89])
    test(`fibonacci(${n}) ends, every call of it a task`, async () => {
      assert.equal(await client.submit(fibonacci, client, n), expected)
    })

    test('more parents than workers end', async () => {
      const parent = async (n: number): Promise<number> => {
        const children = await currentClient().map((x: number) => x + 1, [n, n])
        return children.reduce((sum, child) => sum + child, 0)
      }
      const inputs = Array.from({ length: 40 }, (_, index) => index)
      const expected = inputs.map((n) => 2 * (n + 1))
      assert.deepEqual(await client.map(parent, inputs), expected)
    })

    test('a map of maps, and a graph, work inside a task', async () => {
      const outer = async (): Promise<unknown> => {
        const own = currentClient()
        const inner = async (n: number): Promise<number[]> => {
          return currentClient().map((x: number) => x * 10, [n, n + 1])
        }
        const lists = await own.map(inner, [1, 2])
        const { b } = await own.get({ a: 20, b: [(x: number) => x + 1, 'a'] }, ['b'])
        return { lists, b }
      }
      assert.deepEqual(await client.submit(outer), {
        lists: [
          [10, 20],
          [20, 30],
        ],
        b: 21,
      })
    })

    test('a child that fails fails its parent with its own error, unless it is caught', async () => {
      const failing = (): never => {
        throw new RangeError('child')
      }
      const parent = async (isCaught: boolean): Promise<string> => {
        const child = currentClient().submit(failing)
        return isCaught
          ? child.catch((error: unknown) => `caught ${(error as Error).message}`)
          : child
      }
      await assert.rejects(client.submit(parent, false), { name: 'RangeError', message: 'child' })
      assert.equal(await client.submit(parent, true), 'caught child')
    })

    test('cancelling a parent cancels its children, and theirs', async () => {
      const level = async (depth: number): Promise<void> => {
        if (depth > 0) await currentClient().submit(level, depth - 1)
        else await new Promise(() => {})
      }
      const future = client.submit(level, 3)
      // The queue is empty and something runs: a queued task would only run if all running ones
      // wait.
      const leaf = client.submit(double, 1)
      if (workers > 1) assert.equal(await leaf, 2)
      assert.equal(future.cancel('enough'), true)
      await assert.rejects(future, TaskCancelledError)
      // With one worker the innermost task holds it: this can only end after that task has ended.
      assert.equal(await client.submit(double, 4), 8)
      assert.equal(await leaf, 2)
    })

    test('a task knows its own id and name', async () => {
      const about = (): unknown => {
        const { id, name, attempt, signal } = currentTask()
        return { id, name, attempt, isAborted: signal.aborted }
      }
      const future = client.submit(about)
      const expected = { id: future.id, name: 'about', attempt: 1, isAborted: false }
      assert.deepEqual(await future, expected)
      const named = client.with({ name: 'my task' }).submit(() => currentTask().name)
      assert.equal(await named, 'my task')
    })

    test('tasks that run at the same time are distinguished', async () => {
      const parent = async (n: number): Promise<boolean> => {
        const before = currentTask().id
        for (let i = 0; i < 3; i += 1) await currentClient().submit((x: number) => x, n)
        return currentTask().id === before
      }
      const same = await client.map(parent, [1, 2, 3, 4, 5, 6])
      assert.deepEqual(same, [true, true, true, true, true, true])
    })

    test('the progress of a task reaches its future', async () => {
      const work = async (): Promise<string> => {
        for (let step = 0; step <= 4; step += 1) {
          currentTask().setProgress(step, 4)
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
        return 'done'
      }
      const future = client.submit(work)
      const seen: number[] = []
      future.onProgress((done) => seen.push(done))
      assert.equal(await future, 'done')
      assert.equal(seen.at(-1), 4)
      assert.deepEqual(
        seen,
        seen.toSorted((a, b) => a - b),
      )
      assert.deepEqual(future.progress, { done: 4, total: 4 })
    })
  })
}

test('outside tasks there is neither a current task nor a current client', () => {
  assert.throws(() => currentTask(), TaskNotFoundError)
  assert.throws(() => currentClient(), TaskNotFoundError)
})

test('tasks that a successful task has submitted and not awaited continue', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nested-'))
  t.after(() => rm(folder, { recursive: true }))
  await using client = await Client.local({ workers: 2 })
  const path = join(folder, 'child')
  const parent = (file: string): string => {
    const later = async (name: string): Promise<void> => {
      const { writeFile } = await import('node:fs/promises')
      await new Promise((resolve) => setTimeout(resolve, 20))
      await writeFile(name, 'written')
    }
    void currentClient().submit(later, file)
    return 'parent'
  }
  assert.equal(await client.submit(parent, path), 'parent')
  await until('the child has written', () => existsSync(path))
})

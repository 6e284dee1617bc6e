// No task sees the effects of another one, with real processes: docs/functions.md#task-isolation

import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client, currentClient, literal, registerClass } from 'scaler-ts'

let client: Client

before(async () => {
  client = await Client.local({ workers: 1 })
})

after(() => client.close())

/** One request of a service. */
function handle(user: string): Promise<string> {
  const seen: string[] = []
  return client.submit((name: string) => {
    seen.push(name)
    return seen.join()
  }, user)
}

test('one request does not see another', async () => {
  assert.equal(await handle('ann'), 'ann')
  assert.equal(await handle('bob'), 'bob')
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(handle)), ['a', 'b', 'c'])
})

test('a captured counter, map, object, class and closure start fresh in each task', async () => {
  let n = 0
  const map = new Map<number, number>()
  const object = { list: [0] }
  class Counter {
    static count = 0
    static next(): number {
      Counter.count += 1
      return Counter.count
    }
  }
  const next = (): number => (n += 1)
  const task = (x: number): number[] => {
    n += 1
    map.set(x, x)
    object.list.push(x)
    return [next(), map.size, object.list.length, Counter.next()]
  }
  const fresh = [2, 1, 2, 1]
  assert.deepEqual(await client.submit(task, 1), fresh)
  assert.deepEqual(await client.submit(task, 2), fresh)
  assert.deepEqual(await client.map(task, [3, 4, 5]), [fresh, fresh, fresh])
  const { b } = await client.get(
    { a: [task, 6], b: [(list: readonly number[]) => task(list.length), 'a'] },
    ['b'],
  )
  assert.deepEqual(b, fresh)
})

function logged<T, R>(
  method: (this: T, by: number) => R,
  _context: ClassMethodDecoratorContext<T>,
): (this: T, by: number) => [calls: number, result: R] {
  const calls: number[] = []
  return function (by) {
    return [calls.push(by), method.call(this, by)]
  }
}

class Meter {
  #total = 0
  @logged
  add(by: number): unknown {
    return (this.#total += by)
  }
}

class DoubleMeter extends Meter {
  @logged
  override add(by: number): unknown {
    return super.add(2 * by)
  }
}

test('a decorated class is as it was at its submit: in each task, retry, child and result', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'scaler-decorated-')), 'tries')
  const use = (): unknown => {
    const meter = new DoubleMeter()
    return [meter.add(1), meter.add(2), new Meter().add(5)]
  }
  const resultsFrom = (inner: number, outer: number): unknown => [
    [inner, [outer, 2]],
    [inner + 1, [outer + 1, 6]],
    [outer + 2, 5],
  ]
  assert.deepEqual(use(), resultsFrom(1, 1))
  const later = resultsFrom(3, 4)
  assert.deepEqual(await Promise.all([client.submit(use), client.submit(use)]), [later, later])
  const again = client.with({ retries: 1 }).submit(() => {
    const results = use()
    appendFileSync(file, 'x')
    if (readFileSync(file, 'utf8') === 'x') throw new Error('once')
    return results
  })
  assert.deepEqual(await again, later)
  const child = await client.submit(async () => [use(), await currentClient().submit(use)])
  assert.deepEqual(child, [later, resultsFrom(5, 7)])
  // oxlint-disable-next-line typescript/unbound-method -- it is called with another object below
  const { Sent, add } = await client.submit(() => ({ Sent: Meter, add: Meter.prototype.add }))
  assert.equal(Sent, Meter)
  assert.deepEqual(Reflect.apply(add, new Meter(), [7]), [4, 7])
  await rm(dirname(file), { recursive: true })
})

test('each task sees its captures as they were at its submit', async () => {
  let n = 1
  const list = [1]
  const task = (): [number, number] => [n, list.length]
  const first = client.submit(task)
  n = 2
  list.push(2)
  const second = client.submit(task)
  assert.deepEqual(await Promise.all([first, second]), [
    [1, 1],
    [2, 2],
  ])
})

test('a result that is an argument is frozen, whether its future has finished or not', async () => {
  const push = (list: number[]): number | string => {
    'use strict'
    try {
      return list.push(1)
    } catch {
      return 'frozen'
    }
  }
  const frozen = ['frozen', 'frozen']
  const result = client.submit(() => [1, 2])
  assert.deepEqual([await client.submit(push, result), await client.submit(push, result)], frozen)
  const nodes = { result, a: [push, 'result'], b: [push, result] } as const
  const { a, b } = await client.get(nodes as never, ['a', 'b'] as never)
  assert.deepEqual([a, b], frozen)
  const reference = client.sendObject([1, 2])
  assert.equal(await client.submit(push, reference), 'frozen')
  const late = client.submit(() => new Array<number>(1_000).fill(1))
  assert.deepEqual(await client.get({ n: [push, late] } as never, ['n'] as never), { n: 'frozen' })
  assert.equal(await client.submit(push, [1, 2]), 3)
})

test('a retry begins with the state of the submit', async () => {
  const attempts: number[] = []
  const task = (): number => {
    attempts.push(1)
    if (attempts.length < 2) throw new Error(`attempt ${attempts.length}`)
    return attempts.length
  }
  await assert.rejects(Promise.resolve(client.with({ retries: 2 }).submit(task)), /attempt 1/)
})

test('overlapping tasks have state of their own', async () => {
  const log: string[] = []
  const child = (name: string): string => {
    log.push(name)
    return log.join()
  }
  const parent = async (inner: Client, name: string): Promise<string> => {
    log.push(`${name} begins`)
    const answer = await inner.submit(child, name)
    log.push(answer)
    return log.join()
  }
  const answers = await Promise.all(['a', 'b'].map((name) => client.submit(parent, client, name)))
  assert.deepEqual(answers, ['a begins,a begins,a', 'b begins,b begins,b'])
})

test('a class is one class in a task and in all values it receives, and keeps its statics', async () => {
  class Point {
    static made = 0
    readonly x: number
    constructor(x: number) {
      this.x = x
      Point.made += 1
    }
  }
  const task = async (inner: Client, point: Point): Promise<unknown[]> => {
    const next = await inner.submit((p: Point) => new Point(p.x + 1), point)
    return [point instanceof Point, next instanceof Point, next.x, Point.made, next]
  }
  const made = Point.made + 1
  const [isIn, isBack, x, count, point] = await client.submit(task, client, new Point(1))
  assert.deepEqual([isIn, isBack, x, count], [true, true, 2, made])
  assert.ok(point instanceof Point)
})

test('a class is as its own arguments of a task have it, not as an older reference or result', async () => {
  class Rate {
    static factor = 1
    readonly amount: number
    constructor(amount: number) {
      this.amount = amount
    }
    get value(): number {
      return this.amount * Rate.factor
    }
  }
  const reference = client.sendObject(new Rate(5))
  const result = client.submit(() => new Rate(7))
  await result
  Rate.factor = 10
  const fresh = new Rate(1)
  const values = (one: Rate, two: Rate): number[] => [one.value, two.value]
  assert.deepEqual(await client.submit(values, reference, fresh), [50, 10])
  assert.deepEqual(await client.submit(values, fresh, reference), [10, 50])
  assert.deepEqual(await client.submit(values, result, fresh), [70, 10])
  assert.deepEqual(await client.starmap(values, [[reference, fresh]]), [[50, 10]])
  const { sum } = await client.get({ reference, fresh, sum: [values, 'reference', 'fresh'] }, [
    'sum',
  ])
  assert.deepEqual(sum, [50, 10])
})

test("children return instances of their parent's class, from the first task of a process on", async () => {
  class Money {
    cents = 5
  }
  const make = (): Money => new Money()
  const parent = async (given: Money): Promise<readonly boolean[]> => {
    const inner = currentClient()
    const { x, y } = await inner.get({ x: [make], y: literal(given) }, ['x', 'y'])
    const echoed = await inner.submit((value: Money) => value, given)
    const [mapped] = await inner.map((value: number) => (value > 0 ? new Money() : undefined), [1])
    const caught: unknown = await inner
      .submit(() => {
        // oxlint-disable-next-line typescript/only-throw-error -- instances arrive as they are
        throw new Money()
      })
      .catch((error: unknown) => error)
    const made = [await inner.submit(make), x, y, echoed, mapped, caught, given]
    return made.map((each) => each instanceof Money && each.constructor === given.constructor)
  }
  // A process of its own: no task has used a client there.
  await using fresh = await Client.local({ workers: 1 })
  for (const name of ['first', 'second']) {
    const future = fresh.with({ name }).submit(parent, new Money())
    assert.deepEqual(await future, Array<boolean>(7).fill(true), name)
  }
})

test('a class that a task has created is a different one in its children', async () => {
  const task = async (inner: Client): Promise<unknown[]> => {
    class Own {
      static count = 0
    }
    const back = await inner.submit(() => {
      Own.count += 1
      return [Own.count, new Own()] as const
    })
    return [Own.count, back[0], back[1] instanceof Own]
  }
  assert.deepEqual(await client.submit(task, client), [0, 1, true])
})

test('instances of registered classes carry no state along', async () => {
  class Secret {
    static reads = 0
    readonly #value: number
    constructor(value: number) {
      this.#value = value
    }
    read(): number {
      Secret.reads += 1
      return this.#value + Secret.reads
    }
  }
  registerClass(Secret, {
    serialize: (secret) => secret.read() - Secret.reads,
    deserialize: (value) => new Secret(value),
  })
  const task = (secret: Secret): number => secret.read() + secret.read() - 2 * Secret.reads
  const first = await client.submit(task, new Secret(5))
  assert.equal(await client.submit(task, new Secret(5)), first)
})

test('arguments belong to the task, values of references to all tasks', async () => {
  const change = (list: number[]): string => {
    try {
      return String(list.push(1))
    } catch (error) {
      return (error as Error).name
    }
  }
  const reference = client.sendObject([1, 2])
  assert.equal(await client.submit(change, [1, 2]), '3')
  assert.equal(await client.submit(change, reference), 'TypeError')
  // However large they are.
  assert.equal(await client.submit(change, Array.from({ length: 9_999 }, String) as never), '10000')
  for (const length of [2, 9_999]) {
    const future = client.submit(
      (count: number) => Array.from({ length: count }, (_, i) => i),
      length,
    )
    assert.equal(await client.submit(change, future), 'TypeError')
  }
})

test('bytes of a reference are copied for each task', async () => {
  const reference = client.sendObject({ bytes: new Uint8Array(100_000) })
  const count = (value: { bytes: Uint8Array }): number => {
    value.bytes[0] = (value.bytes[0] ?? 0) + 1
    return value.bytes[0]
  }
  const answers = [client.submit(count, reference), client.submit(count, reference)]
  assert.deepEqual(await Promise.all(answers), [1, 1])
})

test('a task that breaks built-in classes breaks no later one', async () => {
  const breakMap = (): string => {
    Object.defineProperty(Map.prototype, 'set', { value: () => 'broken' })
    return 'result'
  }
  const processId = (): number => process.pid
  const before = await client.submit(processId)
  assert.equal(await client.submit(breakMap), 'result')
  assert.notEqual(await client.submit(processId), before)
  // Its own result may be lost with the process.
  const breakArray = async (): Promise<void> => {
    await Promise.resolve()
    Object.defineProperty(Array.prototype, 'push', { value: () => 0 })
  }
  const text = /the process that ran it exited with code 1: Error: a task has replaced a method of/
  await assert.rejects(Promise.resolve(client.submit(breakArray)), text)
  const sizeOf = (map: ReadonlyMap<number, number>): number => map.size
  assert.deepEqual(await client.map(sizeOf, [new Map([[1, 2]]), new Map()]), [1, 0])
})

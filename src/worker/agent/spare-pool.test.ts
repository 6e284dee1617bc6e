import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { silentLogger } from '../../base/logger.js'
import { PROCESSOR_OPTIONS } from '../live-processor.kit.js'
import type { ProcessorHost } from './processor-host.js'
import { SparePool } from './spare-pool.js'

const MINUTE_MS = 60_000

/** A processor that the test controls. */
class FakeHost implements ProcessorHost {
  readonly started: Promise<void>
  readonly exited: Promise<void>
  isReady = false
  isGone = false
  isEnded = false
  #onStarted: () => void = () => {}
  #onExited: () => void = () => {}

  constructor() {
    this.started = new Promise((resolve) => (this.#onStarted = resolve))
    this.exited = new Promise((resolve) => (this.#onExited = resolve))
  }

  reportIn(): void {
    this.isReady = true
    this.#onStarted()
  }

  die(): void {
    this.isReady = false
    this.isGone = true
    this.#onStarted()
    this.#onExited()
  }

  kill(): void {
    this.die()
  }

  async end(): Promise<void> {
    this.isEnded = true
    this.die()
  }

  serve(): void {}
  send(): void {}
  dispatch(): void {}
  stop(): void {}
  askStatus(): void {}
  askStack(): void {}
  log(): void {}
  collectGarbage(): void {}
  retract(): void {}
}

/** A pool and the processors that it has started, in order. */
class Setup {
  readonly hosts: FakeHost[] = []
  readonly pool: SparePool

  constructor(context: TestContext, count: number) {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    this.pool = new SparePool({
      processor: PROCESSOR_OPTIONS,
      count,
      logger: silentLogger,
      host: () => {
        const host = new FakeHost()
        this.hosts.push(host)
        return host
      },
    })
  }

  /** Lets every processor become ready, until no more start. */
  async settle(): Promise<void> {
    for (let known = -1; known < this.hosts.length;) {
      known = this.hosts.length
      for (const host of this.hosts) if (!host.isGone) host.reportIn()
      await nextTurn()
      await nextTurn()
    }
  }

  /** How many times `take` returned a ready processor. */
  takeReady(times: number): number {
    let count = 0
    for (let time = 0; time < times; time += 1) if (this.pool.take()?.isReady === true) count += 1
    return count
  }

  get livingCount(): number {
    return this.hosts.filter(({ isGone }) => !isGone).length
  }
}

test('a pool starts missing spares, and hands over ready ones', async (context) => {
  const setup = new Setup(context, 2)
  const { pool, hosts } = setup
  // Before it is filled, it only starts processors that are taken.
  assert.equal(pool.take(), hosts[0])
  await setup.settle()
  assert.equal(hosts.length, 1)
  pool.fill()
  assert.equal(hosts.length, 3)
  hosts[2]?.reportIn()
  assert.equal(pool.take(), hosts[2])
  await setup.settle()
  assert.equal(hosts.length, 4)
  await pool.close()
  assert.deepEqual(
    hosts.map(({ isEnded }) => isEnded),
    [false, true, false, true],
  )
  assert.equal(pool.take(), undefined)
})

test('if no spare is ready, take returns the one that started first', async (context) => {
  const setup = new Setup(context, 1)
  const { pool, hosts } = setup
  pool.fill()
  assert.equal(pool.take(), hosts[0])
  assert.equal(pool.take(), hosts[1])
  assert.equal(hosts.length, 2)
  // Missing spares at the start are no reason to keep more.
  await setup.settle()
  assert.equal(setup.takeReady(3), 1)
})

test('spares do not delay processors that a worker waits for', async (context) => {
  const setup = new Setup(context, 1)
  setup.pool.fill()
  await setup.settle()
  for (let count = 0; count < 100; count += 1) setup.pool.take()
  await nextTurn()
  assert.equal(setup.hosts.length, 100)
  for (const host of setup.hosts) host.reportIn()
  await nextTurn()
  assert.ok(setup.hosts.length > 100)
})

test('more spares are kept after a burst, and fewer again later', async (context) => {
  const setup = new Setup(context, 1)
  setup.pool.fill()
  await setup.settle()
  assert.equal(setup.takeReady(4), 1)
  await setup.settle()
  assert.equal(setup.takeReady(4), 4)
  await setup.settle()
  const living = setup.livingCount
  for (let minute = 1; minute <= 6; minute += 1) {
    context.mock.timers.tick(MINUTE_MS)
    assert.equal(setup.livingCount, living - Math.min(minute, 3))
  }
  assert.equal(setup.takeReady(2), 1)
})

test('the number of spares is bounded, and 0 keeps none', async (context) => {
  for (const [count, most] of [
    [1, 5],
    [0, 0],
  ] as const) {
    const setup = new Setup(context, count)
    setup.pool.fill()
    await setup.settle()
    for (let round = 0; round < 5; round += 1) {
      setup.takeReady(10)
      await setup.settle()
    }
    assert.equal(setup.takeReady(10), most)
    context.mock.timers.reset()
  }
})

test('a spare that exits on its own is replaced after a growing pause', async (context) => {
  const setup = new Setup(context, 1)
  const { pool, hosts } = setup
  pool.fill()
  for (const pauseMs of [1_000, 2_000, 4_000]) {
    const count = hosts.length
    hosts.at(-1)?.die()
    await nextTurn()
    context.mock.timers.tick(pauseMs - 1)
    assert.equal(hosts.length, count)
    context.mock.timers.tick(1)
    assert.equal(hosts.length, count + 1)
  }
})

test('a spare that never becomes ready is killed', async (context) => {
  const { pool, hosts } = new Setup(context, 1)
  pool.fill()
  context.mock.timers.tick(MINUTE_MS)
  assert.equal(hosts[0]?.isGone, true)
  await nextTurn()
  context.mock.timers.tick(MINUTE_MS)
  assert.equal(hosts.length, 2)
})

test('a pool without workers keeps nothing until tasks are expected again', async (t) => {
  const setup = new Setup(t, 1)
  const { pool, hosts } = setup
  pool.expectTasks()
  t.mock.timers.tick(200)
  hosts[0]?.reportIn()
  await nextTurn()
  assert.equal(hosts.length, 1)
  pool.empty()
  assert.deepEqual([hosts[0]?.isEnded, hosts.length], [true, 1])
  t.mock.timers.tick(MINUTE_MS)
  await nextTurn()
  assert.equal(hosts.length, 1)
  pool.expectTasks()
  t.mock.timers.tick(200)
  assert.equal(hosts.length, 2)
  pool.empty()
  pool.expectTasks()
  pool.empty()
  t.mock.timers.tick(200)
  assert.equal(hosts.length, 2, 'not by a timer from before')
  await pool.close()
})

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../base/logger.js'
import type { EmbeddedEnd, EmbeddedOrder, EmbeddedStart } from './embedded-process.js'
import { SupervisedProcess, type PartProcess } from './supervised-process.js'

const FIRST: EmbeddedOrder = { role: 'scheduler', options: { address: 'tcp://127.0.0.1:0' } }
const AGAIN: EmbeddedOrder = { role: 'scheduler', options: { address: 'tcp://127.0.0.1:7' } }
const STARTED: EmbeddedStart = { event: 'ready' }

/** A process that lives until the test says otherwise. */
class FakePart implements PartProcess {
  readonly ended: Promise<EmbeddedEnd>
  readonly orders: EmbeddedOrder[] = []
  isRef = true
  #end: (end: EmbeddedEnd) => void = () => {}

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  start(order: EmbeddedOrder): Promise<EmbeddedStart> {
    this.orders.push(order)
    return Promise.resolve(STARTED)
  }

  async end(): Promise<void> {
    await this.die(true)
  }

  unref(): void {
    this.isRef = false
  }

  /** Resolves when all who wait have heard of it. */
  async die(isGood: boolean): Promise<void> {
    this.#end({ isGood, text: isGood ? 'exit code 0' : 'SIGKILL' })
    await new Promise(setImmediate)
  }
}

/** A supervised part, its lives and what was told about them. */
class Fixture {
  readonly parts: FakePart[] = []
  readonly told: string[] = []
  readonly warnings: string[] = []
  /** So often the system refuses to start a process. */
  refusals = 0
  readonly process: SupervisedProcess
  readonly #timers: TestContext['mock']['timers']

  constructor(context: TestContext) {
    this.#timers = context.mock.timers
    this.#timers.enable({ apis: ['setTimeout'] })
    context.mock.method(process, 'emitWarning', (text: string, { code }: { code: string }) => {
      this.warnings.push(`${code}: ${text}`)
    })
    const open = (): FakePart => {
      if (this.refusals > 0) {
        this.refusals -= 1
        throw new Error('spawn EMFILE')
      }
      const part = new FakePart()
      this.parts.push(part)
      return part
    }
    this.process = new SupervisedProcess(open, silentLogger, {
      onOver: () => this.told.push('over'),
      onGivenUp: () => this.told.push('given up'),
    })
  }

  get last(): FakePart {
    return this.parts.at(-1) ?? assert.fail()
  }

  async start(): Promise<void> {
    assert.equal(await this.process.start(FIRST, () => AGAIN), STARTED)
  }

  pass(durationMs: number): void {
    this.#timers.tick(durationMs)
  }
}

test('a part that dies is started again where it was, and the user is told', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.last.die(false)
  fixture.pass(99)
  assert.equal(fixture.parts.length, 1)
  fixture.pass(1)
  assert.deepEqual(
    fixture.parts.map(({ orders }) => orders),
    [[FIRST], [AGAIN]],
  )
  assert.equal(fixture.last.isRef, false, 'a program that is done may end')
  const text = 'the scheduler of the embedded cluster ended and is started again: SIGKILL'
  assert.deepEqual(fixture.warnings, [`SCALER_EMBEDDED_ENDED: ${text}`])
})

test('a part that ends in good order is not started again, and nobody is warned', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.last.die(true)
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
  assert.deepEqual(fixture.told, ['over'])
  assert.deepEqual(fixture.warnings, [])
})

test('a part that dies again and again is given up after ten times', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  for (let deaths = 1; deaths <= 10; deaths += 1) {
    assert.equal(fixture.parts.length, deaths)
    await fixture.last.die(false)
    fixture.pass(5_000)
  }
  assert.equal(fixture.parts.length, 10)
  assert.deepEqual(fixture.told, ['given up'])
  assert.match(fixture.warnings.at(-1) ?? '', /too often within a minute and is not started again/)
})

test('a part that is ended is not started again', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.process.end()
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
  assert.deepEqual(fixture.told, [])
})

test('a part that is let go is not started again', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  fixture.process.release()
  await fixture.last.die(false)
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
  assert.deepEqual(fixture.told, [])
})

test('a part that is ended while it waits to be started again stays dead', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.last.die(false)
  await fixture.process.end()
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
})

test('a part that the system does not let start is tried until it does', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  fixture.refusals = 50
  await fixture.last.die(false)
  for (let round = 0; round < 60; round += 1) fixture.pass(5_000)
  assert.equal(fixture.refusals, 0)
  assert.equal(fixture.parts.length, 2)
  assert.deepEqual(fixture.told, [])
  const refused = fixture.warnings.filter((text) => text.includes('cannot be started'))
  assert.equal(refused.length, 1)
  assert.match(refused[0] ?? '', /which is tried again: spawn EMFILE$/)
  await fixture.last.die(true)
  assert.deepEqual(fixture.told, ['over'])
})

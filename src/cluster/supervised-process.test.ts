import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../base/logger.js'
import type { EmbeddedOrder, EmbeddedStart } from './embedded-lines.js'
import type { EmbeddedEnd } from './embedded-process.js'
import { SupervisedProcess, type PartProcess } from './supervised-process.js'

const FIRST: EmbeddedOrder = { role: 'scheduler', options: { address: 'tcp://127.0.0.1:0' } }
const AGAIN: EmbeddedOrder = { role: 'scheduler', options: { address: 'tcp://127.0.0.1:7' } }
const STARTED: EmbeddedStart = { event: 'ready' }

/** A process that runs until the test stops it. */
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

  prepare(): void {}

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

  /** Resolves after all handlers of `ended` have run. */
  async die(isGood: boolean): Promise<void> {
    this.#end({ isGood, text: isGood ? 'exit code 0' : 'SIGKILL' })
    await new Promise(setImmediate)
  }
}

/** A supervised part, its processes, and the handlers and warnings that they caused. */
class Fixture {
  readonly parts: FakePart[] = []
  readonly told: string[] = []
  readonly warnings: string[] = []
  /** How many more times starting a process fails. */
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
    this.process = new SupervisedProcess(open, silentLogger, (hasDied) => {
      this.told.push(hasDied ? 'given up' : 'over')
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

test('a part that dies is restarted at its address, with a warning', async (context) => {
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
  assert.equal(fixture.last.isRef, false, 'a restarted part does not keep the program alive')
  const text = 'the scheduler of the embedded cluster exited and is being restarted: SIGKILL'
  assert.deepEqual(fixture.warnings, [`SCALER_EMBEDDED_ENDED: ${text}`])
})

test('a part that shuts down normally is not restarted, and causes no warning', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.last.die(true)
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
  assert.deepEqual(fixture.told, ['over'])
  assert.deepEqual(fixture.warnings, [])
})

test('a part is not restarted after ten deaths within a minute', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  for (let deaths = 1; deaths <= 10; deaths += 1) {
    assert.equal(fixture.parts.length, deaths)
    await fixture.last.die(false)
    fixture.pass(5_000)
  }
  assert.equal(fixture.parts.length, 10)
  assert.deepEqual(fixture.told, ['given up'])
  assert.match(fixture.warnings.at(-1) ?? '', /too often within a minute and is not restarted/)
})

test('a part that is stopped is not restarted', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.process.end()
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
  assert.deepEqual(fixture.told, [])
})

test('a part that is released is not restarted', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  fixture.process.release()
  await fixture.last.die(false)
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
  assert.deepEqual(fixture.told, [])
})

test('a part that is stopped while it waits for its restart is not restarted', async (context) => {
  const fixture = new Fixture(context)
  await fixture.start()
  await fixture.last.die(false)
  await fixture.process.end()
  fixture.pass(10_000)
  assert.equal(fixture.parts.length, 1)
})

test('a part that the system cannot start is retried until it starts', async (context) => {
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
  assert.match(refused[0] ?? '', /retrying: spawn EMFILE$/)
  await fixture.last.die(true)
  assert.deepEqual(fixture.told, ['over'])
})

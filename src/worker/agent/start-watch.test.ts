// A start that takes long says why, and fails when it is hopeless.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ScalerError } from '../../base/errors.js'
import { silentLogger } from '../../base/logger.js'
import { startFailureOf } from '../../runtime/child-environment.js'
import { StartWatch } from './agent.js'

const REFUSED = `${startFailureOf('spawn node EMFILE')}; trying again`
const USELESS = 'the processor ended without having finished a task; trying again'
const HANGING = 'the processor did not become ready in time; replacing it'

class Fixture {
  readonly told: string[] = []
  readonly watch: StartWatch
  readonly failures: unknown[] = []
  #now = 0
  readonly #pass: (durationMs: number) => void

  constructor(context: TestContext) {
    context.mock.timers.enable({ apis: ['setInterval', 'setImmediate'] })
    context.mock.method(performance, 'now', () => this.#now)
    this.#pass = (durationMs) => context.mock.timers.tick(durationMs)
    this.watch = new StartWatch(silentLogger, (text) => this.told.push(text))
  }

  start(ready: Promise<void> = new Promise(() => {})): Promise<void> {
    return this.watch.orFailure(ready).catch((error: unknown) => void this.failures.push(error))
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.#now += 1_000
      this.#pass(1_000)
    }
    await Promise.resolve()
    await Promise.resolve()
    await Promise.resolve()
  }

  warn(text: string, worker = 'w1'): void {
    const key = text === HANGING ? 'afterMs' : 'pauseMs'
    this.watch.logger.warn(text, { worker, [key]: 100 })
  }
}

test('each reason is told once, whichever worker has it', async (context) => {
  const fixture = new Fixture(context)
  void fixture.start()
  for (const worker of ['w1', 'w2']) fixture.warn(REFUSED, worker)
  fixture.warn(USELESS)
  fixture.watch.logger.warn('another line')
  await fixture.pass(30)
  assert.deepEqual(fixture.told, [REFUSED, USELESS])
})

test('a start fails once a worker has been refused its process for a minute', async (context) => {
  const fixture = new Fixture(context)
  void fixture.start()
  fixture.warn(REFUSED, 'w1')
  await fixture.pass(60)
  fixture.warn(REFUSED, 'w2')
  await fixture.pass(1)
  assert.equal(fixture.failures.length, 0, 'another worker')
  fixture.warn(REFUSED, 'w1')
  await fixture.pass(1)
  const [failure] = fixture.failures
  assert.ok(failure instanceof ScalerError)
  const { code, message } = failure
  assert.equal(code, 'ERR_SCALER_EMBEDDED')
  assert.match(message, /could not be started: spawn node EMFILE \(.*ulimit -n\)$/)
})

for (const text of [USELESS, HANGING]) {
  test(`a start goes on for five minutes if ${text}`, async (context) => {
    const fixture = new Fixture(context)
    void fixture.start()
    for (let minute = 0; minute < 5; minute += 1) {
      fixture.warn(text)
      await fixture.pass(60)
      assert.equal(fixture.failures.length, 0)
    }
    fixture.warn(text)
    await fixture.pass(1)
    const [failure] = fixture.failures
    assert.ok(failure instanceof ScalerError)
    assert.equal(failure.message, text.replace(/;.*/, ''))
  })
}

test('workers that do not become ready are told of, unless they come one by one', async (context) => {
  const fixture = new Fixture(context)
  void fixture.start()
  await fixture.pass(60)
  assert.deepEqual(fixture.told, [], 'there is no scheduler yet')
  fixture.watch.logger.info('connected to the scheduler')
  for (let worker = 0; worker < 20; worker += 1) {
    await fixture.pass(8)
    fixture.watch.logger.info('registered with the scheduler')
  }
  assert.deepEqual(fixture.told, [])
  await fixture.pass(30)
  assert.equal(fixture.told.length, 1)
  assert.match(fixture.told[0] ?? '', /^no worker has become ready for 10 s; .*ulimit -u/)
})

test('after the start, nothing is told', async (context) => {
  const fixture = new Fixture(context)
  fixture.watch.logger.info('connected to the scheduler')
  await fixture.start(Promise.resolve())
  fixture.warn(USELESS)
  await fixture.pass(60)
  assert.deepEqual(fixture.told, [])
})

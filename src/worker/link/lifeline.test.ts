import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { encodeNumbers, encodeStatus, Lifeline, lifelineFrame } from './lifeline.js'
import { FrameParser, KIND_LOG, KIND_PULSE, KIND_RETRACT, KIND_STATUS } from './frames.js'

const STATUS = { isStarted: true, isListening: false, isAlone: true, hasGivenUp: false }

/** A lifeline with the test at its other end. */
class Setup {
  readonly asked: string[] = []
  readonly told: unknown[] = []
  readonly #stream: Duplex
  readonly lifeline: Lifeline

  constructor() {
    const parser = new FrameParser((kind, bytes) => {
      this.asked.push(`${kind} ${bytes.toString('hex')}`)
    })
    this.#stream = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        parser.feed(chunk)
        done()
      },
    })
    this.lifeline = new Lifeline(this.#stream, {
      onStatus: (status) => void this.told.push(status.dispatchNumber),
      onRetracted: (asked, retracted) => void this.told.push([asked, retracted]),
      onFrozen: (silentMs) => void this.told.push(`frozen ${silentMs}`),
      onGarbage: (error) => void this.told.push((error as Error).name),
    })
  }

  /** Delivers incoming bytes one by one. */
  async answer(kind: number, body: Uint8Array): Promise<void> {
    for (const byte of lifelineFrame(kind, body)) this.#stream.push(Buffer.of(byte))
    await nextTurn()
  }
}

test('a question about one task, or about many, is one frame', () => {
  const { lifeline, asked } = new Setup()
  lifeline.askStatus(3)
  lifeline.retract([1, 2])
  assert.deepEqual(asked, [
    `${KIND_STATUS} 030000000000`,
    `${KIND_RETRACT} 010000000000020000000000`,
  ])
})

test('tasks that were taken back are reported together with the request', async () => {
  const setup = new Setup()
  setup.lifeline.retract([1, 2, 3])
  setup.lifeline.askStatus(9)
  setup.lifeline.retract([4])
  await setup.answer(KIND_RETRACT, encodeNumbers([3, 1]))
  await setup.answer(KIND_STATUS, encodeStatus({ dispatchNumber: 9, ...STATUS, runningMs: 1 }))
  await setup.answer(KIND_RETRACT, encodeNumbers([]))
  assert.deepEqual(setup.told, [
    [
      [1, 2, 3],
      [3, 1],
    ],
    9,
    [[4], []],
  ])
})

test('data that a guardian does not send is invalid', async () => {
  const nothing = Buffer.alloc(0)
  for (const [kind, body] of [
    [KIND_RETRACT, encodeNumbers([2])],
    [KIND_RETRACT, Buffer.alloc(5)],
    [KIND_STATUS, nothing],
    [KIND_LOG, nothing],
    [200, nothing],
  ] as const) {
    const setup = new Setup()
    setup.lifeline.retract([1])
    await setup.answer(kind, body)
    await setup.answer(KIND_PULSE, nothing)
    assert.deepEqual(setup.told, ['ProtocolError'])
  }
  const setup = new Setup()
  await setup.answer(KIND_RETRACT, nothing)
  assert.deepEqual(setup.told, ['ProtocolError'])
})

test('a guardian that is silent for six beats is reported once', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const setup = new Setup()
  const beat = (times: number): void => {
    for (let time = 0; time < times; time += 1) context.mock.timers.tick(10)
  }
  setup.lifeline.watch(10)
  beat(6)
  await setup.answer(KIND_PULSE, Buffer.alloc(0))
  // Any answer counts.
  beat(6)
  await setup.answer(KIND_STATUS, encodeStatus({ dispatchNumber: 0, ...STATUS, runningMs: 0 }))
  assert.deepEqual(setup.told, [0])
  assert.equal(setup.asked.length, 2)
  beat(6)
  assert.deepEqual(setup.told, [0])
  beat(9)
  assert.deepEqual(setup.told, [0, 'frozen 60'])
  assert.equal(setup.asked.length, 3)
})

test('the guardian is not checked any more after unwatch', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { lifeline, asked, told } = new Setup()
  lifeline.watch(10)
  lifeline.unwatch()
  for (let time = 0; time < 20; time += 1) context.mock.timers.tick(10)
  assert.deepEqual([asked, told], [[], []])
})

import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AgentFrame, decodeAgentFrame, type ProcessorFrame } from './frames.js'
import { Lifeline } from './lifeline.js'
import { controlBytes, FrameBatch, FrameParser } from './pipe.js'

function statusOf(dispatchNumber: number): ProcessorFrame {
  const flags = { isStarted: true, isListening: false, isAlone: true, hasGivenUp: false }
  return {
    type: 'status',
    status: { dispatchNumber, taskNumber: dispatchNumber, ...flags, runningMs: 1 },
  }
}

/** A lifeline with the test at its other end. */
class Setup {
  readonly asked: AgentFrame[] = []
  readonly told: unknown[] = []
  readonly #stream: Duplex
  readonly lifeline: Lifeline

  constructor() {
    const parser = new FrameParser({
      onMessage: () => assert.fail('a message'),
      onControl: (bytes) => void this.asked.push(decodeAgentFrame(bytes)),
    })
    this.#stream = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        parser.feed(chunk)
        done()
      },
    })
    this.lifeline = new Lifeline(this.#stream, (event) => {
      if (event.type === 'status') this.told.push(event.status.dispatchNumber)
      else if (event.type === 'retracted') this.told.push([event.asked, event.retracted])
      else if (event.type === 'stack') this.told.push(event.report.outcome)
      else if (event.type === 'results') this.told.push(event.results.count)
      else if (event.type === 'frozen') this.told.push(`frozen ${event.silentMs}`)
      else this.told.push((event.error as Error).name)
    })
  }

  /** Delivers incoming bytes one by one. */
  async answer(frame: ProcessorFrame | Uint8Array): Promise<void> {
    const bytes = frame instanceof Uint8Array ? frame : controlBytes(frame)
    for (const byte of bytes) this.#stream.push(Buffer.of(byte))
    await nextTurn()
  }
}

test('a question about one task, or about many, is one frame', () => {
  const { lifeline, asked } = new Setup()
  lifeline.askStatus(3, 1)
  lifeline.retract([1, 2])
  assert.deepEqual(asked, [
    { type: 'askStatus', task: 3, count: 1 },
    { type: 'retract', tasks: [1, 2] },
  ])
})

test('tasks that were taken back are reported together with the request', async () => {
  const setup = new Setup()
  setup.lifeline.retract([1, 2, 3])
  setup.lifeline.askStatus(9, 2)
  setup.lifeline.retract([4])
  await setup.answer({ type: 'retracted', tasks: [3, 1] })
  await setup.answer(statusOf(9))
  await setup.answer({ type: 'retracted', tasks: [] })
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
  const message = new FrameBatch()
  message.addMessage(Buffer.from('message'))
  for (const frame of [
    { type: 'retracted', tasks: [2] },
    { type: 'exitNote', note: 'nothing' },
    controlBytes({ type: 'askStatus', task: 1, count: 1 }),
    Buffer.concat(message.take()),
    Buffer.from([0, 0, 0, 0, 200]),
  ] as const) {
    const setup = new Setup()
    setup.lifeline.retract([1])
    await setup.answer(frame)
    await setup.answer({ type: 'pulse' })
    assert.deepEqual(setup.told, ['ProtocolError'])
  }
  const setup = new Setup()
  await setup.answer({ type: 'retracted', tasks: [] })
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
  await setup.answer({ type: 'pulse' })
  // Any answer counts.
  beat(6)
  await setup.answer(statusOf(0))
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

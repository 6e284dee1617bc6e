// A processor for Symphony with a bridge that the test plays: a program of Node that repeats what
// the test has written for it, and keeps what it has received.

import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as after } from 'node:timers/promises'
import { latin1ToBytes } from '../../base/bytes.js'
import type { ProcessorDeath } from '../../base/errors.js'
import { identity, objectId, taskId } from '../../base/ids.js'
import { silentLogger } from '../../base/logger.js'
import type { LastRun } from '../../core/worker/events.js'
import { encode, PLAIN_TASK, type Task, type TaskResult } from '../../wire/message.js'
import { encodeTaskFlags } from '../../wire/metadata.js'
import type { ProcessorHostHandler } from '../agent/processor-host.js'
import { type ServiceForm, SymphonyProcessor } from './processor.js'

const START = Buffer.from('\0scaler-ts frames\n')
const READY = 0
const OUTPUT = 1
const FAILURE = 2
const LOST = 3
const REFUSED = 4

/** Inputs are the name of the task; outputs are results; exceptions are readable. */
const FORM: ServiceForm = {
  inputOf: ({ task }) => {
    if (task.name === 'refused') throw new Error('no input')
    return [Buffer.from(task.name)]
  },
  answerIn: (_call, output) => {
    if (output.toString() === 'odd') throw new Error('no output of this service')
    return { status: 'success', content: [output] }
  },
  failureIn: (pickled) => (pickled.byteLength > 0 ? pickled : undefined),
  encodeError: (error) => Buffer.from(`${error.name}: ${error.message}`),
}

function frame(kind: number, ...pieces: readonly (string | Buffer)[]): Buffer {
  const content = Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
  const head = Buffer.alloc(5)
  head.writeUInt32LE(content.byteLength)
  head[4] = kind
  return Buffer.concat([head, content])
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function output(task: number, text: string): Buffer {
  return frame(OUTPUT, number(task), text)
}

function failure(task: number, message: string, pickled: string): Buffer {
  const text = Buffer.from(JSON.stringify({ name: 'E', message, stack: '' }))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.byteLength)
  return frame(FAILURE, number(task), length, text, pickled)
}

const IS_READY = frame(READY, '{"connection":"c","session":"s"}')

function taskOf(id: string, name: string): Uint8Array {
  const task: Task = {
    kind: 'task',
    taskId: taskId(id),
    source: identity('client'),
    metadata: encodeTaskFlags({ profiling: false, priority: 0 }),
    funcObjectId: objectId('function'),
    functionArgs: [],
    ...PLAIN_TASK,
    name,
    attempt: 2,
  }
  return encode(task)
}

type End = readonly [death: ProcessorDeath, lastRun: LastRun]

/** A processor, and what it has told its worker. */
class Stage {
  readonly processor: SymphonyProcessor
  readonly results: TaskResult[] = []
  readonly events: string[] = []
  readonly folder = mkdtempSync(join(tmpdir(), 'bridge-'))
  readonly ended: Promise<End>

  /**
   * The bridge writes `first`, then `then` once it has received so many bytes, and exits with
   * `exitCode`, if there is one.
   */
  constructor(
    t: TestContext,
    play: { first?: Buffer; bytes?: number; then?: Buffer; exitCode?: number },
  ) {
    const { first = IS_READY, bytes = 0, then = Buffer.alloc(0), exitCode } = play
    const program = join(this.folder, 'bridge')
    const received = JSON.stringify(join(this.folder, 'received'))
    const write = (content: Buffer): string =>
      `process.stdout.write(Buffer.from('${content.toString('hex')}', 'hex'))`
    const exit = exitCode === undefined ? '' : `process.stdout.end(() => process.exit(${exitCode}))`
    writeFileSync(
      program,
      `#!${process.execPath}
let input = Buffer.alloc(0)
let isDone = false
const look = () => {
  if (isDone || input.length < ${bytes}) return
  isDone = true
  require('node:fs').writeFileSync(${received} + '.part', input)
  require('node:fs').renameSync(${received} + '.part', ${received})
  ${write(then)}
  ${exit}
}
process.stdin.on('data', (chunk) => { input = Buffer.concat([input, chunk]); look() })
process.stdin.on('end', () => process.exit(0))
${write(Buffer.concat([START, first]))}
look()
`,
    )
    chmodSync(program, 0o755)
    t.after(async () => {
      await this.processor.end()
      rmSync(this.folder, { recursive: true })
    })
    this.processor = new SymphonyProcessor({ python: program, serviceName: 'Service' }, FORM)
    const facts = {
      address: 'tcp://127.0.0.1:1',
      worker: identity('worker'),
      inlineLimitBytes: 0,
      taskTimeoutMs: 0,
    }
    this.ended = new Promise((resolve) => {
      const note =
        (name: string) =>
        (...values: readonly unknown[]): void =>
          void this.events.push(`${name} ${JSON.stringify(values)}`)
      const handler: Partial<ProcessorHostHandler> = {
        onReady: () => this.events.push('ready'),
        onResult: (result) => this.results.push(result),
        onStatus: ({ dispatchNumber, isStarted }) => note('status')(dispatchNumber, isStarted),
        onStack: ({ outcome }) => note('stack')(outcome),
        onRetracted: note('retracted'),
        onExit: (...end) => resolve(end),
      }
      this.processor.serve({
        facts,
        logger: silentLogger,
        handler: handler as ProcessorHostHandler,
      })
    })
  }

  /** The results, as lines, once there are this many. */
  async lines(count: number): Promise<readonly string[]> {
    await this.#until(() => this.results.length >= count)
    return this.results.map(({ taskId: id, status, inlineResults, attempt }) => {
      return `${id} ${status} ${Buffer.concat(inlineResults).toString()} ${attempt}`
    })
  }

  async received(): Promise<string> {
    const path = join(this.folder, 'received')
    await this.#until(() => existsSync(path))
    return readFileSync(path, 'latin1')
  }

  async noted(count: number): Promise<readonly string[]> {
    await this.#until(() => this.events.length >= count)
    return this.events
  }

  async #until(isTrue: () => boolean): Promise<void> {
    const end = performance.now() + 20_000
    while (!isTrue()) {
      assert.ok(performance.now() < end, 'in time')
      await after(5)
    }
  }
}

test('tasks are numbered; answers are results of their attempt, in any order', async (t) => {
  const then = Buffer.concat([output(1, 'B'), output(0, 'A')])
  const stage = new Stage(t, { bytes: 2 * (5 + 8 + 1), then })
  stage.processor.dispatch(taskOf('a', 'x'))
  stage.processor.dispatch([taskOf('b', 'y')])
  assert.equal(
    await stage.received(),
    Buffer.concat([frame(0, number(0), 'x'), frame(0, number(1), 'y')]).toString('latin1'),
  )
  assert.deepEqual(await stage.lines(2), ['b success B 2', 'a success A 2'])
  assert.deepEqual(stage.events, ['ready'])
})

test('doubled and unknown answers are ignored', async (t) => {
  const then = Buffer.concat([output(0, 'A'), output(0, 'again'), output(7, '?'), output(1, 'B')])
  const stage = new Stage(t, { bytes: 28, then })
  for (const id of ['a', 'b']) stage.processor.dispatch(taskOf(id, id))
  assert.deepEqual(await stage.lines(2), ['a success A 2', 'b success B 2'])
})

test('a task that is stopped is given up, and its late answer ignored', async (t) => {
  const then = Buffer.concat([output(0, 'late'), output(1, 'B')])
  const stage = new Stage(t, { bytes: 28, then })
  stage.processor.dispatch(taskOf('a', 'a'))
  stage.processor.stop(taskId('a'), 1)
  stage.processor.stop(taskId('a'), 1)
  stage.processor.dispatch(taskOf('b', 'b'))
  assert.deepEqual([...(await stage.lines(2))].sort(), ['a canceled  0', 'b success B 2'])
})

test('failures: of the service, of Symphony, of reading and of writing', async (t) => {
  const then = Buffer.concat([
    failure(0, 'boom', 'pickle'),
    failure(1, 'host lost', ''),
    output(2, 'odd'),
  ])
  const stage = new Stage(t, { bytes: 3 * 14, then })
  for (const id of ['a', 'b', 'c']) stage.processor.dispatch(taskOf(id, id))
  stage.processor.dispatch(taskOf('d', 'refused'))
  const lines = [...(await stage.lines(4))].sort()
  assert.deepEqual(lines, [
    'a failed pickle 2',
    'b failed ProcessorDiedError: task 62 (b) failed in Symphony: E: host lost 2',
    'c failed Error: no output of this service 2',
    'd failed Error: no input 2',
  ])
  assert.deepEqual(stage.results.map(({ error: [error] }) => String(error?.message)).sort(), [
    'boom',
    'no input',
    'no output of this service',
    'task 62 (b) failed in Symphony: E: host lost',
  ])
})

test('it answers what a processor would be asked', async (t) => {
  const stage = new Stage(t, {})
  stage.processor.dispatch(taskOf('a', 'a'))
  stage.processor.askStatus(0)
  stage.processor.askStatus(1)
  stage.processor.retract([0])
  stage.processor.askStack()
  const events = [...(await stage.noted(5))].sort()
  assert.deepEqual(events, [
    'ready',
    'retracted [[0],[]]',
    'stack ["failed"]',
    'status [0,true]',
    'status [1,false]',
  ])
})

const ENDS: readonly (readonly [string, ConstructorParameters<typeof Stage>[1], End])[] = [
  [
    'a bridge that finds no session was never started',
    { first: frame(LOST, 'no session'), exitCode: 1 },
    [{ stderr: 'no session' }, 'retired'],
  ],
  [
    'a lost session is the fault of no task',
    { then: frame(LOST, 'session lost'), exitCode: 1 },
    [{ exitCode: 1, signal: undefined, stderr: 'session lost' }, 'retired'],
  ],
  [
    'a refused input may be the fault of a task',
    { then: frame(REFUSED, 'too large'), exitCode: 1 },
    [{ exitCode: 1, signal: undefined, stderr: 'too large' }, 'nothing'],
  ],
  [
    'so may a crash',
    { exitCode: 70 },
    [{ exitCode: 70, signal: undefined, stderr: '' }, 'nothing'],
  ],
]

for (const [name, play, end] of ENDS) {
  test(name, async (t) => {
    assert.deepEqual(await new Stage(t, play).ended, end)
  })
}

test('invalid frames end the bridge', async (t) => {
  const [death, lastRun] = await new Stage(t, { then: frame(9, '') }).ended
  assert.match(death.stderr, /^received invalid data: .*unknown kind 9/)
  assert.deepEqual([death.signal, lastRun], ['SIGKILL', 'nothing'])
})

test('a program that does not exist is a bridge that cannot work', async () => {
  const processor = new SymphonyProcessor({ python: '/no/such/python', serviceName: 'S' }, FORM)
  const [death] = await new Promise<End>((resolve) => {
    const handler: Partial<ProcessorHostHandler> = { onExit: (...end) => resolve(end) }
    const facts = { address: '', worker: identity(''), inlineLimitBytes: 0, taskTimeoutMs: 0 }
    processor.serve({ facts, logger: silentLogger, handler: handler as ProcessorHostHandler })
  })
  assert.deepEqual(death, { exitCode: 9, stderr: 'spawn /no/such/python ENOENT' })
  assert.equal(processor.isGone, true)
})

test('a bridge that is killed reports the signal', async (t) => {
  const stage = new Stage(t, { first: latin1ToBytes('') })
  stage.processor.kill()
  const [death] = await stage.ended
  assert.equal(death.signal, 'SIGTERM')
})

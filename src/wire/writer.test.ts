// What the property tests cannot show: values out of range, limits, and what a frame shares with
// its message.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinBytes, NO_BYTES } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { identity, objectId, schedulerId, taskId } from '../base/ids.js'
import { MAX_DATA_BYTES, MAX_TEXT_BYTES, MIN_REFERENCED_BYTES } from './limits.js'
import {
  decode,
  encode,
  encodeFrame,
  type Message,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_RESULT,
  PLAIN_TASK,
  type Task,
  type WorkerStatus,
} from './message.js'

const TASK: Task = {
  kind: 'task',
  taskId: taskId('t'),
  source: identity('c'),
  metadata: NO_BYTES,
  funcObjectId: objectId('f'),
  functionArgs: [],
  ...PLAIN_TASK,
}

const WORKER: WorkerStatus = {
  workerId: identity(''),
  agent: { cpu: 0, rss: 0 },
  rssFree: 0,
  free: 0,
  sent: 0,
  queued: 0,
  suspended: 0,
  lagUS: 0,
  lastS: 0,
  itl: '',
  processorStatuses: [],
}

function stateOf(worker: Partial<WorkerStatus>): WorkerStatus {
  const message: Message = {
    kind: 'stateScheduler',
    binder: { received: [], sent: [] },
    scheduler: { cpu: 0, rss: 0 },
    rssFree: 0,
    clientManager: { clientToNumOfTask: [] },
    objectManager: { numberOfObjects: 0 },
    taskManager: { unassigned: 0, running: 0, success: 0, failed: 0, canceled: 0, notFound: 0 },
    workerManager: { workers: [{ ...WORKER, ...worker }] },
  }
  const decoded = decode(encode(message))
  assert.ok(decoded.kind === 'stateScheduler')
  return decoded.workerManager.workers[0] as WorkerStatus
}

function withData(...objectNames: readonly Uint8Array[]): Message {
  const objectContent = { objectIds: [], objectTypes: [], objectNames, objectBytes: [] }
  return { kind: 'objectResponse', responseType: 'content', objectContent }
}

/** Fake bytes: they have a length, but take no memory. */
function fakeBytes(byteLength: number): Uint8Array {
  return Object.defineProperty(new Uint8Array(0), 'byteLength', { value: byteLength })
}

function assertRefused(message: Message, pattern: RegExp): void {
  for (const write of [encode, encodeFrame]) {
    assert.throws(
      () => write(message),
      (error) => error instanceof ProtocolError && pattern.test(error.message),
    )
  }
}

describe('numbers out of range', () => {
  const many: Partial<WorkerStatus> = {
    suspended: 256,
    lastS: 1e9,
    free: 2 ** 32,
    agent: { cpu: 65_536, rss: 2 ** 60 },
    lagUS: Infinity,
  }

  test('are clamped to the largest', () => {
    const worker = stateOf(many)
    assert.equal(worker.suspended, 255)
    assert.equal(worker.lastS, 255)
    assert.equal(worker.free, 2 ** 32 - 1)
    assert.deepEqual(worker.agent, { cpu: 65_535, rss: Number.MAX_SAFE_INTEGER })
    assert.equal(worker.lagUS, Number.MAX_SAFE_INTEGER)
  })

  test('are clamped to zero', () => {
    const worker = stateOf({
      suspended: -1,
      free: -Infinity,
      rssFree: -5,
      agent: { cpu: NaN, rss: NaN },
    })
    assert.equal(worker.suspended, 0)
    assert.equal(worker.free, 0)
    assert.equal(worker.rssFree, 0)
    assert.deepEqual(worker.agent, { cpu: 0, rss: 0 })
  })

  test('lose their fractions', () => {
    const worker = stateOf({ free: 3.9, rssFree: 2 ** 40 + 0.5, agent: { cpu: 0.9, rss: 1.5 } })
    assert.equal(worker.free, 3)
    assert.equal(worker.rssFree, 2 ** 40)
    assert.deepEqual(worker.agent, { cpu: 0, rss: 1 })
  })

  test('with a sign are clamped on both sides', () => {
    const values = [-1.5, -(2 ** 32), -Infinity, 2 ** 63, NaN, Number.MIN_SAFE_INTEGER]
    const task: Task = { ...TASK, capabilities: values.map((value) => ({ name: 'x', value })) }
    const decoded = decode(encode(task))
    assert.ok(decoded.kind === 'task')
    assert.deepEqual(
      decoded.capabilities.map(({ value }) => value),
      [
        -1,
        -(2 ** 32),
        -Number.MAX_SAFE_INTEGER,
        Number.MAX_SAFE_INTEGER,
        0,
        Number.MIN_SAFE_INTEGER,
      ],
    )
  })
})

describe('what the format cannot express is refused', () => {
  test('an unknown kind', () => {
    assertRefused({ kind: 'nonsense' } as unknown as Message, /unknown kind nonsense/)
  })

  test('an unknown enumerant, with its field', () => {
    const message = {
      kind: 'taskResult',
      taskId: taskId(''),
      status: 'happy',
      metadata: NO_BYTES,
      results: [],
      ...PLAIN_RESULT,
    } as unknown as Message
    assertRefused(message, /^TaskResult\.status: unknown value happy$/)
  })

  test('a byte string of 512 MiB', () => {
    assertRefused(withData(fakeBytes(MAX_DATA_BYTES + 1)), /byte string of 536870912 bytes/)
    assertRefused({ ...TASK, metadata: fakeBytes(2 ** 40) }, /byte string of/)
  })

  test('an id or text of more than 16 MiB', () => {
    const long = 'x'.repeat(MAX_TEXT_BYTES + 1)
    assertRefused({ ...TASK, taskId: taskId(long) }, /id of/)
    assertRefused(
      {
        kind: 'clientHeartbeat',
        resource: { cpu: 0, rss: 0 },
        latencyUS: 0,
        features: 0,
        runtime: long,
        ...PLAIN_CLIENT_HEARTBEAT,
      },
      /text of/,
    )
  })

  test('a message that is too long for one array', () => {
    const half = fakeBytes(MAX_DATA_BYTES)
    const message = withData(...Array.from({ length: 9 }, () => half))
    assert.throws(() => encode(message), ProtocolError)
  })

  test('pieces that are farther apart than pointers reach', () => {
    const half = fakeBytes(MAX_DATA_BYTES)
    const eight = encodeFrame(withData(...Array.from({ length: 8 }, () => half)))
    assert.ok(!(eight instanceof Uint8Array))
    assert.throws(
      () => encodeFrame(withData(...Array.from({ length: 9 }, () => half))),
      ProtocolError,
    )
  })
})

describe('a frame', () => {
  const large = Buffer.alloc(MIN_REFERENCED_BYTES, 1)
  const odd = Buffer.alloc(MIN_REFERENCED_BYTES + 3, 2)
  const small = Buffer.alloc(MIN_REFERENCED_BYTES - 1, 3)

  test('references byte strings from 16 KiB on, and copies shorter ones', () => {
    const frame = encodeFrame(withData(large, small, odd))
    assert.ok(!(frame instanceof Uint8Array))
    assert.equal(frame.length, 4)
    assert.equal(frame[1], large)
    assert.equal(frame[2], odd)
    assert.equal(frame[3]?.byteLength, 5)
    const decoded = decode(joinBytes(frame))
    assert.ok(decoded.kind === 'objectResponse')
    assert.deepEqual(decoded.objectContent.objectNames, [large, small, odd])
  })

  test('is one array if nothing is that long', () => {
    const frame = encodeFrame(withData(small, small))
    assert.ok(frame instanceof Uint8Array)
    assert.deepEqual(frame, encode(withData(small, small)))
  })

  test('does not share memory with the next one', () => {
    const first = encode(TASK)
    const before = Buffer.from(first).toString('hex')
    encode({ ...TASK, taskId: taskId('other') })
    assert.equal(Buffer.from(first).toString('hex'), before)
  })
})

describe('many small things', () => {
  const COUNT = 20_000

  test('are not mistaken for a message that points to the same bytes too often', () => {
    const one = Buffer.of(1)
    const messages: readonly Message[] = [
      withData(...Array.from({ length: COUNT }, () => one)),
      withData(...Array.from({ length: COUNT }, () => NO_BYTES)),
      {
        ...TASK,
        functionArgs: Array.from({ length: COUNT }, () => ({ type: 'inline', data: one })),
        capabilities: Array.from({ length: COUNT }, () => ({ name: '', value: 1 })),
      },
      {
        kind: 'graphTask',
        taskId: taskId('g'),
        source: identity(''),
        targets: Array.from({ length: COUNT }, () => taskId('t')),
        graph: Array.from({ length: COUNT }, () => ({ ...TASK, taskId: taskId('') })),
        isOpen: false,
      },
    ]
    for (const message of messages) {
      const decoded = decode(encode(message))
      assert.deepEqual(Buffer.from(encode({ ...decoded, bytes: undefined })), encode(message))
    }
  })
})

describe('extension fields', () => {
  test('that are empty do not make a message longer', () => {
    const words = (message: Message): number => encode(message).byteLength / 8
    assert.equal(
      words({
        kind: 'clientHeartbeatEcho',
        schedulerId: schedulerId(''),
        features: 0,
        reports: [],
        waiting: [],
      }),
      4,
    )
    const isLonger = words({ ...TASK, parentTaskId: taskId('p') }) > words(TASK) + 2
    assert.equal(isLonger, true)
  })

  test('in one element of a list make all its elements longer, but nothing else', () => {
    const graph: Message = {
      kind: 'graphTask',
      taskId: taskId('g'),
      source: identity('c'),
      targets: [],
      graph: [TASK, { ...TASK, capabilities: [{ name: 'gpu', value: -1 }] }, TASK],
      isOpen: false,
    }
    const decoded = decode(encode(graph))
    assert.ok(decoded.kind === 'graphTask')
    assert.deepEqual(
      decoded.graph.map(({ capabilities }) => capabilities),
      [[], [{ name: 'gpu', value: -1 }], []],
    )
    assert.deepEqual(
      decoded.graph.map(({ bytes }) => bytes),
      [undefined, undefined, undefined],
    )
  })
})

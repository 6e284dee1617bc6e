// `scaler-ts/protocol`, as used by the author of another peer.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  decode,
  encode,
  encodeFrame,
  ProtocolError,
  taskId,
  type Message,
  type OutgoingMessage,
} from 'scaler-ts/protocol'
import { joinBytes } from '#src/base/bytes.js'
import { comparable } from './comparable.js'
import { GOLDEN_MESSAGES } from './golden-messages.js'
import { anyMessage } from './message-arbitrary.js'

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Ids and byte strings as others pass them: plain arrays only. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]))
}

function without(message: Message, fields: readonly string[]): OutgoingMessage {
  const entries = Object.entries(message).filter(([key]) => !fields.includes(key))
  return Object.fromEntries(entries) as unknown as OutgoingMessage
}

/** The fields of each kind that the original does not have. */
const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  task: (
    'capabilities parentTaskId name timeoutMs retries workerDeathLimit attempt keepsResult ' +
    'mayHaveRun output outputClient traceContext'
  ).split(' '),
  taskResult: ['inlineResults', 'worker', 'failedTaskId', 'attempt', 'attempts'],
  graphTask: ['isOpen'],
  workerHeartbeat: [
    'features',
    'runtime',
    'capabilities',
    'tasks',
    'isLeaving',
    'agentId',
    'info',
    'running',
  ],
  workerHeartbeatEcho: ['schedulerId', 'features'],
  clientHeartbeat: ['features', 'runtime', 'worker', 'wantsReport', 'wantsPeers', 'info'],
  clientHeartbeatEcho: ['schedulerId', 'features', 'reports', 'waiting'],
}

describe('messages for other peers', () => {
  test('any message is deeply equal to what was encoded', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const given = plain({ ...message, bytes: undefined }) as Message & { bytes?: undefined }
        delete given.bytes
        const decoded = decode(encode(given))
        assert.deepEqual(comparable(decoded), comparable(given))
        assert.deepStrictEqual(decode(encode(decoded)), decoded)
        const frame = encodeFrame(given)
        const bytes = frame instanceof Uint8Array ? frame : joinBytes(frame)
        assert.deepStrictEqual(decode(bytes), decoded)
      }),
      { numRuns: 300 },
    )
  })

  test('a golden message of 1.9.9 is the same without the fields that 1.9.9 does not have', () => {
    for (const { name, bytes, message } of GOLDEN_MESSAGES) {
      const fields = EXTENSIONS[message.kind] ?? []
      for (const field of fields) assert.ok(field in message, `${message.kind}.${field}`)
      let given = without(message, [...fields, 'bytes'])
      if (given.kind === 'graphTask') {
        const nodes = message.kind === 'graphTask' ? message.graph : []
        const graph = nodes.map((node) => without(node, EXTENSIONS['task'] ?? []))
        given = { ...given, graph: graph as never }
      }
      assert.equal(hexOf(encode(given)), hexOf(bytes), name)
      assert.equal(hexOf(encode(decode(bytes))), hexOf(bytes), name)
    }
  })

  test('a copy of a decoded message can be changed', () => {
    const message = decode(encode({ kind: 'clientDisconnect', disconnectType: 'disconnect' }))
    assert.deepStrictEqual(message, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
    assert.ok(message.kind === 'clientDisconnect')
    const changed = decode(encode({ ...message, disconnectType: 'shutdown' }))
    assert.deepStrictEqual(changed, { kind: 'clientDisconnect', disconnectType: 'shutdown' })
  })

  test('byte strings and frames are plain', () => {
    const id = taskId('t')
    const status = { status: 'success', metadata: Buffer.alloc(3), results: [] } as const
    const frame = encode({ kind: 'taskResult', taskId: id, ...status })
    assert.equal(Object.getPrototypeOf(frame), Uint8Array.prototype)
    const result = decode(Buffer.from(frame))
    assert.ok(result.kind === 'taskResult')
    assert.equal(Object.getPrototypeOf(result.metadata), Uint8Array.prototype)
  })

  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [null, /a message must be an object/],
    ['task', /a message must be an object/],
    [{}, /unknown kind undefined/],
    [{ kind: 'nothing' }, /unknown kind nothing/],
    [{ kind: 'taskCancel' }, /a taskCancel message: taskId is missing or has the wrong type/],
    [{ kind: 'taskCancel', taskId: 'a' }, /a taskCancel message: flags is missing/],
    [{ kind: 'taskCancel', taskId: 7, count: 0, flags: {} }, /a taskCancel message: taskId/],
    [
      { kind: 'graphTask', taskId: 'a', source: 'b', targets: [], graph: [{ taskId: 'a' }] },
      /a graphTask message: graph\.0\.source is missing/,
    ],
  ]
  for (const [message, text] of wrong) {
    test(`${JSON.stringify(message)} cannot be encoded, and the error says why`, () => {
      const isRight = (error: unknown): boolean =>
        error instanceof ProtocolError && text.test(error.message)
      assert.throws(() => encode(message as OutgoingMessage), isRight)
      assert.throws(() => encodeFrame(message as OutgoingMessage), isRight)
    })
  }

  test('bytes that are not a frame cause a ProtocolError', () => {
    for (const bytes of [null, undefined, 'x', 5, new ArrayBuffer(8), [], new Uint8Array(3)]) {
      assert.throws(() => decode(bytes as Uint8Array), ProtocolError)
    }
  })
})

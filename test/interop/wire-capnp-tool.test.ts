// Our bytes, read by the official implementation; its bytes, read by us, in every size of segment.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { asBuffer } from '#src/base/bytes.js'
import {
  decode,
  encode,
  type Message,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_HEARTBEAT,
  PLAIN_RESULT,
  PLAIN_TASK,
} from '#src/wire/message.js'
import {
  baseSchema,
  fromJson,
  ourSchema,
  segmented,
  skipWithoutCapnp,
  toJson,
  type Schema,
} from './capnp-tool.js'
import { comparable } from './comparable.js'
import { GOLDEN_MESSAGES } from './golden-messages.js'
import { anyMessage } from './message-arbitrary.js'

const SEED = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const MESSAGES = 600

function someMessages(): readonly Message[] {
  return [
    ...GOLDEN_MESSAGES.map(({ message }) => message),
    ...fc.sample(anyMessage, { seed: SEED, numRuns: MESSAGES }),
  ]
}

/** Runs a check for each message; a failure names the message and the seed. */
function forEach(
  messages: readonly Message[],
  check: (message: Message, index: number) => void,
): void {
  for (const [index, message] of messages.entries()) {
    try {
      check(message, index)
    } catch (error) {
      throw new Error(`message ${index} of TEST_SEED=${SEED}`, { cause: error })
    }
  }
}

/**
 * Asserts that the tool's JSON equals our value. In JSON bytes are lists of numbers, so are ids;
 * numbers of 64 bits are texts; null pointers are missing.
 */
function assertSame(json: unknown, value: unknown, path: string): void {
  if (value instanceof Uint8Array) {
    assert.deepEqual(json ?? [], [...value], path)
  } else if (typeof value === 'string') {
    const bytes = [...Buffer.from(value, 'latin1')]
    assert.deepEqual(
      json ?? '',
      typeof json === 'string' || json === undefined ? value : bytes,
      path,
    )
  } else if (typeof value === 'number') {
    assert.equal(Number(json), value, path)
  } else if (Array.isArray(value)) {
    const list = (json ?? []) as readonly unknown[]
    assert.equal(list.length, value.length, path)
    for (const [index, element] of value.entries()) {
      assertSame(list[index], element, `${path}.${index}`)
    }
  } else if (typeof value === 'object' && value !== null) {
    assertSameFields(json as Record<string, unknown>, value, path)
  } else {
    assert.equal(json, value, path)
  }
}

function assertSameFields(json: Record<string, unknown>, value: object, path: string): void {
  const fields = Object.entries(value).filter(([key]) => key !== 'kind' && key !== 'bytes')
  for (const [key, field] of fields) assertSame(json[key], field, `${path}.${key}`)
  const known = new Set(fields.map(([key]) => key))
  for (const key of Object.keys(json)) assert.ok(known.has(key), `${path}.${key} is not ours`)
}

/** The tool's JSON of a message is an object with one property: the member of the union. */
function assertSameMessage(json: unknown, message: Message): void {
  assert.deepEqual(Object.keys(json as object), [message.kind])
  assertSame((json as Record<string, unknown>)[message.kind], message, message.kind)
}

/**
 * The frame with its only segment as the third one, to which the first one has a far pointer,
 * through a landing pad of two words in the second.
 */
function behindDoubleFarPointer(frame: Uint8Array): Buffer {
  const content = asBuffer(frame).subarray(8)
  const head = Buffer.alloc(16 + 8 + 16)
  head.writeUInt32LE(2, 0)
  head.writeUInt32LE(1, 4)
  head.writeUInt32LE(2, 8)
  head.writeUInt32LE(content.length / 8, 12)
  // To word 0 of segment 1, double.
  head.writeUInt32LE(0b110, 16)
  head.writeUInt32LE(1, 20)
  // To word 1 of segment 2, where the root struct begins; its pointer with offset 0 is the tag.
  head.writeUInt32LE(0b1010, 24)
  head.writeUInt32LE(2, 28)
  head.set(content.subarray(0, 8), 32)
  return Buffer.concat([head, content])
}

/** Asserts that we can read the tool's encoding of the values that it has read in our messages. */
function assertReadBack(
  schema: Schema,
  messages: readonly Message[],
  expected: (message: Message) => Message,
): void {
  const values = toJson(schema, messages.map(encode))
  const plain = [...values.keys()].filter((index) => isPlain(values[index]))
  const frames = fromJson(
    schema,
    plain.map((index) => values[index]),
  )
  assert.equal(frames.length, plain.length)
  assert.ok(frames.length > MESSAGES / 2)
  forEach(
    plain.map((index) => messages[index] as Message),
    (message, index) => {
      const decoded = decode(frames[index] as Uint8Array)
      assert.deepEqual(comparable(decoded), comparable(expected(message)))
    },
  )
}

describe('the capnp tool', { skip: skipWithoutCapnp() }, () => {
  test('reads our encoding', () => {
    const messages = someMessages()
    const values = toJson(ourSchema(), messages.map(encode))
    assert.equal(values.length, messages.length)
    forEach(messages, (message, index) => assertSameMessage(values[index], message))
  })

  test('writes an encoding that we read', () => {
    assertReadBack(ourSchema(), someMessages(), (message) => message)
  })

  for (const words of [1, 2, 3, 5, 16]) {
    test(`writes segments of ${words} words that we read`, () => {
      const messages = someMessages()
      const frames = segmented(messages.map(encode), words)
      assert.equal(frames.length, messages.length)
      assert.ok(frames.some((frame) => asBuffer(frame).readUInt32LE(0) > 0))
      forEach(messages, (message, index) => {
        assert.deepEqual(comparable(decode(frames[index] as Uint8Array)), comparable(message))
      })
    })
  }

  test('reads double far pointers like ours', () => {
    const messages = someMessages()
    const frames = messages.map((message) => behindDoubleFarPointer(encode(message)))
    const values = toJson(ourSchema(), frames)
    forEach(messages, (message, index) => {
      assertSameMessage(values[index], message)
      assert.deepEqual(comparable(decode(frames[index] as Buffer)), comparable(message))
    })
  })

  test('reads our extended messages with the 1.9.9 schema, without the extensions', () => {
    const messages = someMessages().filter((message) => !hasNewEnumerant(message))
    const values = toJson(baseSchema(), messages.map(encode))
    forEach(messages, (message, index) =>
      assertSameMessage(values[index], withoutExtensions(message)),
    )
  })

  test('writes messages with the 1.9.9 schema that we read with empty extensions', () => {
    const messages = someMessages().filter((message) => !hasNewEnumerant(message))
    assertReadBack(baseSchema(), messages, emptied)
  })
})

/** The fields of each message that 1.9.9 does not have. */
const EXTENSIONS: Readonly<Partial<Record<Message['kind'], readonly string[]>>> = {
  task: Object.keys(PLAIN_TASK),
  taskCancel: ['count'],
  taskResult: Object.keys(PLAIN_RESULT),
  graphTask: ['isOpen'],
  clientHeartbeat: ['features', 'runtime', ...Object.keys(PLAIN_CLIENT_HEARTBEAT)],
  clientHeartbeatEcho: ['schedulerId', 'features', 'reports', 'waiting'],
  workerHeartbeat: ['features', 'runtime', ...Object.keys(PLAIN_HEARTBEAT)],
  workerHeartbeatEcho: ['schedulerId', 'features'],
}

/** The messages that 1.9.9 does not have. */
const NEW_KINDS: ReadonlySet<Message['kind']> = new Set([
  'taskUpdate',
  'taskOutput',
  'taskRoom',
  'taskInquiry',
  'taskExplanation',
  'operatorRequest',
  'operatorAnswer',
  'objectFiles',
  'sharedObject',
  'storageServers',
  'allocatorReport',
  'objectLoss',
  'monitorRequest',
  'monitorReport',
] as const)

function isExtension(message: Message, field: string): boolean {
  return EXTENSIONS[message.kind]?.includes(field) === true
}

/**
 * Whether no text in a value of JSON has quotes, brackets, comments or other special characters.
 */
function isPlain(json: unknown): boolean {
  if (typeof json === 'string') return /^[\w.: -]*$/.test(json)
  return typeof json !== 'object' || json === null || Object.values(json).every(isPlain)
}

/** Whether a message is of a kind, or has an argument of a type, that 1.9.9 does not have. */
function hasNewEnumerant(message: Message): boolean {
  if (NEW_KINDS.has(message.kind)) return true
  if (message.kind === 'graphTask') return message.graph.some(hasNewEnumerant)
  if (message.kind === 'objectInstruction' || message.kind === 'objectResponse') {
    return message.objectContent.objectTypes.includes('file')
  }
  return message.kind === 'task' && message.functionArgs.some(({ type }) => type === 'inline')
}

/** The message without the extension fields. */
function withoutExtensions(message: Message): Message {
  const fields = Object.entries(message).filter(([key]) => !isExtension(message, key))
  const base = Object.fromEntries(fields) as unknown as Message
  return base.kind === 'graphTask'
    ? { ...base, graph: base.graph.map((task) => withoutExtensions(task) as typeof task) }
    : base
}

/** The message with empty extension fields. */
function emptied(message: Message): Message {
  const fields = Object.entries(message).map(([key, value]) => [
    key,
    isExtension(message, key) ? emptyLike(key, value) : value,
  ])
  const base = Object.fromEntries(fields) as Message
  return base.kind === 'graphTask'
    ? { ...base, graph: base.graph.map((task) => emptied(task) as typeof task) }
    : base
}

function emptyLike(key: string, value: unknown): unknown {
  if (key === 'output') return PLAIN_TASK.output
  if (value instanceof Uint8Array) return new Uint8Array()
  if (typeof value === 'number') return 0
  if (typeof value === 'boolean') return false
  return typeof value === 'string' ? '' : []
}

// Frames written by hand, word by word, that our writers never produce: from older and newer peers,
// from broken ones, and from hostile ones.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinBytes } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { objectId } from '../base/ids.js'
import { MAX_SEGMENTS, MAX_TEXT_BYTES } from './limits.js'
import { decode, decodeBeginning, encodeFrame, type Message, PLAIN_TASK } from './message.js'

/** Words in hex, one segment. */
function frame(...words: readonly string[]): Buffer {
  return segments(words)
}

function segments(...parts: readonly (readonly string[])[]): Buffer {
  const header = Buffer.alloc(Math.ceil((4 + parts.length * 4) / 8) * 8)
  header.writeUInt32LE(parts.length - 1, 0)
  for (const [index, part] of parts.entries()) header.writeUInt32LE(part.length, 4 + index * 4)
  return Buffer.concat([header, ...parts.map((part) => Buffer.from(part.join(''), 'hex'))])
}

/** A word from two 32-bit numbers. */
function word(lower: number, upper = 0): string {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32LE(lower >>> 0, 0)
  bytes.writeUInt32LE(upper >>> 0, 4)
  return bytes.toString('hex')
}

function structPointer(offset: number, dataWords: number, pointers: number): string {
  return word(offset << 2, dataWords | (pointers << 16))
}

function listPointer(offset: number, elementSize: number, count: number): string {
  return word((offset << 2) | 1, (count << 3) | elementSize)
}

/** The tag of a list of structs. */
function tag(count: number, dataWords: number, pointers: number): string {
  return structPointer(count, dataWords, pointers)
}

function farPointer(segment: number, offset: number, isDouble = false): string {
  return word((offset << 3) | (isDouble ? 4 : 0) | 2, segment)
}

const NULL = word(0)
const [VOID, BIT, BYTE, TWO_BYTES, FOUR_BYTES, POINTER, STRUCT] = [0, 1, 2, 3, 4, 6, 7]
const MEMBERS = {
  task: 0,
  taskResult: 2,
  objectInstruction: 5,
  objectRequest: 6,
  objectResponse: 7,
  clientHeartbeat: 8,
  clientHeartbeatEcho: 9,
  disconnectRequest: 12,
  stateScheduler: 17,
}

/** A frame with a message of this kind, from the pointer to its struct on. */
function message(kind: keyof typeof MEMBERS, ...words: readonly string[]): Buffer {
  return frame(structPointer(0, 1, 1), word(MEMBERS[kind]), ...words)
}

function decodeAs<K extends Message['kind']>(kind: K, bytes: Buffer): Message & { kind: K } {
  const decoded = decode(bytes)
  assert.equal(decoded.kind, kind)
  return decoded as Message & { kind: K }
}

function assertRefused(bytes: Uint8Array, pattern: RegExp): void {
  assert.throws(
    () => decode(bytes),
    (error) => error instanceof ProtocolError && pattern.test(error.message),
  )
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString('latin1')
}

describe('framing', () => {
  const good = message(
    'disconnectRequest',
    structPointer(0, 0, 1),
    listPointer(0, BYTE, 2),
    word(0x6261),
  )

  test('a message is read', () => {
    assert.equal(decodeAs('disconnectRequest', good).worker, 'ab')
  })

  test('lengths that are not a positive multiple of 8 are refused', () => {
    assertRefused(new Uint8Array(0), /message of 0 bytes/)
    for (let length = 1; length < good.length; length += 1) {
      assertRefused(good.subarray(0, length), /message of \d+ bytes/)
    }
  })

  test('bytes behind the last segment are ignored', () => {
    const longer = Buffer.concat([good, Buffer.alloc(16, 0xff)])
    assert.equal(decodeAs('disconnectRequest', longer).worker, 'ab')
  })

  test('an empty first segment is refused', () => {
    assertRefused(frame(), /without a root/)
    assertRefused(segments([], [NULL]), /without a root/)
  })

  test('an incomplete segment table is refused', () => {
    const bytes = Buffer.alloc(16)
    bytes.writeUInt32LE(100, 0)
    assertRefused(bytes, /segment table/)
  })

  test('too many segments are refused, however long the message is', () => {
    const bytes = Buffer.alloc(16)
    bytes.writeUInt32LE(0xffff_ffff, 0)
    assertRefused(bytes, /4294967296 segments/)
    bytes.writeUInt32LE(MAX_SEGMENTS, 0)
    assertRefused(bytes, /too many/)
  })

  test('the maximum number of segments is read', () => {
    const parts = Array.from({ length: MAX_SEGMENTS - 1 }, (): readonly string[] => [])
    assert.equal(decode(segments([NULL], ...parts)).kind, 'task')
  })

  test('a null root is an empty task', () => {
    const task = decodeAs('task', frame(NULL))
    assert.deepEqual(
      { ...task, bytes: undefined },
      {
        kind: 'task',
        taskId: '',
        source: '',
        metadata: new Uint8Array(0),
        funcObjectId: '',
        functionArgs: [],
        ...PLAIN_TASK,
        bytes: undefined,
      },
    )
  })
})

describe('values that are unknown', () => {
  test('a kind of message is refused with its number', () => {
    const bytes = frame(structPointer(0, 1, 1), word(38), structPointer(-1, 0, 0))
    assertRefused(bytes, /^Message: unknown kind 38, known are 0 to 37$/)
  })

  test('an enumerant is refused with its field and number', () => {
    const bytes = message('taskResult', structPointer(0, 1, 0), word(9))
    assertRefused(bytes, /^TaskResult\.status: unknown value 9, known are 0 to 8$/)
  })

  test('an enumerant in a list is refused with its field and number', () => {
    const content = [structPointer(0, 0, 4), NULL, listPointer(2, TWO_BYTES, 2), NULL, NULL]
    const bytes = message(
      'objectResponse',
      structPointer(0, 1, 1),
      NULL,
      ...content,
      word(0x0005_0001),
    )
    assertRefused(bytes, /^ObjectContent\.objectTypes: unknown value 5/)
  })
})

describe('structs of other versions', () => {
  test('one that is shorter has default values', () => {
    const heartbeat = decodeAs(
      'clientHeartbeat',
      message('clientHeartbeat', structPointer(-1, 0, 0)),
    )
    assert.deepEqual(heartbeat.resource, { cpu: 0, rss: 0 })
    assert.equal(heartbeat.latencyUS, 0)
    assert.equal(heartbeat.runtime, '')
  })

  test('one that ends within a nested struct has default values there', () => {
    const bytes = message(
      'clientHeartbeat',
      structPointer(0, 0, 1),
      structPointer(0, 1, 0),
      word(7),
    )
    assert.deepEqual(decodeAs('clientHeartbeat', bytes).resource, { cpu: 7, rss: 0 })
  })

  test('a longer one is read as far as it is known', () => {
    const bytes = message(
      'disconnectRequest',
      structPointer(0, 2, 3),
      word(-1, -1),
      word(-1, -1),
      listPointer(2, BYTE, 1),
      word(3, 99),
      word(3, 99),
      word(0x78),
    )
    assert.equal(decodeAs('disconnectRequest', bytes).worker, 'x')
  })

  test('elements of a list may be longer than known', () => {
    const bytes = message(
      'task',
      structPointer(0, 0, 5),
      NULL,
      NULL,
      NULL,
      NULL,
      listPointer(0, STRUCT, 8),
      tag(2, 2, 2),
      word(1),
      word(-1, -1),
      listPointer(5, BYTE, 1),
      word(3),
      word(2),
      word(-1, -1),
      listPointer(2, BYTE, 1),
      word(3),
      word(0x61),
      word(0x62),
    )
    const args = decodeAs('task', bytes).functionArgs
    assert.deepEqual(
      args.map(({ type, data }) => [type, text(data)]),
      [
        ['objectID', 'a'],
        ['inline', 'b'],
      ],
    )
  })

  test('a list of byte strings is read where one of structs is known', () => {
    const bytes = message(
      'task',
      structPointer(0, 0, 5),
      NULL,
      NULL,
      NULL,
      NULL,
      listPointer(0, POINTER, 2),
      listPointer(1, BYTE, 1),
      NULL,
      word(0x61),
    )
    const args = decodeAs('task', bytes).functionArgs
    assert.deepEqual(
      args.map(({ type, data }) => [type, text(data)]),
      [
        ['task', 'a'],
        ['task', ''],
      ],
    )
  })

  test('a list of numbers is read where one of structs is known', () => {
    const bytes = message(
      'task',
      structPointer(0, 0, 5),
      NULL,
      NULL,
      NULL,
      NULL,
      listPointer(0, TWO_BYTES, 3),
      word(0x0001_0002, 1),
    )
    const types = decodeAs('task', bytes).functionArgs.map(({ type }) => type)
    assert.deepEqual(types, ['inline', 'objectID', 'objectID'])
  })

  test('a list of structs is read where one of byte strings is known', () => {
    const bytes = message(
      'objectRequest',
      structPointer(0, 1, 1),
      NULL,
      listPointer(0, STRUCT, 4),
      tag(2, 1, 1),
      word(-1, -1),
      listPointer(2, BYTE, 1),
      word(-1, -1),
      listPointer(1, BYTE, 1),
      word(0x61),
      word(0x62),
    )
    assert.deepEqual(decodeAs('objectRequest', bytes).objectIds, ['a', 'b'])
  })

  for (const [size, words] of [
    [TWO_BYTES, [word(0x0001_0000)]],
    [FOUR_BYTES, [word(0, 0xffff_0001)]],
  ] as const) {
    test(`enumerants are read from a list of element size ${size}`, () => {
      const bytes = message(
        'objectResponse',
        structPointer(0, 0, 1),
        structPointer(0, 0, 2),
        NULL,
        listPointer(0, size, 2),
        ...words,
      )
      const { objectTypes } = decodeAs('objectResponse', bytes).objectContent
      assert.deepEqual(objectTypes, ['serializer', 'object'])
    })
  }

  test('lists that are incompatible with the schema are refused', () => {
    const objectIds = (pointer: string): Buffer =>
      message('objectRequest', structPointer(0, 1, 1), NULL, pointer, word(0x0101))
    assertRefused(objectIds(listPointer(0, BYTE, 8)), /list of pointers/)
    assertRefused(objectIds(listPointer(0, VOID, 8)), /list of pointers/)
    assertRefused(objectIds(listPointer(0, BIT, 8)), /bits/)
    const objectTypes = (pointer: string): Buffer =>
      message('objectResponse', structPointer(0, 0, 1), structPointer(0, 0, 2), NULL, pointer, NULL)
    assertRefused(objectTypes(listPointer(0, BYTE, 8)), /list of enumerants/)
    assertRefused(objectTypes(listPointer(0, POINTER, 1)), /list of enumerants/)
  })
})

describe('pointers', () => {
  test('of the wrong kind are refused', () => {
    const worker = (pointer: string): Buffer =>
      message('disconnectRequest', structPointer(0, 0, 1), pointer, word(1))
    assertRefused(worker(structPointer(0, 1, 0)), /does not lead to bytes/)
    assertRefused(worker(listPointer(0, FOUR_BYTES, 1)), /does not lead to bytes/)
    assertRefused(worker(word(3, 0)), /does not lead to bytes/)
    assertRefused(message('task', listPointer(0, BYTE, 0)), /does not lead to a struct/)
    assertRefused(
      message('objectRequest', structPointer(0, 1, 1), NULL, structPointer(0, 1, 0)),
      /does not lead to a list/,
    )
  })

  test('beyond the segment are refused', () => {
    const worker = (offset: number, length: number): Buffer =>
      message(
        'disconnectRequest',
        structPointer(0, 0, 1),
        listPointer(offset, BYTE, length),
        word(1),
      )
    assert.equal(decodeAs('disconnectRequest', worker(0, 8)).worker.length, 8)
    assert.equal(decodeAs('disconnectRequest', worker(-4, 40)).worker.length, 40)
    assertRefused(worker(0, 9), /outside of its segment/)
    assertRefused(worker(1, 1), /outside of its segment/)
    assertRefused(worker(-5, 1), /outside of its segment/)
    assertRefused(worker(0x1fff_ffff, 8), /outside of its segment/)
    assertRefused(worker(0, 0x1fff_ffff), /outside of its segment/)
    assertRefused(message('task', structPointer(0, 0xffff, 0xffff)), /outside of its segment/)
  })

  test('to nothing may point anywhere', () => {
    const worker = (pointer: string): Buffer =>
      message('disconnectRequest', structPointer(0, 0, 1), pointer)
    assert.equal(decodeAs('disconnectRequest', worker(listPointer(9, BYTE, 0))).worker, '')
    assert.equal(decodeAs('disconnectRequest', worker(listPointer(-9, BYTE, 0))).worker, '')
    const empty = message('clientHeartbeat', structPointer(99, 0, 0))
    assert.equal(decodeAs('clientHeartbeat', empty).latencyUS, 0)
  })

  test('to lists of structs whose tag does not fit are refused', () => {
    const args = (pointer: string, first: string): Buffer =>
      message('task', structPointer(0, 0, 5), NULL, NULL, NULL, NULL, pointer, first, NULL, NULL)
    assert.equal(
      decodeAs('task', args(listPointer(0, STRUCT, 2), tag(1, 1, 1))).functionArgs.length,
      1,
    )
    assertRefused(args(listPointer(0, STRUCT, 2), tag(2, 1, 1)), /do not fit/)
    assertRefused(args(listPointer(0, STRUCT, 2), tag(0x3fff_ffff, 1, 0)), /do not fit/)
    assertRefused(args(listPointer(0, STRUCT, 2), listPointer(1, BYTE, 1)), /a list of structs/)
    assertRefused(args(listPointer(0, STRUCT, 3), tag(1, 1, 1)), /outside of its segment/)
  })

  test('to text without a zero byte are refused', () => {
    const runtime = (length: number, value: number): Buffer =>
      message(
        'clientHeartbeat',
        structPointer(0, 0, 2),
        NULL,
        listPointer(0, BYTE, length),
        word(value),
      )
    assert.equal(decodeAs('clientHeartbeat', runtime(3, 0x6261)).runtime, 'ab')
    assert.equal(decodeAs('clientHeartbeat', runtime(1, 0)).runtime, '')
    assert.equal(decodeAs('clientHeartbeat', runtime(0, 0)).runtime, '')
    assertRefused(runtime(2, 0x6261), /zero byte/)
  })
})

describe('far pointers', () => {
  const root = [structPointer(0, 1, 1), word(MEMBERS.disconnectRequest)]
  const bytes = word(0x636261)

  function worker(...parts: readonly (readonly string[])[]): string {
    return decodeAs('disconnectRequest', segments(...parts)).worker
  }

  test('lead to a landing pad in another segment', () => {
    const pad = [structPointer(0, 0, 1), listPointer(0, BYTE, 3), bytes]
    assert.equal(worker([...root, farPointer(1, 0)], pad), 'abc')
    assert.equal(worker([...root, farPointer(2, 1)], [], [NULL, ...pad]), 'abc')
  })

  test('lead to a landing pad in the same segment', () => {
    const rest = [structPointer(0, 0, 1), listPointer(0, BYTE, 3), bytes]
    assert.equal(worker([...root, farPointer(0, 3), ...rest]), 'abc')
  })

  test('may be the root', () => {
    assert.equal(
      worker([farPointer(1, 0)], [...root, structPointer(0, 0, 1), listPointer(0, BYTE, 3), bytes]),
      'abc',
    )
  })

  test('lead back to the first segment', () => {
    const first = [...root, farPointer(1, 0), listPointer(0, BYTE, 3), bytes]
    assert.equal(worker(first, [structPointer(0, 0, 1), farPointer(0, 3)]), 'abc')
  })

  test('lead to another segment by a double landing pad', () => {
    const pad = [farPointer(2, 1), structPointer(0, 0, 1)]
    const content = [NULL, listPointer(0, BYTE, 3), bytes]
    assert.equal(worker([...root, farPointer(1, 0, true)], pad, content), 'abc')
  })

  test('lead to lists by a double landing pad', () => {
    const parts = [
      [...root, structPointer(0, 0, 1), farPointer(1, 0, true)],
      [farPointer(2, 0), listPointer(0, BYTE, 3)],
      [bytes],
    ]
    assert.equal(worker(...parts), 'abc')
  })

  test('to a null landing pad are structs of defaults', () => {
    assert.equal(worker([...root, farPointer(1, 0)], [NULL]), '')
  })

  test('to nonexistent targets are refused', () => {
    assertRefused(segments([...root, farPointer(1, 0)]), /segment 1 of 1/)
    assertRefused(segments([...root, farPointer(2, 0)], [NULL]), /segment 2 of 2/)
    assertRefused(segments([...root, farPointer(-1, 0)], [NULL]), /segment 4294967295 of 2/)
    assertRefused(segments([...root, farPointer(1, 1)], [NULL]), /beyond its end/)
    assertRefused(segments([...root, farPointer(1, 0, true)], [farPointer(0, 0)]), /beyond its end/)
    assertRefused(
      segments([...root, farPointer(1, 0, true)], [farPointer(0, 4), structPointer(0, 0, 0)]),
      /beyond its end/,
    )
  })

  test('to broken landing pads are refused', () => {
    assertRefused(segments([...root, farPointer(1, 0)], [farPointer(1, 0)]), /a landing pad/)
    assertRefused(segments([...root, farPointer(1, 0, true)], [NULL, NULL]), /a far pointer/)
    const double = farPointer(1, 0, true)
    assertRefused(segments([...root, double], [double, NULL]), /a far pointer/)
    assertRefused(
      segments([...root, double], [farPointer(0, 0), structPointer(1, 0, 0)]),
      /without an offset/,
    )
    assertRefused(segments([...root, double], [farPointer(0, 0), farPointer(0, 0)]), /landing pad/)
  })

  test('do not carry pointers across the end of a segment', () => {
    const parts = [
      [...root, farPointer(1, 0)],
      [structPointer(0, 0, 1), listPointer(0, BYTE, 3)],
      [bytes],
    ]
    assertRefused(segments(...parts), /outside of its segment/)
  })
})

describe('numbers', () => {
  function echo(lower: number, upper: number): number {
    const bytes = message('clientHeartbeatEcho', structPointer(0, 1, 0), word(lower, upper))
    return decodeAs('clientHeartbeatEcho', bytes).features
  }

  function rssFree(lower: number, upper: number): number {
    const bytes = message('stateScheduler', structPointer(0, 1, 0), word(lower, upper))
    return decodeAs('stateScheduler', bytes).rssFree
  }

  function capability(lower: number, upper: number): number | undefined {
    const bytes = message(
      'task',
      structPointer(0, 0, 6),
      NULL,
      NULL,
      NULL,
      NULL,
      NULL,
      listPointer(0, STRUCT, 1),
      tag(1, 1, 0),
      word(lower, upper),
    )
    return decodeAs('task', bytes).capabilities[0]?.value
  }

  test('of 64 bits are exact up to 2^53-1 and clamped above', () => {
    assert.equal(rssFree(5, 0), 5)
    assert.equal(rssFree(0xffff_ffff, 0x1f_ffff), Number.MAX_SAFE_INTEGER)
    assert.equal(rssFree(0, 0x20_0000), Number.MAX_SAFE_INTEGER)
    assert.equal(rssFree(0xffff_ffff, 0xffff_ffff), Number.MAX_SAFE_INTEGER)
  })

  test('with a sign are clamped on both sides', () => {
    assert.equal(capability(0xffff_ffff, 0xffff_ffff), -1)
    assert.equal(capability(7, 0), 7)
    assert.equal(capability(0, 0x8000_0000), -Number.MAX_SAFE_INTEGER)
    assert.equal(capability(0xffff_ffff, 0x7fff_ffff), Number.MAX_SAFE_INTEGER)
    assert.equal(capability(1, 0xffe0_0000), -Number.MAX_SAFE_INTEGER)
  })

  test('that are bit sets lose what is above bit 52, and nothing below', () => {
    assert.equal(echo(1, 0), 1)
    assert.equal(echo(1, 0x8000_0000), 1)
    assert.equal(echo(0xffff_ffff, 0xffff_ffff), Number.MAX_SAFE_INTEGER)
  })
})

describe('limits', () => {
  function args(pointer: string, ...words: readonly string[]): Buffer {
    return message('task', structPointer(0, 0, 5), NULL, NULL, NULL, NULL, pointer, ...words)
  }

  test('lists of elements without content are refused beyond a small number', () => {
    assertRefused(args(listPointer(0, STRUCT, 0), tag(0x1fff_ffff, 0, 0)), /too often/)
    assertRefused(args(listPointer(0, STRUCT, 0), tag(0x3fff_ffff, 0, 0)), /too often/)
    assertRefused(args(listPointer(0, VOID, 0x1fff_ffff)), /too often/)
    assert.equal(
      decodeAs('task', args(listPointer(0, STRUCT, 0), tag(100, 0, 0))).functionArgs.length,
      100,
    )
    assert.equal(decodeAs('task', args(listPointer(0, VOID, 100))).functionArgs.length, 100)
  })

  test('lists of lists that all lead to the same list are refused', () => {
    const count = 1000
    const outer = Array.from({ length: count }, (_, index) => {
      return listPointer(count - index - 1, POINTER, count)
    })
    const inner = Array.from({ length: count }, () => NULL)
    const content = [structPointer(0, 0, 4), NULL, NULL, NULL, listPointer(0, POINTER, count)]
    const bytes = message('objectResponse', structPointer(0, 0, 1), ...content, ...outer, ...inner)
    assertRefused(bytes, /too often/)
  })

  test('byte strings that are all the same one are refused', () => {
    const count = 1000
    const outer = Array.from({ length: count }, (_, index) => {
      return listPointer(count - index - 1, POINTER, count)
    })
    const inner = Array.from({ length: count }, (_, index) =>
      listPointer(count - index - 1, BYTE, 1),
    )
    const content = [structPointer(0, 0, 4), NULL, NULL, NULL, listPointer(0, POINTER, count)]
    const words = [...content, ...outer, ...inner, word(1)]
    assertRefused(message('objectResponse', structPointer(0, 0, 1), ...words), /too often/)
  })

  test('a byte string may be shared by a few pointers', () => {
    const ids = Array.from({ length: 4 }, (_, index) => listPointer(3 - index, BYTE, 2))
    const bytes = message(
      'objectRequest',
      structPointer(0, 0, 1),
      listPointer(0, POINTER, 4),
      ...ids,
      word(0x6261),
    )
    assert.deepEqual(decodeAs('objectRequest', bytes).objectIds, ['ab', 'ab', 'ab', 'ab'])
  })

  test('an id that is too long is refused', () => {
    const length = MAX_TEXT_BYTES + 8
    const head = message('disconnectRequest', structPointer(0, 0, 1), listPointer(0, BYTE, length))
    const bytes = Buffer.concat([head, Buffer.alloc(length)])
    bytes.writeUInt32LE(bytes.length / 8 - 1, 4)
    assertRefused(bytes, /longer than/)
  })
})

describe('of the beginning of a message', () => {
  const ids = ['o', 'p'].map((id) => objectId(id))
  const response: Message = {
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: ids,
      objectTypes: ['object', 'object'],
      objectNames: [Buffer.from('n'), Buffer.from('m')],
      objectBytes: [[Buffer.alloc(20_000, 1)], [Buffer.alloc(20_000, 2)]],
    },
  }
  // Long byte strings are behind everything else.
  const bytes = joinBytes(encodeFrame(response) as readonly Uint8Array[])

  test('byte strings are cut', () => {
    for (const [missing, sizes] of [
      [0, [20_000, 20_000]],
      [10, [20_000, 19_990]],
      [20_100, [19_900, 0]],
    ] as const) {
      const beginning = bytes.subarray(0, bytes.length - missing)
      const message = decodeBeginning(beginning, missing)
      assert(message.kind === 'objectResponse')
      const { objectIds, objectBytes } = message.objectContent
      assert.deepEqual(objectIds, ids)
      assert.deepEqual(
        objectBytes.map(([chunk]) => chunk?.byteLength),
        sizes,
      )
    }
  })

  test('nothing else is read from what is missing', () => {
    for (let missing = 39_000; missing < bytes.length; missing += 1) {
      try {
        decodeBeginning(bytes.subarray(0, bytes.length - missing), missing)
      } catch (error) {
        assert(error instanceof ProtocolError || error instanceof RangeError, String(error))
      }
    }
    const missing = bytes.length - 16
    assert.throws(() => decodeBeginning(bytes.subarray(0, 16), missing), ProtocolError)
  })

  test('the size must be that of the segments', () => {
    const beginning = bytes.subarray(0, bytes.length - 80)
    assert.throws(() => decodeBeginning(beginning, 72), ProtocolError)
  })
})

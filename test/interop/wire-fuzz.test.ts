// Valid messages, damaged at random: reading them ends with a message or a ProtocolError.
// TEST_FUZZ_RUNS sets the number, TEST_SEED repeats a run.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ProtocolError } from '#src/base/errors.js'
import { decode, encode, type Message } from '#src/wire/message.js'
import { comparable } from './comparable.js'
import { GOLDEN_MESSAGES, goldenTwoSegments } from './golden-messages.js'
import { anyMessage } from './message-arbitrary.js'

const SEED = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const RUNS = Number(process.env['TEST_FUZZ_RUNS'] ?? 200_000)
const SOURCES = 300

/** Numbers from a seed (xorshift): the same on every machine. */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed === 0 ? 1 : seed | 0
  }

  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number {
    let state = this.#state
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.#state = state
    return (state >>> 0) % limit
  }

  uint32(): number {
    return this.below(2 ** 32)
  }
}

type Damage = (bytes: Buffer, random: Random) => Buffer

function wordAt(bytes: Buffer, random: Random): number {
  return random.below(bytes.length / 8) * 8
}

/** Small numbers around interesting ones. */
function number(random: Random): number {
  const base = [0, 1, 2, 7, 8, 0xff, 0x7fff_ffff, 0x8000_0000, 0x1fff_ffff, 0xffff_ffff]
  return ((base[random.below(base.length)] as number) + random.below(5) - 2) >>> 0
}

const DAMAGES: readonly Damage[] = [
  function flipBit(bytes, random) {
    const at = random.below(bytes.length)
    bytes[at] = (bytes[at] as number) ^ (1 << random.below(8))
    return bytes
  },
  function setByte(bytes, random) {
    bytes[random.below(bytes.length)] = random.below(256)
    return bytes
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, random.below(bytes.length + 1))
  },
  function truncateWords(bytes, random) {
    return bytes.subarray(0, random.below(bytes.length / 8 + 1) * 8)
  },
  function swapWords(bytes, random) {
    const a = wordAt(bytes, random)
    const b = wordAt(bytes, random)
    const word = Buffer.from(bytes.subarray(a, a + 8))
    bytes.copyWithin(a, b, b + 8)
    bytes.set(word, b)
    return bytes
  },
  function copyWord(bytes, random) {
    const from = wordAt(bytes, random)
    bytes.copyWithin(wordAt(bytes, random), from, from + 8)
    return bytes
  },
  function setNumber(bytes, random) {
    bytes.writeUInt32LE(number(random), random.below(bytes.length / 4) * 4)
    return bytes
  },
  function moveTarget(bytes, random) {
    const at = wordAt(bytes, random)
    const offset = random.below(64) - 32
    bytes.writeInt32LE((bytes.readInt32LE(at) + (offset << 2)) | 0, at)
    return bytes
  },
  function setPointer(bytes, random) {
    const at = wordAt(bytes, random)
    const offset = random.below(bytes.length / 4) - bytes.length / 8
    bytes.writeInt32LE((offset << 2) | random.below(4), at)
    bytes.writeUInt32LE((random.below(64) << 3) | random.below(8), at + 4)
    return bytes
  },
  function setFarPointer(bytes, random) {
    const at = wordAt(bytes, random)
    bytes.writeUInt32LE((random.below(bytes.length / 8) << 3) | 2 | (random.below(2) << 2), at)
    bytes.writeUInt32LE(random.below(3), at + 4)
    return bytes
  },
  function setTag(bytes, random) {
    const at = wordAt(bytes, random)
    bytes.writeUInt32LE(random.below(2) === 0 ? random.below(64) << 2 : number(random), at)
    bytes.writeUInt32LE(random.below(4) | (random.below(4) << 16), at + 4)
    return bytes
  },
  function setSegments(bytes, random) {
    bytes.writeUInt32LE(random.below(4) === 0 ? number(random) : random.below(4), 0)
    bytes.writeUInt32LE(random.below(bytes.length / 8 + 2), 4)
    return bytes
  },
  function splitSegment(bytes, random) {
    const words = bytes.length / 8 - 1
    const first = random.below(words + 1)
    const head = Buffer.alloc(16)
    head.writeUInt32LE(1, 0)
    head.writeUInt32LE(first, 4)
    head.writeUInt32LE(words - first, 8)
    return Buffer.concat([head, bytes.subarray(8)])
  },
  function setRandomly(bytes, random) {
    const from = wordAt(bytes, random)
    const end = Math.min(bytes.length, from + 8 * (1 + random.below(4)))
    for (let at = from; at < end; at += 4) bytes.writeUInt32LE(random.uint32(), at)
    return bytes
  },
]

function damaged(source: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(source)
  for (let count = 1 + random.below(4); count > 0 && bytes.length >= 8; count -= 1) {
    if (bytes.length % 8 !== 0) break
    bytes = (DAMAGES[random.below(DAMAGES.length)] as Damage)(bytes, random) as typeof bytes
  }
  return bytes
}

function sources(): readonly Buffer[] {
  const messages = fc.sample(anyMessage, { seed: SEED, numRuns: SOURCES })
  const golden = GOLDEN_MESSAGES.map(({ bytes }) => bytes)
  const all = [...golden, ...messages.map((message) => Buffer.from(encode(message)))]
  return all.filter((bytes) => bytes.length <= 4096)
}

/** The message in the bytes; undefined if they are refused with the right error. */
function read(bytes: Uint8Array): Message | undefined {
  try {
    return decode(bytes)
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

describe('damaged messages', () => {
  test('are read or refused', () => {
    const random = new Random(SEED)
    const all = sources()
    let readable = 0
    for (let run = 0; run < RUNS; run += 1) {
      const bytes = damaged(all[random.below(all.length)] as Buffer, random)
      try {
        const message = read(bytes)
        if (message === undefined) continue
        readable += 1
        // A message that was read can be written, and is the same again.
        if (run % 16 === 0) checkRewritten(message)
      } catch (error) {
        const text = `run ${run} of TEST_SEED=${SEED}: ${bytes.toString('hex')}`
        throw new Error(text, { cause: error })
      }
    }
    assert.ok(readable > RUNS / 20, `only ${readable} of ${RUNS} damaged messages can be read`)
    assert.ok(
      readable < RUNS * 0.95,
      `as many as ${readable} of ${RUNS} damaged messages can be read`,
    )
  })

  test('that are cut off at any byte are refused', () => {
    for (const { name, bytes } of [...GOLDEN_MESSAGES, goldenTwoSegments()]) {
      const step = bytes.length > 1000 ? 7 : 1
      for (let length = 0; length < bytes.length; length += step) {
        assert.equal(read(bytes.subarray(0, length)), undefined, `${name}: ${length} bytes`)
      }
    }
  })

  test('with any bit flipped are read or refused', () => {
    for (const { bytes } of GOLDEN_MESSAGES) {
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const copy = Buffer.from(bytes)
        copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
        read(copy)
      }
    }
  })
})

function checkRewritten(message: Message): void {
  const again = decode(encode({ ...message, bytes: undefined }))
  assert.deepEqual(comparable(again), comparable(message))
}

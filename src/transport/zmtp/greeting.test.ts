import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtocolError } from '../../base/errors.js'
import { encodeGreeting, GREETING_BYTES, GreetingReader, HandshakeError } from './session.js'

/** Our greeting with some bytes replaced. */
function greetingWith(changes: Readonly<Record<number, number>>): Buffer {
  const greeting = encodeGreeting()
  for (const [offset, byte] of Object.entries(changes)) greeting[Number(offset)] = byte
  return greeting
}

test('the greeting is that of ZMTP 3.1 with NULL', () => {
  const expected = `ff00000000000000017f03014e554c4c${'00'.repeat(48)}`
  assert.equal(encodeGreeting().toString('hex'), expected)
})

test('a greeting is read one byte at a time, and no further', () => {
  const reader = new GreetingReader()
  for (const byte of encodeGreeting()) {
    assert.equal(reader.isComplete, false)
    assert.equal(reader.feed(Buffer.from([byte]), 0), 1)
  }
  assert.equal(reader.isComplete, true)
  assert.equal(reader.minor, 1)
  assert.equal(reader.feed(Buffer.from('rest'), 0), 0)
})

test('what follows a greeting in the same chunk is left alone', () => {
  const reader = new GreetingReader()
  const chunk = Buffer.concat([Buffer.from('xy'), encodeGreeting(), Buffer.from('rest')])
  assert.equal(reader.feed(chunk, 2), 2 + GREETING_BYTES)
  assert.equal(reader.isComplete, true)
})

const accepted: readonly (readonly [
  name: string,
  changes: Record<number, number>,
  minor: 0 | 1,
])[] = [
  ['3.0', { 11: 0 }, 0],
  ['3.1', { 11: 1 }, 1],
  ['3.7', { 11: 7 }, 1],
  ['4.0', { 10: 4, 11: 0 }, 1],
  ['3.1 with any padding of the signature and the filler', { 1: 9, 8: 255, 40: 1, 63: 7 }, 1],
  ['3.1 as a server, which NULL does not have', { 32: 1 }, 1],
]

for (const [name, changes, minor] of accepted) {
  test(`a peer of version ${name} is accepted, and spoken to as 3.${minor}`, () => {
    const reader = new GreetingReader()
    reader.feed(greetingWith(changes), 0)
    assert.equal(reader.isComplete, true)
    assert.equal(reader.minor, minor)
  })
}

const refused: readonly (readonly [name: string, bytes: Buffer, why: RegExp])[] = [
  ['a wrong first byte, immediately', Buffer.from('G'), /wrong signature/],
  ['a wrong end of the signature', greetingWith({ 9: 0x7e }), /wrong signature/],
  ['version 1', greetingWith({ 10: 0 }), /speaks ZMTP 0/],
  ['version 2', greetingWith({ 10: 1 }).subarray(0, 11), /speaks ZMTP 1; 3.0 or later is required/],
  ['mechanism PLAIN', plain(), /mechanism "PLAIN"; only NULL/],
  ['mechanism NULL with a tail', greetingWith({ 16: 0x58 }), /mechanism "NULLX"/],
  ['no mechanism', greetingWith({ 12: 0, 13: 0, 14: 0, 15: 0 }), /mechanism ""/],
]

function plain(): Buffer {
  const greeting = encodeGreeting()
  greeting.write('PLAIN', 12)
  return greeting.subarray(0, 32)
}

for (const [name, bytes, why] of refused) {
  test(`refused: ${name}`, () => {
    const whole = new GreetingReader()
    assert.throws(
      () => whole.feed(bytes, 0),
      (error: unknown) => error instanceof ProtocolError && why.test(error.message),
    )
    const slow = new GreetingReader()
    assert.throws(() => {
      for (const byte of bytes) slow.feed(Buffer.from([byte]), 0)
    }, why)
  })
}

/** The error with which the reader refuses some bytes. */
function faultOf(bytes: Buffer): HandshakeError {
  try {
    new GreetingReader().feed(bytes, 0)
  } catch (error) {
    if (error instanceof HandshakeError) return error
  }
  return assert.fail('it was accepted')
}

const STRANGERS: readonly (readonly [string | Buffer, string])[] = [
  ['HTTP/1.1 400 Bad Request\r\nConnection: close', '"HTTP/1.1 400 Bad Request"'],
  ['SSH-2.0-OpenSSH_9.2\r\n', '"SSH-2.0-OpenSSH_9.2"'],
  [Buffer.from('15030100020228', 'hex'), 'the bytes 15 03 01 00 02 02 28 (TLS)'],
  [Buffer.from('4a0000000a382e30', 'hex'), 'the bytes 4a 00 00 00 0a 38 2e 30'],
  ['hi', '"hi"'],
  ['\n', 'the bytes 0a'],
  ['HTTP/1.1 '.padEnd(9_000, 'x'), `"${'HTTP/1.1 '.padEnd(40, 'x')}…"`],
  [Buffer.alloc(9_000, 7), `the bytes ${'07 '.repeat(16)}…`],
]

for (const [bytes, excerpt] of STRANGERS) {
  test(`what is not ZMTP is quoted: ${excerpt}`, () => {
    const fault = faultOf(Buffer.from(bytes))
    assert.deepEqual([fault.kind, fault.excerpt], ['notZmtp', excerpt])
  })
}

test('an excerpt has no control characters', () => {
  for (let first = 0; first < 255; first++) {
    assert.match(faultOf(Buffer.from([first, 27, 91, 50, 74])).excerpt, /^[\x20-\x7e…]*$/)
  }
})

test('a version and a mechanism that do not fit are faults of their own', () => {
  assert.equal(faultOf(greetingWith({ 10: 1 })).kind, 'incompatible')
  assert.equal(faultOf(plain()).kind, 'incompatible')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtocolError } from '../../base/errors.js'
import {
  encodeError,
  encodePing,
  encodePong,
  encodeReady,
  encodeSubscription,
  parseCommand,
  type Command,
} from './commands.js'

const hex = (bytes: Buffer): string => bytes.toString('hex')
/** The body of a command frame with a short header. */
const bodyOf = (frame: Buffer): Buffer => frame.subarray(2)

test('READY is encoded as in libzmq', () => {
  const frame = encodeReady({ 'Socket-Type': 'DEALER', Identity: 'ab' })
  const expected =
    '042b' +
    '055245414459' +
    '0b536f636b65742d54797065000000064445414c4552' +
    '084964656e74697479000000026162'
  assert.equal(hex(frame), expected)
})

test('SUBSCRIBE and CANCEL are commands with a 3.1 peer, messages with a 3.0 one', () => {
  assert.equal(hex(encodeSubscription(true, '', 1)), '040a09535542534352494245')
  assert.equal(hex(encodeSubscription(false, 'a', 1)), '04080643414e43454c61')
  assert.equal(hex(encodeSubscription(true, '', 0)), '000101')
  assert.equal(hex(encodeSubscription(false, 'aÿ', 0)), '00030061ff')
})

test('long commands have a long header', () => {
  const frame = encodeSubscription(true, 'x'.repeat(300), 1)
  assert.equal(hex(frame.subarray(0, 9)), '060000000000000136')
  assert.equal(frame.length, 9 + 310)
})

test('PING, PONG and ERROR are encoded', () => {
  assert.equal(hex(encodePing(1250)), '0407' + '0450494e47' + '000d')
  assert.equal(hex(encodePing(1e9)), '0407' + '0450494e47' + 'ffff')
  assert.equal(hex(encodePong(Buffer.from('ctx'))), '0408' + '04504f4e47' + '637478')
  assert.equal(hex(encodeError('no')), '0409' + '054552524f52' + '026e6f')
  assert.equal(encodeError('x'.repeat(300)).length, 9 + 6 + 1 + 255)
})

const parsed: readonly (readonly [name: string, body: Buffer, command: Command])[] = [
  [
    'READY, with names in any case and unknown ones',
    bodyOf(encodeReady({ 'SOCKET-type': 'PUB', 'X-a': '' })),
    {
      kind: 'ready',
      properties: new Map([
        ['socket-type', 'PUB'],
        ['x-a', ''],
      ]),
    },
  ],
  ['READY without properties', bodyOf(encodeReady({})), { kind: 'ready', properties: new Map() }],
  ['ERROR', bodyOf(encodeError('why')), { kind: 'error', reason: 'why' }],
  [
    'ERROR with what would break a log line',
    bodyOf(encodeError('a\r\n\u001b[2Jb')),
    { kind: 'error', reason: 'a [2Jb' },
  ],
  ['PING', bodyOf(encodePing(700)), { kind: 'ping', ttlMs: 700, context: Buffer.alloc(0) }],
  [
    'PING with a context',
    Buffer.from('\x04PING\x00\x01context', 'latin1'),
    { kind: 'ping', ttlMs: 100, context: Buffer.from('context') },
  ],
  ['PONG', bodyOf(encodePong(Buffer.from('x'))), { kind: 'pong' }],
  ['SUBSCRIBE', bodyOf(encodeSubscription(true, 'ÿ', 1)), { kind: 'subscribe', prefix: 'ÿ' }],
  ['CANCEL', bodyOf(encodeSubscription(false, '', 1)), { kind: 'cancel', prefix: '' }],
  ['an unknown command', Buffer.from('\x03ABCxyz'), { kind: 'unknown', name: 'ABC' }],
]

for (const [name, body, command] of parsed) {
  test(`${name} is parsed`, () => assert.deepEqual(parseCommand(body), command))
}

const malformed: readonly (readonly [name: string, body: Buffer])[] = [
  ['an empty command', Buffer.alloc(0)],
  ['a command without a name', Buffer.from([0, 1])],
  ['a name that is cut off', Buffer.from('\x05READ')],
  ['READY with a cut property name', Buffer.from('\x05READY\x04ab')],
  ['READY with an empty property name', Buffer.from('\x05READY\x00\x00\x00\x00\x00', 'latin1')],
  ['READY with a cut value length', Buffer.from('\x05READY\x01a\x00\x00', 'latin1')],
  ['READY with a cut value', Buffer.from('\x05READY\x01a\x00\x00\x00\x02x', 'latin1')],
  ['READY with an enormous value length', Buffer.from('\x05READY\x01a\xff\xff\xff\xffx', 'latin1')],
  ['PING without a time to live', Buffer.from('\x04PING\x00', 'latin1')],
  ['PING with a context of 17 bytes', Buffer.from(`\x04PING\x00\x00${'c'.repeat(17)}`, 'latin1')],
  ['ERROR without a reason', Buffer.from('\x05ERROR')],
  ['ERROR with a cut reason', Buffer.from('\x05ERROR\x05abc')],
]

for (const [name, body] of malformed) {
  test(`refused: ${name}`, () => assert.throws(() => parseCommand(body), ProtocolError))
}

test('the error names the command that is malformed, if it has a name', () => {
  const messages = [Buffer.from([0]), Buffer.from('\x05ERROR')].map((body) => {
    try {
      return parseCommand(body)
    } catch (error) {
      return (error as Error).message
    }
  })
  assert.deepEqual(messages, ['malformed command', 'malformed ERROR command'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guessProtocol } from './inquiry.js'

const KNOWN: readonly (readonly [string | Buffer, string | undefined, string])[] = [
  ['HTTP/1.1 400 Bad Request\r\nConnection: close', 'HTTP', '"HTTP/1.1 400 Bad Request"'],
  ['SSH-2.0-OpenSSH_9.2\r\n', 'SSH', '"SSH-2.0-OpenSSH_9.2"'],
  ["-ERR unknown command '\r\n", 'Redis or a mail server', `"-ERR unknown command '"`],
  ['220 mail.example ESMTP\r\n', 'a mail or file server', '"220 mail.example ESMTP"'],
  [Buffer.from('15030100020228', 'hex'), 'TLS', 'the bytes 15 03 01 00 02 02 28'],
  [Buffer.from('4a0000000a382e30', 'hex'), 'MySQL', 'the bytes 4a 00 00 00 0a 38 2e 30'],
  ['hi', undefined, '"hi"'],
  ['\n', undefined, 'the bytes 0a'],
]

for (const [bytes, protocol, excerpt] of KNOWN) {
  test(`${JSON.stringify(bytes)} may be ${protocol ?? 'anything'}`, () => {
    assert.deepEqual(guessProtocol(Buffer.from(bytes)), { protocol, excerpt })
  })
}

test('what is shown of it is short and has no control characters', () => {
  const long = guessProtocol(Buffer.from('HTTP/1.1 '.padEnd(9_000, 'x')))
  assert.equal(long.excerpt, `"${'HTTP/1.1 '.padEnd(40, 'x')}…"`)
  const binary = guessProtocol(Buffer.alloc(9_000, 7))
  assert.equal(binary.excerpt, `the bytes ${'07 '.repeat(16)}…`)
  for (let first = 0; first < 256; first++) {
    const { excerpt } = guessProtocol(Buffer.from([first, 27, 91, 50, 74]))
    assert.match(excerpt, /^[\x20-\x7e…]*$/)
  }
})

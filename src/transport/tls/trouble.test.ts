import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PeerCertificate } from 'node:tls'
import { certificateTrouble, nameTrouble, tlsTrouble } from './trouble.js'

function opensslError(code: string, text: string): Error {
  const place = '../deps/openssl/openssl/ssl/record/rec_layer_s3.c:1601'
  const message = `write EPROTO 80:error:0A00042E:SSL routines:ssl3_read_bytes:${text}:${place}\n`
  return Object.assign(new Error(message), { code })
}

const ERRORS: readonly (readonly [code: string, text: string, reason: string])[] = [
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number', 'the peer does not speak TLS'],
  ['ERR_SSL_HTTP_REQUEST', 'http request', 'the peer does not speak TLS'],
  ['EPROTO', 'tlsv1 alert protocol version', 'no common version of TLS (1.2 or later)'],
  ['EPROTO', 'tlsv1 alert unknown ca', 'the peer does not know the CA of our certificate'],
  [
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'tlsv13 alert certificate required',
    'the peer requires a certificate',
  ],
  ['X', 'sslv3 alert bad certificate', 'the peer refused our certificate'],
  ['X', 'sslv3 alert certificate expired', 'the peer says that our certificate has expired'],
  ['X', 'something new', 'TLS failed: something new'],
]

for (const [code, text, reason] of ERRORS) {
  test(`${text}: ${reason}`, () => {
    assert.equal(tlsTrouble(opensslError(code, text)), reason)
  })
}

test('errors of the connection are not errors of TLS', () => {
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  assert.equal(tlsTrouble(reset), undefined)
  assert.equal(tlsTrouble(new Error('no code')), undefined)
})

test('certificates say whatever they like, in one short line', () => {
  const subject = { CN: `a\n"${'b'.repeat(1_000)}` }
  const peer = { subject, subjectaltname: 'DNS:a.test, IP Address:10.0.0.1' } as PeerCertificate
  const text = certificateTrouble('CERT_HAS_EXPIRED', peer)
  assert.match(text, /^the certificate of "a\\n\\"b+" has expired$/)
  assert.ok(text.length < 120)
  assert.equal(
    certificateTrouble('SOMETHING_NEW'),
    'the certificate of the peer is refused (SOMETHING_NEW)',
  )
  assert.equal(
    nameTrouble('b.test', peer),
    'the certificate of the peer is not for b.test; it is for a.test, 10.0.0.1',
  )
  assert.equal(
    nameTrouble('b.test', { subject: { CN: 'x\u001b]0;\u202e\n' } } as PeerCertificate),
    'the certificate of the peer is not for b.test; it is for "x\\u001b]0;?\\n"',
  )
})

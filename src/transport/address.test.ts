import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { formatAddress, parseAddress, parseConnectAddress, type Address } from './address.js'

const good: readonly (readonly [text: string, address: Address])[] = [
  ['tcp://127.0.0.1:8516', { kind: 'tcp', host: '127.0.0.1', port: 8516 }],
  ['tcp://localhost:0', { kind: 'tcp', host: 'localhost', port: 0 }],
  [
    'tcp://node-1.cluster_a.example:65535',
    { kind: 'tcp', host: 'node-1.cluster_a.example', port: 65535 },
  ],
  ['tcp://example.:1', { kind: 'tcp', host: 'example.', port: 1 }],
  ['tls://a.example:8516', { kind: 'tcp', host: 'a.example', port: 8516, isSecure: true }],
  ['tls://[::1]:0', { kind: 'tcp', host: '::1', port: 0, isSecure: true }],
  ['tcp://*:8516', { kind: 'tcp', host: '*', port: 8516 }],
  ['tcp://[::1]:0', { kind: 'tcp', host: '::1', port: 0 }],
  ['tcp://[fe80::1%eth0]:12', { kind: 'tcp', host: 'fe80::1%eth0', port: 12 }],
  ['ipc:///tmp/some socket:1', { kind: 'ipc', path: '/tmp/some socket:1' }],
  ['ipc://relative/path', { kind: 'ipc', path: 'relative/path' }],
]

for (const [text, address] of good) {
  test(`${text} is parsed and formatted unchanged`, () => {
    assert.deepEqual(parseAddress(text), address)
    assert.equal(formatAddress(address), text)
  })
}

test('the scheme may be upper case, and the port * is 0', () => {
  assert.deepEqual(parseAddress('TCP://127.0.0.1:*'), { kind: 'tcp', host: '127.0.0.1', port: 0 })
})

const bad: readonly (readonly [text: string, why: RegExp])[] = [
  ['', /expected tcp:\/\/host:port, tls/],
  ['127.0.0.1:8516', /expected tcp:\/\/host:port, tls/],
  ['localhost', /expected tcp:\/\/host:port, tls/],
  ['tcp:/127.0.0.1:8516', /expected tcp:\/\/host:port, tls/],
  [' tcp://127.0.0.1:8516', /expected tcp:\/\/host:port, tls/],
  ['http://127.0.0.1:80', /http:\/\/ is not supported/],
  ['inproc://x', /inproc:\/\/ is not supported/],
  ['tcp://', /expected tcp:\/\/host:port/],
  ['tcp://127.0.0.1', /expected tcp:\/\/host:port/],
  ['tcp://:80', /the host is missing/],
  ['tcp://host:', /the port must be a number/],
  ['tcp://host:http', /the port must be a number/],
  ['tcp://host:-1', /the port must be a number/],
  ['tcp://host:1.5', /the port must be a number/],
  ['tcp://host:65536', /the port must be a number from 0 to 65535, got "65536"/],
  ['tcp://host:80/', /the port must be a number/],
  ['tcp://host:80 ', /the port must be a number/],
  ['tcp://host:80\n', /the port must be a number/],
  ['tcp://::1:80', /write an IPv6 address in brackets/],
  ['tcp://::1', /write an IPv6 address in brackets/],
  ['tcp://[::1]', /expected tcp:\/\/host:port/],
  ['tcp://[]:80', /\[\] is not an IPv6 address/],
  ['tcp://[127.0.0.1]:80', /is not an IPv6 address/],
  ['tcp://[::1]x:80', /expected tcp:\/\/host:port/],
  ['tcp://a:b:80', /expected tcp:\/\/host:port/],
  ['tcp://256.0.0.1:80', /256.0.0.1 is not an IPv4 address/],
  ['tcp://1.2.3:80', /1.2.3 is not an IPv4 address/],
  ['tcp://ho st:80', /"ho st" is not a host name/],
  ['tcp://-host:80', /is not a host name/],
  ['tcp://a..b:80', /is not a host name/],
  ['tcp://user@host:80', /is not a host name/],
  [`tcp://${'a'.repeat(254)}:80`, /is not a host name/],
  ['ipc://', /expected the path of a socket file/],
  ['ipc://*', /expected the path of a socket file/],
  ['ipc:///tmp/a\0b', /NUL/],
  [`ipc:///${'a'.repeat(120)}`, /the path has 121 bytes/],
]

for (const [text, why] of bad) {
  test(`${JSON.stringify(text)} is refused with a ConfigError that says why`, () => {
    assert.throws(
      () => parseAddress(text),
      (error: unknown) => {
        assert(error instanceof ConfigError)
        assert.equal(error.code, 'ERR_SCALER_CONFIG')
        assert.match(error.message, why)
        assert(error.message.includes(JSON.stringify(text)), error.message)
        return true
      },
    )
  })
}

test('a value that is not a string is refused', () => {
  assert.throws(() => parseAddress(undefined as unknown as string), ConfigError)
})

test('connecting to all hosts or to port 0 is refused', () => {
  assert.throws(() => parseConnectAddress('tcp://*:80'), /only for listening/)
  assert.throws(() => parseConnectAddress('tcp://host:0'), /only for listening/)
  assert.deepEqual(parseConnectAddress('tcp://host:1'), { kind: 'tcp', host: 'host', port: 1 })
  assert.deepEqual(parseConnectAddress('ipc:///x'), { kind: 'ipc', path: '/x' })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { identity } from '../base/ids.js'
import { silentLogger } from '../base/logger.js'
import {
  checkIdentity,
  connectOptions,
  pingIntervalFor,
  dealerOptions,
  routerOptions,
  socketOptions,
} from './options.js'

test('without options, all have their documented defaults', () => {
  const common = {
    maxFrameBytes: 4 * 1024 ** 3 - 1,
    maxFramesPerMessage: 8,
    highWaterMarkBytes: 4 * 1024 ** 2,
    maxQueuedBytes: 8 * 1024 ** 3,
    handshakeTimeoutMs: 10_000,
    lingerMs: 1000,
    pingIntervalMs: 0,
    pingTimeoutMs: 0,
    descriptorRoom: undefined,
    tls: undefined,
    logger: silentLogger,
  }
  const pings = { pingIntervalMs: 2000, pingTimeoutMs: 8000 }
  const connect = { ...common, ...pings, reconnectMinMs: 100, reconnectMaxMs: 1000 }
  const router = { ...common, pingIntervalMs: 2000, handover: true, identity: '' }
  assert.deepEqual(socketOptions({}), common)
  assert.deepEqual(routerOptions({}), router)
  assert.deepEqual(connectOptions({}), connect)
  assert.deepEqual(dealerOptions({}), { ...connect, queueWhileDisconnected: true })
})

test('one option may imply another', () => {
  assert.equal(connectOptions({ pingIntervalMs: 500 }).pingTimeoutMs, 2000)
  assert.equal(connectOptions({ pingIntervalMs: 2 ** 30 }).pingTimeoutMs, 2 ** 31 - 1)
  assert.equal(routerOptions({ pingIntervalMs: 500 }).pingTimeoutMs, 0)
  assert.equal(connectOptions({ reconnectMinMs: 5000 }).reconnectMaxMs, 5000)
})

const wrong: readonly (readonly [text: string, check: () => unknown, why: RegExp])[] = [
  ['maxFrameBytes 0', () => socketOptions({ maxFrameBytes: 0 }), /option maxFrameBytes: .*got 0/],
  ['maxFrameBytes 2^60', () => socketOptions({ maxFrameBytes: 2 ** 60 }), /option maxFrameBytes/],
  ['maxFramesPerMessage 0', () => socketOptions({ maxFramesPerMessage: 0 }), /maxFramesPerMessage/],
  ['highWaterMarkBytes -1', () => socketOptions({ highWaterMarkBytes: -1 }), /from 0 to .*got -1/],
  ['maxQueuedBytes NaN', () => socketOptions({ maxQueuedBytes: NaN }), /maxQueuedBytes: .*got NaN/],
  ['handshakeTimeoutMs 1.5', () => socketOptions({ handshakeTimeoutMs: 1.5 }), /whole number/],
  ['lingerMs Infinity', () => socketOptions({ lingerMs: Infinity }), /lingerMs: .*got Infinity/],
  ['pingIntervalMs 2^31', () => socketOptions({ pingIntervalMs: 2 ** 31 }), /pingIntervalMs/],
  [
    'pingTimeoutMs "1"',
    () => socketOptions({ pingTimeoutMs: '1' as never }),
    /pingTimeoutMs: .*"1"/,
  ],
  ['reconnectMinMs 0', () => connectOptions({ reconnectMinMs: 0 }), /reconnectMinMs: .* from 1/],
  [
    'reconnectMaxMs below reconnectMinMs',
    () => connectOptions({ reconnectMinMs: 50, reconnectMaxMs: 49 }),
    /reconnectMaxMs: .* from 50 .*got 49/,
  ],
  ['handover 1', () => routerOptions({ handover: 1 as never }), /handover: expected true or false/],
  [
    'queueWhileDisconnected "no"',
    () => dealerOptions({ queueWhileDisconnected: 'no' as never }),
    /queueWhileDisconnected: expected true or false, got "no"/,
  ],
  [
    'an identity of 256 bytes',
    () => routerOptions({ identity: identity('x'.repeat(256)) }),
    /at most 255 bytes, got 256/,
  ],
  ['an identity that is not latin1', () => checkIdentity('€'), /one character per byte/],
  ['an identity that is not a string', () => checkIdentity(7 as never), /one character per byte/],
]

for (const [text, check, why] of wrong) {
  test(`${text} is refused with a ConfigError that names it`, () => {
    assert.throws(
      check,
      (error: unknown) => error instanceof ConfigError && why.test(error.message),
    )
  })
}

test('whoever sends heartbeats more often notices a broken link sooner, within limits', () => {
  assert.equal(pingIntervalFor(2_000), 2_000)
  assert.equal(pingIntervalFor(60_000), 2_000)
  assert.equal(pingIntervalFor(1_300), 1_300)
  assert.equal(pingIntervalFor(1), 1_250)
})

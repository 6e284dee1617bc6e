import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ScalerError } from '../base/errors.js'
import { bindError, codeOf, describeError } from './address.js'

/** An error as the system reports it. */
function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

test('an address that cannot be bound is reported in one line, with its meaning', () => {
  const cases: readonly (readonly [string, string, string, string])[] = [
    [
      'tcp://127.0.0.1:80',
      'EACCES',
      'listen EACCES: permission denied 127.0.0.1:80',
      'EACCES: permission denied 127.0.0.1:80; ports below 1024 require privileges',
    ],
    ['ipc:///x', 'EACCES', 'listen EACCES: permission denied /x', 'EACCES: permission denied /x'],
    [
      'tcp://[::1]:8516',
      'EADDRINUSE',
      'listen EADDRINUSE: address already in use ::1:8516',
      'EADDRINUSE: address already in use ::1:8516; another program is listening there',
    ],
    [
      'tcp://192.0.2.1:8516',
      'EADDRNOTAVAIL',
      'listen EADDRNOTAVAIL: address not available 192.0.2.1:8516',
      'EADDRNOTAVAIL: address not available 192.0.2.1:8516; ' +
        'no network interface of this machine has that address',
    ],
    [
      'tcp://nowhere:80',
      'ENOTFOUND',
      'getaddrinfo ENOTFOUND nowhere',
      'getaddrinfo ENOTFOUND nowhere; no host of that name exists',
    ],
  ]
  for (const [address, code, said, expected] of cases) {
    const error = systemError(code, said)
    const told = bindError(address, error)
    assert.equal(told.message, `cannot listen on ${address}: ${expected}`)
    assert.equal(told.code, code)
    assert.equal(told.cause, error)
    assert.ok(told instanceof ScalerError)
  }
})

test('an error without a code of the system has one of ours', () => {
  const told = bindError('tcp://127.0.0.1:80', new Error('odd'))
  assert.equal(told.message, 'cannot listen on tcp://127.0.0.1:80: odd')
  assert.equal(codeOf(told), 'ERR_SCALER_LISTEN')
})

test('each reason of several attempts is reported once', () => {
  const errors = ['a', 'b', 'a'].map((text) => new Error(text))
  assert.equal(describeError(new AggregateError(errors)), 'a; b')
})

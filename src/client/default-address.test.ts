import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { addressOrDefault } from './options.js'

const ADDRESS = 'tcp://127.0.0.1:2345'

test('a given address is used, whatever the environment says', () => {
  assert.equal(addressOrDefault('anything', { SCALER_ADDRESS: ADDRESS }), 'anything')
  assert.equal(addressOrDefault('', { SCALER_ADDRESS: ADDRESS }), '')
})

test('without an address, that of the environment is used', () => {
  assert.equal(addressOrDefault(undefined, { SCALER_ADDRESS: ` ${ADDRESS}\n` }), ADDRESS)
})

test('without any address the error says how to give one', () => {
  for (const env of [{}, { SCALER_ADDRESS: '' }, { SCALER_ADDRESS: '  ' }]) {
    assert.throws(() => addressOrDefault(undefined, env), {
      constructor: ConfigError,
      message: /set SCALER_ADDRESS, or start the program with `scaler run`/,
    })
  }
})

test('a variable that is not an address to connect to is named in the error', () => {
  for (const wrong of ['localhost', 'tcp://*:2345', 'http://localhost:80', 'tcp://h:0']) {
    assert.throws(() => addressOrDefault(undefined, { SCALER_ADDRESS: wrong }), {
      constructor: ConfigError,
      message: new RegExp(`^SCALER_ADDRESS: address "${wrong.replaceAll('*', '\\*')}": `),
    })
  }
})

test('a promise or a cluster in the place of the address is named in the error', () => {
  const wrong = (given: unknown): unknown => addressOrDefault(given as string, {})
  assert.throws(() => wrong(null), /^ConfigError: address: expected a text, got null$/)
  assert.throws(() => wrong(Promise.resolve('tcp://127.0.0.1:1')), /got a promise; await/)
  assert.throws(
    () => wrong({ address: 'tcp://127.0.0.1:1' }),
    /the address of a cluster is its `address`/,
  )
})

test('options in the place of the address are named in the error', () => {
  const options = { timeoutMs: 1 } as unknown as string
  assert.throws(() => addressOrDefault(options, {}), /options are the second argument/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { addressOrDefault } from './options.js'

const ADDRESS = 'tcp://127.0.0.1:2345'

test('an address that is given is taken as it is, whatever the environment says', () => {
  assert.equal(addressOrDefault('anything', { SCALER_ADDRESS: ADDRESS }), 'anything')
  assert.equal(addressOrDefault('', { SCALER_ADDRESS: ADDRESS }), '')
})

test('without an address that of the environment is taken', () => {
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

test('a variable that is no address to connect to is told with its name', () => {
  for (const wrong of ['localhost', 'tcp://*:2345', 'http://localhost:80', 'tcp://h:0']) {
    assert.throws(() => addressOrDefault(undefined, { SCALER_ADDRESS: wrong }), {
      constructor: ConfigError,
      message: new RegExp(`^SCALER_ADDRESS: address "${wrong.replaceAll('*', '\\*')}": `),
    })
  }
})

test('a promise or a cluster in the place of the address is told', () => {
  const wrong = (given: unknown): unknown => addressOrDefault(given as string, {})
  assert.throws(() => wrong(Promise.resolve('tcp://127.0.0.1:1')), /got a promise; await/)
  assert.throws(
    () => wrong({ address: 'tcp://127.0.0.1:1' }),
    /the address of a cluster is its `address`/,
  )
})

test('options in the place of the address are told', () => {
  const options = { timeoutMs: 1 } as unknown as string
  assert.throws(() => addressOrDefault(options, {}), /options are the second argument/)
})

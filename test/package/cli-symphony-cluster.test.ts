import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from './command.js'

const NAME = 'scaler-symphony-cluster'
const ADDRESS = 'tcp://127.0.0.1:1'

const WRONG_USAGE: readonly (readonly string[])[] = [
  [],
  [ADDRESS],
  ['nowhere', 'Service'],
  [ADDRESS, ''],
  [ADDRESS, 'Service', 'more'],
  [ADDRESS, 'Service', '-n', '0'],
  [ADDRESS, 'Service', '--base-concurrency', 'many'],
  [ADDRESS, 'Service', '-w', 'a|b'],
  [ADDRESS, 'Service', '--runtimes', 'java'],
  [ADDRESS, 'Service', '--python', ''],
  [ADDRESS, 'Service', '-hi', '0'],
  [ADDRESS, 'Service', '--workers', '2'],
]

for (const args of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ')}`, async (t) => {
    const end = await runCommand(t, NAME, args)
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler_symphony_cluster: [^\n]+\n$/)
  })
}

test('a wrong value is named by its flag', async (t) => {
  const end = await runCommand(t, NAME, [ADDRESS, 'Service', '--runtimes', 'node,java'])
  assert.match(end.stderr, /--runtimes: expected python or node, or both, got "java"/)
})

test('without Python, the command fails with one line', async (t) => {
  const end = await runCommand(t, NAME, [ADDRESS, 'Service', '--python', '/no/such/python'])
  assert.equal(end.code, 1)
  assert.match(
    end.stderr,
    /^scaler_symphony_cluster: no bridge to Symphony: spawn \/no\/such\/python ENOENT\n$/,
  )
})

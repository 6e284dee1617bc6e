import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ScalerError } from '../base/errors.js'
import { codeOf, parseAddress } from '../transport/address.js'
import { bindMonitor, monitorError } from './monitor-address.js'

/** Binds every address that is not taken. */
function binder(taken: readonly string[]): {
  readonly tried: string[]
  readonly bind: (address: string) => Promise<string>
} {
  const tried: string[] = []
  const bind = async (address: string): Promise<string> => {
    tried.push(address)
    if (taken.includes(address)) throw new Error(`${address} is taken`)
    return Promise.resolve(address)
  }
  return { tried, bind }
}

test('monitors connect two ports up', async () => {
  for (const [configured, bound, expected] of [
    ['tcp://127.0.0.1:500', 'tcp://127.0.0.1:500', 'tcp://127.0.0.1:502'],
    ['tcp://*:0', 'tcp://*:40000', 'tcp://*:40002'],
    ['tcp://[::1]:0', 'tcp://[::1]:40000', 'tcp://[::1]:40002'],
    ['tcp://localhost:0', 'tcp://127.0.0.1:40000', 'tcp://localhost:40002'],
    ['ipc:///tmp/s', 'ipc:///tmp/s', 'ipc:///tmp/s.monitor'],
  ] as const) {
    const { bind, tried } = binder([])
    assert.equal(await bindMonitor(parseAddress(configured), bound, bind), expected)
    assert.deepEqual(tried, [expected])
  }
})

test('if the system chose the port, it also chooses one for monitors when needed', async () => {
  const any = parseAddress('tcp://h:0')
  const { bind } = binder(['tcp://h:502'])
  assert.equal(await bindMonitor(any, 'tcp://h:500', bind), 'tcp://h:0')
  assert.equal(await bindMonitor(any, 'tcp://h:65534', binder([]).bind), 'tcp://h:0')
})

test('a port that was asked for is not replaced by another', async () => {
  const { bind, tried } = binder(['tcp://h:502'])
  await assert.rejects(bindMonitor(parseAddress('tcp://h:500'), 'tcp://h:500', bind), /taken/)
  assert.deepEqual(tried, ['tcp://h:502'])
})

test('the error names the option, and the scheduler itself if its address is taken', () => {
  const taken = Object.assign(new Error('taken'), { code: 'EADDRINUSE' })
  const own =
    /^ConfigError: option monitorAddress: tcp:\/\/h:5: the scheduler itself listens there$/
  for (const bound of ['tcp://h:5', 'tcp://*:5']) {
    assert.match(String(monitorError(taken, 'tcp://h:5', bound)), own)
  }
  for (const bound of ['tcp://h:6', 'tcp://g:5', 'ipc:///tmp/s']) {
    const error = monitorError(taken, 'tcp://h:5', bound)
    assert.ok(error instanceof ScalerError && codeOf(error) === 'EADDRINUSE')
    assert.equal(error.message, 'option monitorAddress: taken')
  }
  assert.match(String(monitorError(taken, undefined, 'tcp://h:5')), /taken \(monitors connect two/)
})

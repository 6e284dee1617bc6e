import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  forgetThreads,
  processObstacle,
  requireNode,
  takeCertificates,
  threadOptions,
  withHugePages,
  withLateCertificates,
} from './child-environment.js'

test('large memory is in huge pages, unless the environment has tunables of its own', () => {
  const given = { PATH: '/bin' }
  assert.deepEqual(withHugePages(given), { ...given, GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' })
  assert.deepEqual(given, { PATH: '/bin' }, 'the given one is unchanged')
  const own = { GLIBC_TUNABLES: 'glibc.malloc.check=1' }
  assert.equal(withHugePages(own), own)
})

test('V8 has as many threads as its process has cores, unless the user has chosen', () => {
  const threads = (cores: number, execArgv: string[] = [], nodeOptions?: string): string =>
    threadOptions(cores, execArgv, { NODE_OPTIONS: nodeOptions }).join()
  assert.equal(threads(0.25), '--v8-pool-size=1')
  assert.equal(threads(3.5), '--v8-pool-size=3')
  assert.equal(threads(4), '', 'as many as by default')
  assert.equal(threads(1, ['--v8-pool-size=2']), '')
  assert.equal(threads(1, ['--v8_pool_size', '2']), '')
  assert.equal(threads(1, [], '--no-warnings --v8-pool-size=2'), '')
})

test('the processes and threads that tasks start do not have that option', () => {
  const execArgv = [...threadOptions(1, [], {}), '--no-warnings']
  forgetThreads(execArgv)
  assert.deepEqual(execArgv, ['--no-warnings'])
  forgetThreads(execArgv)
  assert.deepEqual(execArgv, ['--no-warnings'])
})

test('certificates that Node would read at its start come later, for the processes after it', () => {
  const given = { PATH: '/bin', NODE_EXTRA_CA_CERTS: '/ca.pem' }
  const env = withLateCertificates(given, '20.19.0')
  assert.deepEqual(env, { PATH: '/bin', SCALER_EXTRA_CA_CERTS: '/ca.pem' })
  takeCertificates(env)
  assert.deepEqual(env, given)
  takeCertificates(env)
  assert.deepEqual(env, given)
  assert.equal(withLateCertificates(given, '22.0.0'), given, 'it reads them when it needs them')
  const without = { PATH: '/bin' }
  assert.equal(withLateCertificates(without, '20.19.0'), without)
})

test('other runtimes than Node are refused', () => {
  requireNode({ node: '20.19.0' })
  requireNode()
  for (const [key, name] of Object.entries({ bun: 'Bun', deno: 'Deno' })) {
    assert.throws(() => requireNode({ node: '24.3.0', [key]: '1.2.0' }), {
      name: 'ConfigError',
      message: `${name} is not supported: run this program with Node 20.19 or newer`,
    })
  }
})

test('a process that cannot start others says why', () => {
  const able = { isApplication: false, hasPermission: true }
  assert.equal(processObstacle(able), undefined)
  assert.equal(processObstacle(), undefined, 'this one can')
  assert.match(
    processObstacle({ ...able, isApplication: true }) ?? '',
    /^a single executable application .*Client\.connect\(address\)$/,
  )
  assert.match(
    processObstacle({ ...able, hasPermission: false }) ?? '',
    /--permission.*--allow-child-process$/,
  )
})

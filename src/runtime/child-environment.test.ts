import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeCertificates, withHugePages, withLateCertificates } from './child-environment.js'

test('large memory is in huge pages, unless the environment has tunables of its own', () => {
  const given = { PATH: '/bin' }
  assert.deepEqual(withHugePages(given), { ...given, GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' })
  assert.deepEqual(given, { PATH: '/bin' }, 'the given one is unchanged')
  const own = { GLIBC_TUNABLES: 'glibc.malloc.check=1' }
  assert.equal(withHugePages(own), own)
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

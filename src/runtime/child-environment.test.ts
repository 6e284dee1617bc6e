import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withHugePages } from './child-environment.js'

test('large memory is in huge pages, unless the environment has tunables of its own', () => {
  const given = { PATH: '/bin' }
  assert.deepEqual(withHugePages(given), { ...given, GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' })
  assert.deepEqual(given, { PATH: '/bin' }, 'the given one is unchanged')
  const own = { GLIBC_TUNABLES: 'glibc.malloc.check=1' }
  assert.equal(withHugePages(own), own)
})

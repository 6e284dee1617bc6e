import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { allocationOf } from './options.js'

const SLURM = { SLURM_JOB_ID: '4711', SLURM_JOB_END_TIME: '1700000000' }

test('options set the allocation', () => {
  const told = allocationOf({ timeLimitMs: 5, allocation: 'night' }, SLURM, 1_000)
  assert.deepEqual(told, { endsMS: 1_005, allocation: 'night' })
})

test('a Slurm job sets the allocation if no option does', () => {
  const told = allocationOf({}, SLURM, 1_000)
  assert.deepEqual(told, { endsMS: 1_700_000_000_000, allocation: 'slurm-4711' })
  assert.equal(allocationOf({ timeLimitMs: 0 }, SLURM, 1_000).endsMS, 0, '0 = never')
})

test('without either the allocation is unknown, and invalid variables are ignored', () => {
  assert.deepEqual(allocationOf({}, {}, 1_000), { endsMS: 0, allocation: '' })
  for (const SLURM_JOB_END_TIME of ['', 'soon', '-1', '1e99', 'NaN']) {
    const told = allocationOf({}, { SLURM_JOB_END_TIME, SLURM_JOB_ID: '' }, 1_000)
    assert.deepEqual(told, { endsMS: 0, allocation: '' })
  }
})

test('a name with control characters, or a long one, is refused', () => {
  for (const allocation of ['', 'a\nb', 'x'.repeat(129)]) {
    assert.throws(
      () => allocationOf({ allocation }, {}, 0),
      (error) => error instanceof ConfigError && error.message.startsWith('option allocation: '),
    )
  }
})

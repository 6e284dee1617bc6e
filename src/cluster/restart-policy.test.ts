import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RestartPolicy } from './supervised-process.js'

test('the delay before a restart doubles with each death, up to five seconds', () => {
  const policy = new RestartPolicy()
  const delays = Array.from({ length: 9 }, (_, index) => policy.delayAfterDeath(index))
  assert.deepEqual(delays, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000])
})

test('a part that dies ten times within a minute is not restarted', () => {
  const policy = new RestartPolicy()
  for (let i = 0; i < 9; i += 1) policy.delayAfterDeath(i * 6_000)
  assert.equal(policy.delayAfterDeath(59_999), undefined)
})

test('deaths more than a minute ago do not count', () => {
  const policy = new RestartPolicy()
  for (let now = 0; now < 3_600_000; now += 60_000) assert.equal(policy.delayAfterDeath(now), 100)
})

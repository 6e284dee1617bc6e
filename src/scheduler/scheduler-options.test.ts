import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSchedulerOptions, type SchedulerOptions } from './scheduler-options.js'

test('what is not said is as documented', () => {
  assert.deepEqual(checkSchedulerOptions({}), {
    clientTimeoutMs: 60_000,
    workerTimeoutMs: 60_000,
    workerSilenceMs: 5000,
    loadBalanceMs: 100,
    perWorkerQueueSize: 1000,
    maxTasksWaiting: -1,
    isProtected: false,
    maxMessageBytes: 2 ** 32 - 1,
    maxQueuedBytes: 8 * 2 ** 30,
  })
})

test('the bounds themselves are allowed, and what is beyond them is refused by its name', () => {
  const bounds = [
    ['clientTimeoutMs', 100, 86_400_000],
    ['workerTimeoutMs', 100, 86_400_000],
    ['workerSilenceMs', 100, 86_400_000],
    ['loadBalanceMs', 0, 86_400_000],
    ['perWorkerQueueSize', 1, 1_000_000],
    ['maxTasksWaiting', -1, 2 ** 31],
    ['maxMessageBytes', 1024, 2 ** 32 - 1],
    ['maxQueuedBytes', 2 ** 20, 2 ** 40],
  ] as const
  for (const [name, min, max] of bounds) {
    for (const value of [min, max]) {
      assert.equal(checkSchedulerOptions({ [name]: value })[name], value)
    }
    for (const value of [min - 1, max + 1, min + 0.5, NaN, '1', null]) {
      assert.throws(() => checkSchedulerOptions({ [name]: value }), {
        code: 'ERR_SCALER_CONFIG',
        message: new RegExp(`^option ${name}: expected a whole number from ${min} to ${max}, got`),
      })
    }
  }
})

test('an option that does not exist is refused by its name', () => {
  const options = { loadBalanceSeconds: 1 } as SchedulerOptions
  assert.throws(() => checkSchedulerOptions(options), {
    code: 'ERR_SCALER_CONFIG',
    message: 'unknown option loadBalanceSeconds',
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkSchedulerOptions,
  type CheckedSchedulerOptions,
  type SchedulerOptions,
} from './scheduler-options.js'

const check = (options: SchedulerOptions): CheckedSchedulerOptions =>
  checkSchedulerOptions({ address: 'tcp://127.0.0.1:1', ...options })

test('defaults are as documented', () => {
  assert.deepEqual(check({}), {
    clientTimeoutMs: 60_000,
    workerTimeoutMs: 60_000,
    workerSilenceMs: 5000,
    objectRetentionMs: 0,
    sharedRetentionMs: 3_600_000,
    objectQuotaBytes: 0,
    loadBalanceMs: 100,
    loadBalanceTriggerTimes: 2,
    perWorkerQueueSize: 1000,
    maxNumberOfTasksWaiting: -1,
    isProtected: false,
    tls: undefined,
    handshakeTimeoutMs: 10_000,
    maxMessageBytes: 2 ** 32 - 1,
    maxQueuedBytes: 8 * 2 ** 30,
  })
})

test('bounds are inclusive, and the error for a value beyond them names the option', () => {
  const bounds = [
    ['clientTimeoutMs', 100, 86_400_000],
    ['workerTimeoutMs', 100, 86_400_000],
    ['workerSilenceMs', 100, 86_400_000],
    ['objectRetentionMs', 0, 86_400_000],
    ['sharedRetentionMs', 0, 604_800_000],
    ['objectMemoryLimitBytes', 2 ** 20, 2 ** 50],
    ['objectDiskLimitBytes', 0, 2 ** 50],
    ['objectQuotaBytes', 0, 2 ** 50],
    ['loadBalanceMs', 0, 86_400_000],
    ['loadBalanceTriggerTimes', 1, 1000],
    ['perWorkerQueueSize', 1, 1_000_000],
    ['maxNumberOfTasksWaiting', -1, 2 ** 31],
    ['maxMessageBytes', 1024, 2 ** 32 - 1],
    ['maxQueuedBytes', 2 ** 20, 2 ** 40],
  ] as const
  for (const [name, min, max] of bounds) {
    for (const value of [min, max]) {
      const checked: SchedulerOptions = check({ [name]: value })
      assert.equal(checked[name], value)
    }
    for (const value of [min - 1, max + 1, min + 0.5, NaN, '1', null]) {
      assert.throws(() => check({ [name]: value }), {
        code: 'ERR_SCALER_CONFIG',
        message: new RegExp(`^option ${name}: expected a whole number from ${min} to ${max}, got`),
      })
    }
  }
})

test('the error for an unknown option names it', () => {
  const options = { loadBalanceSeconds: 1 } as SchedulerOptions
  assert.throws(() => check(options), {
    code: 'ERR_SCALER_CONFIG',
    message: 'unknown scheduler option loadBalanceSeconds; is it loadBalanceMs?',
  })
})

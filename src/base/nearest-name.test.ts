import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hintAt, nearestName } from './nearest-name.js'

const NAMES = [
  'workerTimeoutMs',
  'clientTimeoutMs',
  'taskTimeoutMs',
  'workers',
  'workerNames',
  'protected',
  'n',
]

test('one or two typing errors lead to the intended name', () => {
  const slips: readonly (readonly [string, string])[] = [
    ['workerTimeoutsMs', 'workerTimeoutMs'],
    ['workrTimeoutMs', 'workerTimeoutMs'],
    ['wokrerTimeoutMs', 'workerTimeoutMs'],
    ['clientTimeoutSs', 'clientTimeoutMs'],
    ['worker', 'workers'],
    ['wrokers', 'workers'],
    ['protekted', 'protected'],
  ]
  for (const [name, meant] of slips) assert.equal(nearestName(name, NAMES), meant, name)
})

test('case, dashes and underscores make no difference', () => {
  for (const name of ['worker-timeout-ms', 'WORKER_TIMEOUT_MS', 'workertimeoutms']) {
    assert.equal(nearestName(name, NAMES), 'workerTimeoutMs')
  }
})

test('a name with the same beginning as another leads to that', () => {
  assert.equal(nearestName('clientTimeout', NAMES), 'clientTimeoutMs')
  assert.equal(nearestName('protectedMode', NAMES), 'protected')
})

test('two transposed letters are one error: a short name is still found', () => {
  assert.equal(nearestName('ab', ['ba', 'xy']), 'ba')
  assert.equal(nearestName('abc', ['bac']), 'bac')
})

test('a typing error in the first words of a name leads to it', () => {
  const flags = ['--scheduler-only', '--timeout-seconds', '--json']
  assert.equal(nearestName('--tiemout', flags), '--timeout-seconds')
  assert.equal(nearestName('--shceduler', flags), '--scheduler-only')
  assert.equal(nearestName('clietnTimeout', NAMES), 'clientTimeoutMs')
  assert.equal(nearestName('--jsno', flags), '--json')
  assert.equal(nearestName('--seconds', flags), undefined)
})

test('a typing error in a word that some names share leads to those', () => {
  const known = ['--client-timeout-seconds', '--worker-timeout-seconds', '--protected']
  const both = '; there are --client-timeout-seconds, --worker-timeout-seconds'
  assert.equal(hintAt('--tiemout', known), both)
  assert.equal(hintAt('timeout', ['clientTimeoutMs', 'protected']), '; is it clientTimeoutMs?')
  assert.equal(hintAt('--colour', known), '')
  const many = Array.from({ length: 5 }, (_, index) => `--kind-${index}-seconds`)
  assert.equal(hintAt('--seconds', many), '')
})

test('the nearest name is taken, the first of equally near ones', () => {
  assert.equal(nearestName('aTimeoutMs', ['cTimeoutMs', 'bTimeoutMs']), 'cTimeoutMs')
  assert.equal(nearestName('workerTimeout', ['workerTimesMs', 'workerTimeouts']), 'workerTimeouts')
})

test('without a near name there is no suggestion', () => {
  for (const name of ['colour', '', '--', 'x', 'toString', 'workerQuerySize']) {
    assert.equal(nearestName(name, NAMES.slice(0, 5)), undefined, name)
  }
  assert.equal(nearestName('anything', []), undefined)
})

test('very long names cost little and are near nothing', () => {
  assert.equal(nearestName('x'.repeat(1_000_000), NAMES), undefined)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schedulerId } from '../../base/ids.js'
import { parseConnectAddress } from '../../transport/address.js'
import { PLAIN_REPORT, type SchedulerReport } from '../../wire/message.js'
import {
  clockProblem,
  foundScheduler,
  monitorOf,
  versionProblem,
  workerVersionProblem,
} from './diagnosis.js'

const REPORT: SchedulerReport = {
  version: '1.2.3',
  runtime: 'node/20.20.2',
  clockMS: 1_000_000,
  monitorAddress: 'tcp://0.0.0.0:99',
  workers: 3,
  suitable: 2,
  idle: 1,
  ...PLAIN_REPORT,
}

test('the round trip is the median, and the clock that of the moment of the report', () => {
  const answer = {
    kind: 'scheduler' as const,
    remote: 'there',
    schedulerId: schedulerId('\u0001\u00ff'),
    features: 15,
    roundTripsMs: [9, 1, 2.00049],
    report: { report: REPORT, at: 500, roundTripMs: 1 },
    last: REPORT,
  }
  // Now, at instant 700, it is 1,000,150 here: 200 ms earlier it was 999,950.
  const found = foundScheduler(answer, 700, 1_000_150)
  assert.deepEqual(found, {
    remote: 'there',
    kind: 'scaler-ts',
    version: '1.2.3',
    runtime: 'node/20.20.2',
    id: '01ff',
    features: 15,
    roundTrip: { medianMs: 2, minMs: 1, maxMs: 9, count: 3 },
    clock: { aheadMs: 50, errorMs: 1.5 },
  })
})

test('a 1.9.9 scheduler reports nothing about itself', () => {
  const answer = {
    kind: 'scheduler' as const,
    remote: 'there',
    schedulerId: schedulerId(''),
    features: 0,
    roundTripsMs: [1],
    report: undefined,
    last: undefined,
  }
  const { kind, version, runtime, clock, id } = foundScheduler(answer, 0, 0)
  assert.deepEqual(
    { kind, version, runtime, clock, id },
    { kind: '1.9.9', version: undefined, runtime: undefined, clock: undefined, id: '' },
  )
})

test('a scheduler of another version is only a note', () => {
  const found = foundScheduler(
    {
      kind: 'scheduler',
      remote: '',
      schedulerId: schedulerId('i'),
      features: 1,
      roundTripsMs: [1],
      report: { report: REPORT, at: 0, roundTripMs: 0 },
      last: REPORT,
    },
    0,
    0,
  )
  assert.equal(versionProblem(found, '1.2.3'), undefined)
  assert.equal(versionProblem(found, '1.2.4')?.isFatal, false)
})

const MONITORS: readonly (readonly [string, string, string])[] = [
  ['tcp://far:1', 'tcp://0.0.0.0:99', 'tcp://far:99'],
  ['tcp://far:1', 'tcp://[::]:99', 'tcp://far:99'],
  ['tcp://far:1', 'tcp://127.0.0.1:99', 'tcp://far:99'],
  ['tcp://far:1', 'tcp://10.0.0.7:99', 'tcp://10.0.0.7:99'],
  ['tcp://localhost:1', 'tcp://127.0.0.1:99', 'tcp://127.0.0.1:99'],
  ['tcp://127.0.0.1:1', 'tcp://[::1]:99', 'tcp://[::1]:99'],
  ['ipc:///a', 'ipc:///b', 'ipc:///b'],
]

for (const [address, bound, expected] of MONITORS) {
  test(`monitors of ${address} that are bound to ${bound} are at ${expected}`, () => {
    const report = { ...REPORT, monitorAddress: bound }
    assert.equal(monitorOf(parseConnectAddress(address), report), expected)
  })
}

test('without a report the monitors are two ports up', () => {
  assert.equal(monitorOf(parseConnectAddress('tcp://far:1'), undefined), 'tcp://far:3')
  assert.equal(monitorOf(parseConnectAddress('tcp://far:65535'), undefined), undefined)
})

test('clocks some seconds apart are a problem, unless the round trip may explain it', () => {
  const whatOf = (aheadMs: number, errorMs = 1): string | undefined =>
    clockProblem('task', 'its worker', { aheadMs, errorMs })?.what
  assert.equal(clockProblem('scheduler', 'the scheduler', undefined), undefined)
  for (const fine of [0, 4_000, -5_000]) assert.equal(whatOf(fine), undefined)
  assert.equal(whatOf(30_000, 26_000), undefined)
  assert.equal(whatOf(-7_000), 'the clock of its worker is 7000 ms behind the local clock (± 1 ms)')
  assert.match(whatOf(90_000) ?? '', /is 90 seconds ahead of the local clock/)
  assert.match(whatOf(-3 * 86_400_000) ?? '', /is 3 days behind the local clock/)
})

test('a worker of another version is a note', () => {
  const clock = { aheadMs: 0, errorMs: 1 }
  const task = { durationMs: 1, worker: '1|w|2', version: '1.0.0', runtime: 'node/1', clock }
  assert.equal(workerVersionProblem(task, '1.0.0'), undefined)
  assert.equal(workerVersionProblem({ ...task, version: undefined }, '1.0.0'), undefined)
  const problem = workerVersionProblem(task, '2.0.0')
  assert.equal(
    problem?.what,
    'the worker that ran the task, 1|w|2, has version 1.0.0, this is 2.0.0',
  )
  assert.equal(problem?.isFatal, false)
})

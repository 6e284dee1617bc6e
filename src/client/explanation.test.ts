import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../base/ids.js'
import type {
  AttemptOutcome,
  TaskAttempt as SentAttempt,
  TaskExplanation as SentExplanation,
} from '../wire/message.js'
import { serveLocally } from '../runtime/peer-info.js'
import { describeWaiting, explainEnd, explainUnfinished } from './explanation.js'

const LOCAL = {
  taskId: taskId('t'),
  waiting: undefined,
  dependsOn: [],
  address: 'tcp://127.0.0.1:1',
} as const

function attempt(outcome: AttemptOutcome): SentAttempt {
  return { worker: identity('w'), outcome, agoMS: 1_000, forMS: 900 }
}

function answer(
  state: SentExplanation['state'],
  attempts: readonly SentAttempt[],
): SentExplanation {
  return {
    kind: 'taskExplanation',
    taskId: LOCAL.taskId,
    state,
    reason: 'allBusy',
    needs: '',
    forMS: 0,
    dependsOn: [],
    attempts,
  }
}

test('a task that is known to run is not queued, although the answer is older', () => {
  const running = { ...LOCAL, state: 'running' } as const
  const past = attempt('failed')
  const assigned = answer('assigned', [past, attempt('unfinished')])
  const found = explainUnfinished(running, assigned, 5_000)
  assert.equal(found.state, 'running')
  assert.deepEqual(
    found.attempts.map(({ outcome }) => outcome),
    ['retried', 'running'],
  )
  const waiting = explainUnfinished(running, answer('waiting', [past]), 5_000)
  assert.deepEqual([waiting.state, waiting.reason, waiting.text], ['running', undefined, ''])
  const queued = explainUnfinished({ ...LOCAL, state: 'queued' }, assigned, 5_000)
  assert.deepEqual([queued.state, queued.attempts[1]?.outcome], ['queued', 'assigned'])
})

test('the last attempt of a finished task has its start', () => {
  const profile = { durationMs: 250, worker: 'w' }
  for (const state of ['done', 'failed'] as const) {
    const task = { taskId: LOCAL.taskId, state, profile, endedAtMs: 5_000, attempts: [] }
    assert.deepEqual(explainEnd(task).attempts, [
      {
        worker: 'w',
        startedAt: new Date(4_750),
        durationMs: 250,
        outcome: state === 'done' ? 'success' : 'failed',
      },
    ])
  }
})

test('without workers, advice depends on whose cluster it is, and on whether it can have some', () => {
  const { address } = LOCAL
  const noWorker = (): string => Object.values(describeWaiting('no-worker', address)).join('; ')
  assert.match(noWorker(), /has no worker.*; start JavaScript workers: scaler_cluster tcp:/)
  const cluster = { expired: '' }
  const withdraw = serveLocally(address, cluster)
  const python = describeWaiting('no-worker', address, '', 'python').advice
  assert.match(python, /^start Python workers: scaler_cluster tcp:\S+ \(the command of Python Sc/)
  assert.match(noWorker(), /has no worker.*; the cluster in this program starts them itself/)
  cluster.expired = 'lifetimeMs (5)'
  assert.match(noWorker(), /have ended: lifetimeMs \(5\) has passed; start another cluster/)
  withdraw()
  assert.match(noWorker(), /scaler_cluster/)
})

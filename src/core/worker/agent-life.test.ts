import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentVerdict, type AgentLimits } from './life.js'

const LIMITS: AgentLimits = { idleTimeoutMs: 0, startedAt: 0, endsAt: Infinity, drainMs: 20_000 }
const IDLE: AgentLimits = { ...LIMITS, idleTimeoutMs: 60_000 }

test('without limits an agent is not looked at again', () => {
  assert.deepEqual(agentVerdict(LIMITS, [0], 1e9), { nextLookAt: Infinity })
})

test('an agent ends once all of its workers have been idle for the whole time', () => {
  assert.deepEqual(agentVerdict(IDLE, [1_000, 5_000], 60_999), { nextLookAt: 65_000 })
  assert.deepEqual(agentVerdict(IDLE, [1_000, 5_000], 65_000), { endsBecause: 'no task for 60 s' })
})

test('a busy worker, or one without a scheduler, keeps the agent alive', () => {
  assert.deepEqual(agentVerdict(IDLE, [0, undefined], 100_000), { nextLookAt: 160_000 })
  assert.deepEqual(agentVerdict(IDLE, [], 100_000), { nextLookAt: 100_001 })
})

test('a worker that has already stopped does not count', () => {
  assert.deepEqual(agentVerdict(IDLE, [-Infinity, 0], 60_000), { endsBecause: 'no task for 60 s' })
})

test('an agent drains before its time limit, so that running tasks can finish', () => {
  const limits = { ...IDLE, endsAt: 100_000 }
  assert.deepEqual(agentVerdict(limits, [undefined], 79_999), { nextLookAt: 80_000 })
  assert.deepEqual(agentVerdict(limits, [undefined], 80_000), {
    endsBecause: 'the time limit is near',
  })
})

test('it works for at least half of a short life', () => {
  const limits = { ...LIMITS, endsAt: 10_000 }
  assert.deepEqual(agentVerdict(limits, [undefined], 0), { nextLookAt: 5_000 })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  endOf,
  endReason,
  isPlaced,
  type JobObject,
  type PodObject,
  stuckReason,
  waitReason,
} from './status.js'

function podWith(state: object, name = 'worker'): PodObject {
  return { status: { containerStatuses: [{ name, state }] } }
}

test('a Job has ended if a condition says so, or it is being deleted', () => {
  const ends: readonly (readonly [JobObject, ReturnType<typeof endOf>])[] = [
    [{}, undefined],
    [{ status: { conditions: [{ type: 'Suspended', status: 'True' }] } }, undefined],
    [{ status: { conditions: [{ type: 'Complete', status: 'False' }] } }, undefined],
    [{ status: { conditions: [{ type: 'Complete', status: 'True' }] } }, 'complete'],
    [{ status: { conditions: [{ type: 'Failed', status: 'True' }] } }, 'failed'],
    [{ metadata: { deletionTimestamp: '2026-11-27T12:00:00Z' } }, 'failed'],
  ]
  for (const [job, end] of ends) assert.equal(endOf(job), end)
})

test('a unit runs once its pod is on a node', () => {
  assert.equal(isPlaced({ status: { ready: 1 } }, undefined), true)
  assert.equal(isPlaced({}, { spec: { nodeName: 'node-1' } }), true)
  assert.equal(isPlaced({ status: { ready: 0 } }, { spec: {} }), false)
})

test('containers that cannot start, and those that may', () => {
  const reason = 'ImagePullBackOff'
  const message = 'Back-off\n  pulling'
  assert.equal(
    stuckReason(podWith({ waiting: { reason, message } })),
    'ImagePullBackOff: Back-off pulling',
  )
  assert.equal(stuckReason(podWith({ waiting: { reason: 'ContainerCreating' } })), '')
  assert.equal(stuckReason(podWith({ waiting: { reason: 'ErrImagePull' } })), '')
  const init = { name: 'init', state: { waiting: { reason: 'InvalidImageName' } } }
  assert.equal(stuckReason({ status: { initContainerStatuses: [init] } }), 'InvalidImageName')
  assert.equal(stuckReason(undefined), '')
  // The workers run, whatever is wrong with a container beside them.
  const sidecar = { name: 'log', state: { waiting: { reason } } }
  const beside = (state: object): PodObject => {
    return { status: { containerStatuses: [sidecar, { name: 'worker', state }] } }
  }
  assert.equal(stuckReason(beside({ running: {} })), '')
  assert.equal(stuckReason(beside({ waiting: { reason: 'ContainerCreating' } })), reason)
})

test('why a unit waits', () => {
  const job = { metadata: { name: 'a' } }
  const events = ['b', 'a', 'a', 'b'].map((name, at) => {
    return { involvedObject: { name }, reason: 'FailedCreate', message: String(at) }
  })
  assert.equal(waitReason(job, undefined, events), 'FailedCreate: 2')
  assert.equal(waitReason(job, undefined, []), '')
  assert.equal(waitReason({ spec: { suspend: true } }, undefined, []), 'the Job is suspended')
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }
  const pod = { status: { conditions: [condition] } }
  assert.equal(waitReason(job, pod, events), 'Unschedulable')
  assert.equal(waitReason(job, { status: { phase: 'Pending' } }, events), '')
})

test('why a pod has ended: not for the exit of a program, which has its own output', () => {
  assert.equal(endReason(podWith({ terminated: { reason: 'Error', exitCode: 1 } })), '')
  assert.equal(
    endReason(podWith({ terminated: { reason: 'OOMKilled', exitCode: 137 } })),
    'the container worker ended with exit code 137: OOMKilled',
  )
  const evicted: PodObject = { status: { reason: 'Evicted', message: 'low on memory' } }
  assert.equal(endReason(evicted), 'Evicted: low on memory')
  assert.equal(endReason(undefined), '')
})

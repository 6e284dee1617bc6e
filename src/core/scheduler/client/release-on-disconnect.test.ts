import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../../base/ids.js'
import { messageOf } from '../graph/graph.kit.js'
import { instruction, withPeers } from '../scheduler.kit.js'

const COUNT = 1000
const IDS: readonly string[] = Array.from({ length: COUNT }, (_, index) => `o${index}`)

test('the objects of a client that has left are released in slices; those of others stay', () => {
  const options = { graphStepsPerTurn: 300 }
  const scheduler = withPeers({ clients: ['A', 'B'], workers: ['W'] }, options)
  scheduler.receive('A', instruction('create', 'A', IDS))
  scheduler.receive('B', instruction('create', 'B', ['o7']))
  const objectIds = IDS.map(objectId)
  scheduler.receive('W', { kind: 'objectRequest', requestType: 'get', objectIds }).actions()
  scheduler.receive('A', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  const left = scheduler.machine.counts.objects
  assert.ok(left > COUNT / 2 && left < COUNT, `${left} are left after one turn`)
  const gone: string[] = []
  for (let turn = 0; turn <= COUNT; turn += 1) {
    scheduler.moveTo(scheduler.now + 1)
    for (const action of scheduler.actions()) {
      const sent = messageOf(action)
      if (sent?.kind === 'objectInstruction') gone.push(...sent.objectContent.objectIds)
    }
  }
  assert.deepEqual(gone.toSorted(), IDS.filter((id) => id !== 'o7').toSorted())
  assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 2 })
})

// Random lives of a cluster against one promise: while its client stays, a task ends exactly once
// for it, whatever workers do; and when everybody has left, the tables are empty.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { identity, taskId } from '../../base/ids.js'
import type { SchedulerAction } from './events.js'
import {
  clientHeartbeat,
  instruction,
  result,
  task,
  TestScheduler,
  workerHeartbeat,
} from './scheduler.kit.js'

const CLIENTS = ['C0', 'C1']
const WORKERS = ['W0', 'W1', 'W2']

const client = fc.constantFrom(...CLIENTS)
const worker = fc.constantFrom(...WORKERS)
const status = fc.constantFrom('success', 'failed', 'canceled', 'notFound')

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('submit'), client, priority: fc.nat(2) }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant('finish'), worker, at: fc.nat(5), status }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel'), client, at: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('join'), worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('lose'), worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('again'), client, at: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('late'), worker, at: fc.nat(20), status }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('time'), at: fc.nat(40_000) }) },
) as fc.Arbitrary<Step>

interface Step {
  readonly type: 'submit' | 'finish' | 'cancel' | 'join' | 'lose' | 'again' | 'late' | 'time'
  readonly client: string
  readonly worker: string
  readonly at: number
  readonly priority: number
  readonly status: 'success' | 'failed' | 'canceled' | 'notFound'
}

/** What the peers know: the world around the scheduler. */
class World {
  readonly scheduler = new TestScheduler()
  /** Unfinished tasks of each client. */
  readonly open = new Map<string, Set<string>>(CLIENTS.map((name) => [name, new Set()]))
  /** What each worker that is connected has to do, cancels included. */
  readonly held = new Map<string, string[]>()
  #serial = 0

  constructor() {
    for (const name of CLIENTS) this.#say(name, clientHeartbeat())
  }

  take(move: Step): void {
    const mine = [...(this.open.get(move.client) ?? [])]
    const id = mine[move.at % Math.max(mine.length, 1)]
    switch (move.type) {
      case 'submit': {
        const fresh = `t${(this.#serial += 1)}`
        this.open.get(move.client)?.add(fresh)
        return this.#say(move.client, task(fresh, move.client, move.priority))
      }
      case 'again':
        return id === undefined ? undefined : this.#say(move.client, task(id, move.client))
      case 'cancel': {
        if (id === undefined) return
        const flags = { force: true, retrieveTaskObject: false }
        return this.#say(move.client, { kind: 'taskCancel', taskId: taskId(id), flags })
      }
      case 'join':
        if (!this.held.has(move.worker)) this.held.set(move.worker, [])
        return this.#say(move.worker, workerHeartbeat())
      case 'lose':
        this.held.delete(move.worker)
        this.scheduler.handle({ type: 'peerDisconnected', peer: identity(move.worker) })
        return this.#observe()
      case 'finish':
        return this.#finish(move.worker, move.at, move.status)
      case 'late':
        return this.#say(move.worker, result(`t${move.at}`, move.status))
      case 'time':
        // Peers that live say so in time; this is about work, not about silence.
        for (const name of this.held.keys()) this.#say(name, workerHeartbeat())
        for (const name of CLIENTS) this.#say(name, clientHeartbeat())
        this.scheduler.moveTo(this.scheduler.now + move.at)
        return this.#observe()
    }
  }

  /** Everybody who is left works until nothing is left to do. */
  finishAll(): void {
    this.take({ type: 'join', worker: 'W0' } as Step)
    for (let rounds = 0; [...this.open.values()].some((ids) => ids.size > 0); rounds += 1) {
      assert.ok(rounds < 10_000, 'tasks remain although workers work')
      for (const name of this.held.keys()) this.#finish(name, 0, 'success')
    }
  }

  #finish(name: string, at: number, how: Step['status']): void {
    const held = this.held.get(name)
    if (held === undefined || held.length === 0) return
    const [id] = held.splice(at % held.length, 1)
    this.#say(name, result(id as string, how))
  }

  #say(from: string, message: Parameters<TestScheduler['receive']>[1]): void {
    // A worker that is not connected cannot say anything; what was on its way is lost with it.
    if (WORKERS.includes(from) && !this.held.has(from)) return
    if (message.kind === 'taskResult') {
      const held = this.held.get(from)
      const index = held?.indexOf(message.taskId) ?? -1
      if (index >= 0) held?.splice(index, 1)
    }
    this.scheduler.receive(from, message)
    this.#observe()
  }

  #observe(): void {
    for (const action of this.scheduler.actions()) this.#onAction(action)
  }

  #onAction(action: SchedulerAction): void {
    if (action.type !== 'send' && action.type !== 'forward') return
    const line = this.scheduler.describe(action)
    const ended = /^(C\d) <- result (\S+) /.exec(line)
    const assigned = /^(W\d) <- task (\S+)/.exec(line)
    if (ended !== null) {
      const [, name, id] = ended as unknown as [string, string, string]
      assert.ok(this.open.get(name)?.delete(id), `${id} ended for ${name} a second time`)
    }
    if (assigned !== null) {
      const [, name, id] = assigned as unknown as [string, string, string]
      const others = [...this.held].filter(([, ids]) => ids.includes(id))
      assert.deepEqual(others, [], `${id} is with two workers`)
      this.held.get(name)?.push(id)
    }
  }
}

test('property: each task ends exactly once for its client, and nothing is left at the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const world = new World()
      for (const move of steps) world.take(move)
      world.finishAll()
      for (const name of CLIENTS) {
        world.scheduler.receive(name, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
      }
      assert.deepEqual(world.scheduler.machine.counts, { clients: 0, tasks: 0, objects: 0 })
    }),
    { numRuns: 300 },
  )
})

test('property: whatever is stored and deleted, the object table stays consistent', () => {
  const ids = fc.subarray(['x', 'y', 'z'], { minLength: 1 })
  const move = fc.record({
    type: fc.constantFrom('create', 'delete', 'request', 'leave', 'lose'),
    client,
    worker,
    ids,
  })
  fc.assert(
    fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
      const scheduler = new TestScheduler()
      for (const { type, client: name, worker: holder, ids: objects } of moves) {
        scheduler.receive(name, clientHeartbeat()).receive(holder, workerHeartbeat())
        if (type === 'create' || type === 'delete') {
          scheduler.receive(name, instruction(type, name, objects))
        } else if (type === 'request') {
          const objectIds = instruction('delete', name, objects).objectContent.objectIds
          scheduler.receive(holder, { kind: 'objectRequest', requestType: 'get', objectIds })
        } else if (type === 'leave') {
          scheduler.receive(name, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
        } else {
          scheduler.handle({ type: 'peerDisconnected', peer: identity(holder) })
        }
      }
      for (const name of CLIENTS) {
        scheduler.receive(name, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
      }
      assert.equal(scheduler.machine.counts.objects, 0)
    }),
  )
})

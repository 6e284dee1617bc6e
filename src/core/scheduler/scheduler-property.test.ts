// Random lives of a cluster against two promises: while its client stays, a task ends exactly once
// for it, whatever workers do; and once a task has not come to its end, nothing that it began is
// given to a worker any more. When everybody has left, the tables are empty.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { identity, taskId } from '../../base/ids.js'
import type { SchedulerAction } from './events.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  OURS,
  result,
  task,
  TestScheduler,
  update,
  workerHeartbeat,
} from './scheduler.kit.js'

const CLIENTS = ['C0', 'C1']
const WORKERS = ['W0', 'W1', 'W2']

const client = fc.constantFrom(...CLIENTS)
const worker = fc.constantFrom(...WORKERS)
const status = fc.constantFrom('success', 'failed', 'canceled', 'notFound')

const options = { priority: fc.nat(2), retries: fc.nat(2), limit: fc.nat(3) }

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('submit'), client, ...options }) },
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('child'), client, worker, at: fc.nat(5), ...options }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constantFrom('wait', 'resume'), worker, at: fc.nat(5) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('moveIn'), client, worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('leave'), client }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant('finish'), worker, at: fc.nat(5), status }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel'), client, at: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('join'), worker }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('lose'), worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('again'), client, at: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('late'), worker, at: fc.nat(20), status }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('time'), at: fc.nat(40_000) }) },
) as fc.Arbitrary<Step>

interface Step {
  readonly type:
    | 'submit'
    | 'child'
    | 'wait'
    | 'resume'
    | 'moveIn'
    | 'leave'
    | 'finish'
    | 'cancel'
    | 'join'
    | 'lose'
    | 'again'
    | 'late'
    | 'time'
  readonly client: string
  readonly worker: string
  readonly at: number
  readonly priority: number
  readonly retries: number
  readonly limit: number
  readonly status: 'success' | 'failed' | 'canceled' | 'notFound'
}

/** What the peers know: the world around the scheduler. */
class World {
  readonly scheduler = new TestScheduler()
  /** Unfinished tasks of each client. */
  readonly open = new Map<string, Set<string>>(CLIENTS.map((name) => [name, new Set()]))
  /** What each worker that is connected has to do, cancels included. */
  readonly held = new Map<string, string[]>()
  /** What each task has begun that ends with it. */
  readonly #children = new Map<string, string[]>()
  /** What has to end: nobody may begin it any more. */
  readonly #doomed = new Set<string>()
  /** Clients that have lost their connection. */
  readonly #homeless = new Set<string>()
  #serial = 0

  constructor() {
    for (const name of CLIENTS) this.#say(name, clientHeartbeat())
    for (const name of WORKERS.slice(0, 2)) this.take({ type: 'join', worker: name } as Step)
  }

  take(move: Step): void {
    const mine = [...(this.open.get(move.client) ?? [])]
    const id = mine[move.at % Math.max(mine.length, 1)]
    switch (move.type) {
      case 'submit':
        return this.#submit(move, '')
      case 'child': {
        const parent = this.#heldBy(move)
        return parent === undefined ? undefined : this.#submit(move, parent)
      }
      case 'wait':
      case 'resume': {
        const held = this.#heldBy(move)
        const what = move.type === 'wait' ? 'waiting' : 'resumed'
        return held === undefined ? undefined : this.#say(move.worker, update(held, what))
      }
      case 'moveIn':
        return this.#say(move.client, clientHeartbeat(OURS, move.worker))
      case 'leave':
        this.#forgetClient(move.client)
        this.#say(move.client, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
        return this.#say(move.client, clientHeartbeat())
      case 'again':
        return id === undefined ? undefined : this.#say(move.client, task(id, move.client))
      case 'cancel':
        if (id === undefined) return
        this.#doom(id)
        return this.#say(move.client, cancel(id, move.at % 2 === 0))
      case 'join':
        if (!this.held.has(move.worker)) this.held.set(move.worker, [])
        return this.#say(move.worker, workerHeartbeat())
      case 'lose':
        for (const held of this.held.get(move.worker) ?? []) this.#doomChildren(held)
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
    const isBusy = (): boolean =>
      [...this.open.values()].some((ids) => ids.size > 0) ||
      [...this.held.values()].some((ids) => ids.length > 0)
    for (let rounds = 0; isBusy(); rounds += 1) {
      assert.ok(rounds < 10_000, 'tasks remain although workers work')
      for (const name of this.held.keys()) this.#finish(name, 0, 'success')
    }
  }

  #submit(move: Step, parent: string): void {
    const fresh = `t${(this.#serial += 1)}`
    this.open.get(move.client)?.add(fresh)
    if (this.#doomed.has(parent)) this.#doomed.add(fresh)
    const siblings = this.#children.get(parent) ?? []
    if (parent !== '') this.#children.set(parent, [...siblings, fresh])
    this.#say(move.client, {
      ...task(fresh, move.client, move.priority),
      parentTaskId: taskId(parent),
      retries: move.retries,
      workerDeathLimit: move.limit,
    })
  }

  #heldBy(move: Step): string | undefined {
    const held = this.held.get(move.worker) ?? []
    return held[move.at % Math.max(held.length, 1)]
  }

  #doom(id: string): void {
    this.#doomed.add(id)
    this.#doomChildren(id)
  }

  #doomChildren(id: string): void {
    const children = this.#children.get(id) ?? []
    this.#children.delete(id)
    for (const child of children) this.#doom(child)
  }

  /** Nobody will tell it how its tasks end. */
  #forgetClient(name: string): void {
    for (const id of this.open.get(name) ?? []) this.#doom(id)
    this.open.get(name)?.clear()
  }

  #finish(name: string, at: number, how: Step['status']): void {
    const held = this.held.get(name)
    if (held === undefined || held.length === 0) return
    this.#say(name, result(held[at % held.length] as string, how))
  }

  #say(from: string, message: Parameters<TestScheduler['receive']>[1]): void {
    // A worker that is not connected cannot say anything; what was on its way is lost with it.
    if (WORKERS.includes(from) && !this.held.has(from)) return
    if (message.kind === 'taskResult') {
      const held = this.held.get(from)
      const index = held?.indexOf(message.taskId) ?? -1
      if (index >= 0) {
        held?.splice(index, 1)
        if (message.status === 'success') this.#children.delete(message.taskId)
        else this.#doomChildren(message.taskId)
      }
    }
    this.scheduler.receive(from, message)
    this.#observe()
  }

  #observe(): void {
    const actions = this.scheduler.actions()
    // First, for what they had is cancelled in the same event.
    for (const action of actions) {
      if (action.type !== 'disconnect' || !CLIENTS.includes(action.peer)) continue
      this.#forgetClient(action.peer)
      this.#homeless.add(action.peer)
    }
    for (const action of actions) this.#onAction(action)
    for (const name of this.#homeless) {
      this.#homeless.delete(name)
      this.#say(name, clientHeartbeat())
    }
  }

  #onAction(action: SchedulerAction): void {
    if (action.type !== 'send' && action.type !== 'forward') return
    const line = this.scheduler.describe(action)
    const ended = /^(C\d) <- result (\S+) /.exec(line)
    const assigned = /^(W\d) <- task (\S+)/.exec(line)
    if (ended !== null) {
      const [, name, id] = ended as unknown as [string, string, string]
      // Where a client goes in the same event, it may have been told of an end before.
      const isFirst = this.open.get(name)?.delete(id) === true || this.#homeless.has(name)
      assert.ok(isFirst, `${id} ended for ${name} a second time`)
      if (!line.endsWith(' success')) this.#doomChildren(id)
    }
    if (assigned !== null) {
      const [, name, id] = assigned as unknown as [string, string, string]
      const others = [...this.held].filter(([, ids]) => ids.includes(id))
      assert.deepEqual(others, [], `${id} is with two workers`)
      assert.ok(!this.#doomed.has(id), `${id} was begun although its end was certain`)
      this.held.get(name)?.push(id)
    }
  }
}

test('property: each task ends exactly once for its client, and nothing is left at the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const world = new World()
      for (const move of steps) world.take(move)
      world.finishAll()
      for (const name of CLIENTS) {
        world.scheduler.receive(name, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
      }
      assert.deepEqual(world.scheduler.machine.counts, {
        clients: 0,
        tasks: 0,
        graphs: 0,
        objects: 0,
      })
    }),
    { numRuns: 1000 },
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
    fc.property(fc.array(move, { maxLength: 40, size: 'max' }), (moves) => {
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

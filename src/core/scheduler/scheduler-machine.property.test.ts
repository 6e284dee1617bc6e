// Random histories of a cluster, checked against some guarantees: while its client stays, a task
// ends exactly once, whatever workers do; no two workers have it, even when workers return; a
// leaving worker gets no new tasks; once a task has failed to finish, its children are not assigned
// anymore; no more units of an agent are granted than it has. When all peers have left, the tables
// are empty.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { identity, taskId } from '../../base/ids.js'
import { sized } from '../../base/short-run.kit.js'
import { decode, type Task, type WorkerHeartbeat } from '../../wire/message.js'
import { countOf, nthTaskId } from '../../wire/run.js'
import { pack, unpack } from '../../wire/run.kit.js'
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

/** Nearly all are tiny, so that workers hold several, and may be stuck with them. */
const seconds = fc.oneof(
  { weight: 20, arbitrary: fc.constant(0.000_01) },
  { weight: 1, arbitrary: fc.constant(1) },
)

const options = {
  priority: fc.nat(2),
  retries: fc.nat(2),
  limit: fc.nat(3),
  mayHaveRun: fc.boolean(),
  gpus: fc.constantFrom(undefined, undefined, undefined, -1, 1, 1, 2),
}

/** The offers of workers: the first two share an agent. */
const OFFERS: Readonly<Record<string, { readonly agentId: string; readonly gpus: number }>> = {
  W0: { agentId: 'A', gpus: 2 },
  W1: { agentId: 'A', gpus: 2 },
  W2: { agentId: 'B', gpus: 1 },
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('submit'), client, ...options }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('run'),
      client,
      worker,
      count: fc.integer({ min: 2, max: 12 }),
      isChild: fc.constantFrom(false, false, true),
      at: fc.nat(5),
      ...options,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('finishRun'),
      worker,
      at: fc.nat(12),
      count: fc.integer({ min: 1, max: 12 }),
      seconds,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('child'), client, worker, at: fc.nat(5), ...options }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constantFrom('wait', 'resume'), worker, at: fc.nat(5) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('attach'), client, worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('leave'), client }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant('finish'), worker, at: fc.nat(5), status, seconds }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('answer'), worker, at: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('back'), worker }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('retire'), worker }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('stale'), worker, at: fc.nat(5), status }),
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
  { weight: 4, arbitrary: fc.record({ type: fc.constant('time'), at: fc.nat(300) }) },
) as fc.Arbitrary<Step>

interface Step {
  readonly type:
    | 'submit'
    | 'run'
    | 'finishRun'
    | 'child'
    | 'wait'
    | 'resume'
    | 'attach'
    | 'leave'
    | 'finish'
    | 'answer'
    | 'back'
    | 'retire'
    | 'stale'
    | 'cancel'
    | 'join'
    | 'lose'
    | 'again'
    | 'late'
    | 'time'
  readonly client: string
  readonly worker: string
  readonly at: number
  readonly count: number
  readonly isChild: boolean
  readonly priority: number
  readonly retries: number
  readonly limit: number
  readonly mayHaveRun: boolean
  readonly gpus: number | undefined
  readonly seconds: number
  readonly status: 'success' | 'failed' | 'canceled' | 'notFound'
}

/** A TaskCancel: of a cancelled task, or of one that is to be given back. */
interface Asked {
  readonly id: string
  readonly isCancel: boolean
  readonly isForced: boolean
}

/** A model of the peers around the scheduler. */
class World {
  readonly scheduler = new TestScheduler({ loadBalanceMs: 20 })
  /** Events that happened, and how often. */
  readonly seen: Map<string, number>
  /** Unfinished tasks of each client. */
  readonly open = new Map<string, Set<string>>(CLIENTS.map((name) => [name, new Set()]))
  /** The tasks of each connected worker, including cancelled ones. */
  readonly held = new Map<string, string[]>()
  /** The unanswered cancels of each worker, in order. */
  readonly #asked = new Map<string, Asked[]>()
  /** The tasks of each worker when its connection was lost. */
  readonly #before = new Map<string, readonly string[]>()
  readonly #leaving = new Set<string>()
  /** The children of each task, which end with it. */
  readonly #children = new Map<string, string[]>()
  /** Tasks that must end: they may not be assigned anymore. */
  readonly #cancelled = new Set<string>()
  /** Clients that have lost their connection. */
  readonly #homeless = new Set<string>()
  /** The units that tasks need. */
  readonly #gpus = new Map<string, number>()
  /** The Task of each task that was submitted in a run, for repeats. */
  readonly #runs = new Map<string, Task>()
  #serial = 0

  constructor(seen: Map<string, number>) {
    this.seen = seen
    for (const name of CLIENTS) this.#sayHello(name)
    for (const name of WORKERS.slice(0, 2)) this.take({ type: 'join', worker: name } as Step)
  }

  take(move: Step): void {
    const mine = [...(this.open.get(move.client) ?? [])]
    const id = mine[move.at % Math.max(mine.length, 1)]
    switch (move.type) {
      case 'submit':
        return this.#submit(move, '')
      case 'run':
        return this.#submitRun(move, move.isChild ? (this.#heldBy(move) ?? '') : '')
      case 'finishRun':
        return this.#finishRun(move)
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
      case 'attach':
        return this.#say(move.client, clientHeartbeat(OURS, move.worker))
      case 'leave':
        this.#forgetClient(move.client)
        this.#say(move.client, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
        return this.#sayHello(move.client)
      case 'again':
        if (id === undefined) return
        return this.#say(move.client, this.#openPart(id, mine) ?? this.#task(id, move.client))
      case 'cancel':
        if (id === undefined) return
        this.#markCancelled(id)
        return this.#say(move.client, cancel(id, move.at % 2 === 0))
      case 'join':
        return this.#join(move.worker, [])
      case 'back':
        if (this.held.has(move.worker)) this.#lose(move.worker)
        return this.#join(move.worker, this.#before.get(move.worker) ?? [])
      case 'lose':
        return this.#lose(move.worker)
      case 'retire':
        if (this.held.has(move.worker)) this.#leaving.add(move.worker)
        return this.#say(move.worker, { ...this.#heartbeat(move.worker), isLeaving: true })
      case 'finish':
        return this.#finish(move.worker, move.at, move.status, move.seconds)
      case 'answer':
        return this.#answer(move.worker, move.at === 0)
      case 'stale':
        return this.#answerOutdated(move)
      case 'late':
        return this.#say(
          move.worker,
          result(`t${move.at}`, this.#plausible(`t${move.at}`, move.status)),
        )
      case 'time':
        // Long timeouts: this is about work, not about silence.
        for (const name of this.held.keys()) this.#say(name, this.#heartbeat(name))
        for (const name of CLIENTS) this.#say(name, clientHeartbeat())
        this.scheduler.moveTo(this.scheduler.now + move.at)
        return this.#observe()
    }
  }

  /** The remaining workers finish all work. */
  finishAll(): void {
    this.#lose('W0')
    this.take({ type: 'join', worker: 'W0' } as Step)
    this.take({ type: 'time', at: 2000 } as Step)
    const isBusy = (): boolean =>
      [...this.open.values()].some((ids) => ids.size > 0) ||
      [...this.held.values()].some((ids) => ids.length > 0)
    for (let rounds = 0; isBusy(); rounds += 1) {
      assert.ok(rounds < 10_000, 'tasks remain although workers work')
      for (const name of this.held.keys()) this.#finish(name, 0, 'success', 1)
    }
  }

  #task(id: string, source: string, priority = 0): Task {
    const value = this.#gpus.get(id)
    const capabilities = value === undefined ? [] : [{ name: 'gpu', value }]
    return { ...task(id, source, priority), capabilities }
  }

  #heartbeat(name: string): WorkerHeartbeat {
    const { agentId = '', gpus = 0 } = OFFERS[name] ?? {}
    return { ...workerHeartbeat(), agentId, capabilities: [{ name: 'gpu', value: gpus }] }
  }

  /** Whether the agent of a worker has enough units for its tasks. */
  #hasUnits(name: string): boolean {
    const { agentId, gpus = 0 } = OFFERS[name] ?? {}
    const held = [...this.held].filter(([other]) => OFFERS[other]?.agentId === agentId)
    const needs = held.flatMap(([, ids]) => ids.map((id) => Math.max(this.#gpus.get(id) ?? 0, 0)))
    return needs.reduce((sum, count) => sum + count, 0) <= gpus
  }

  #sayHello(name: string): void {
    this.#say(name, clientHeartbeat())
    this.#say(name, instruction('create', name, ['f']))
  }

  #submit(move: Step, parent: string): void {
    const fresh = `t${(this.#serial += 1)}`
    this.open.get(move.client)?.add(fresh)
    if (this.#cancelled.has(parent)) this.#cancelled.add(fresh)
    const siblings = this.#children.get(parent) ?? []
    if (parent !== '') this.#children.set(parent, [...siblings, fresh])
    if (move.gpus !== undefined) this.#gpus.set(fresh, move.gpus)
    this.#say(move.client, {
      ...this.#task(fresh, move.client, move.priority),
      parentTaskId: taskId(parent),
      retries: move.retries,
      workerDeathLimit: move.limit,
      mayHaveRun: move.mayHaveRun,
    })
  }

  /** Several tasks in one message. */
  #submitRun(move: Step, parent: string): void {
    const first = taskId(`AAnumber${String((this.#serial += 1)).padStart(6, '0')}AA`)
    const ids = Array.from({ length: move.count }, (_, at) => nthTaskId(first, at))
    const { taskId: id, ...plain } = this.#task(first, move.client, move.priority)
    const capabilities = move.gpus === undefined ? [] : [{ name: 'gpu', value: move.gpus }]
    const message: Task = {
      ...plain,
      taskId: id,
      capabilities,
      parentTaskId: taskId(parent),
      retries: move.retries,
      workerDeathLimit: move.limit,
      mayHaveRun: move.mayHaveRun,
      count: move.count,
      packed: pack(ids.map((each) => Buffer.from(each, 'latin1'))),
    }
    for (const each of ids) {
      this.open.get(move.client)?.add(each)
      this.#runs.set(each, message)
      if (this.#cancelled.has(parent)) this.#cancelled.add(each)
      if (move.gpus !== undefined) this.#gpus.set(each, move.gpus)
    }
    if (parent !== '') {
      this.#children.set(parent, [...(this.#children.get(parent) ?? []), ...ids])
    }
    this.#say(move.client, message)
  }

  /** The Task of an unfinished task of a run and the unfinished ones that follow it. */
  #openPart(id: string, open: readonly string[]): Task | undefined {
    const run = this.#runs.get(id)
    if (run === undefined) return undefined
    let count = 1
    while (open.includes(nthTaskId(taskId(id), count))) count += 1
    const ids = Array.from({ length: count }, (_, at) => nthTaskId(taskId(id), at))
    const packed = pack(ids.map((each) => Buffer.from(each, 'latin1')))
    return { ...run, taskId: taskId(id), count, packed }
  }

  /** A worker answers for consecutive tasks in one message. */
  #finishRun({ worker: name, at, count, seconds: took }: Step): void {
    const held = this.held.get(name) ?? []
    const first = held[at % Math.max(held.length, 1)]
    if (first === undefined || !this.#runs.has(first)) return
    const ids: string[] = []
    const attempt = this.scheduler.attemptOf(name, first)
    for (let next = 0; next < count; next += 1) {
      const id = nthTaskId(taskId(first), next)
      if (!held.includes(id) || this.scheduler.attemptOf(name, id) !== attempt) break
      ids.push(id)
    }
    if (ids.length > 1) this.#count('several results in one message')
    const duration = result(first, 'success', took).metadata.subarray(0, 4)
    this.#say(name, {
      ...result(first, 'success', took),
      results: [],
      count: ids.length,
      packed: pack(ids.map((id) => Buffer.from(id, 'latin1'))),
      metadata: Buffer.concat(ids.map(() => duration)),
    })
  }

  #heldBy(move: Step): string | undefined {
    const held = this.held.get(move.worker) ?? []
    return held[move.at % Math.max(held.length, 1)]
  }

  #markCancelled(id: string): void {
    this.#cancelled.add(id)
    this.#markChildrenCancelled(id)
  }

  #markChildrenCancelled(id: string): void {
    const children = this.#children.get(id) ?? []
    this.#children.delete(id)
    for (const child of children) this.#markCancelled(child)
  }

  /** Removes a client: it receives no more results. */
  #forgetClient(name: string): void {
    for (const id of this.open.get(name) ?? []) this.#markCancelled(id)
    this.open.get(name)?.clear()
  }

  #join(name: string, tasks: readonly string[]): void {
    if (!this.held.has(name)) this.held.set(name, [])
    this.#say(name, { ...this.#heartbeat(name), tasks: tasks.map(taskId) })
  }

  #lose(name: string): void {
    const held = this.held.get(name) ?? []
    for (const id of held) this.#markChildrenCancelled(id)
    this.#before.set(name, held)
    this.held.delete(name)
    this.#asked.delete(name)
    this.#leaving.delete(name)
    this.scheduler.handle({ type: 'peerDisconnected', peer: identity(name) })
    this.#observe()
  }

  #finish(name: string, at: number, how: Step['status'], took: number): void {
    const held = this.held.get(name)
    const id = held?.[at % Math.max(held.length, 1)]
    if (id === undefined) return
    // A worker that drops a recalled task, or refuses to, has answered the recall.
    const status = this.#plausible(id, how)
    if (status === 'canceled' || status === 'notFound') this.#forgetAsked(name, id)
    this.#say(name, result(id, status, took))
  }

  #forgetAsked(name: string, id: string): void {
    const asked = this.#asked.get(name) ?? []
    const index = asked.findIndex((one) => one.id === id)
    if (index >= 0) asked.splice(index, 1)
  }

  /** A cancelled task is dropped or ends normally; `notFound` is only plausible otherwise. */
  #plausible(id: string, how: Step['status']): Step['status'] {
    return how === 'notFound' && this.#cancelled.has(id) ? 'canceled' : how
  }

  /** A worker answers its oldest cancel: whether it drops the task. */
  #answer(name: string, isBegun: boolean): void {
    const asked = this.#asked.get(name)?.shift()
    if (asked === undefined) return
    const { id, isCancel, isForced } = asked
    const held = this.held.get(name) ?? []
    const isDropped = held.includes(id) && (isForced || !isBegun)
    // A task that continues although cancelled is forgotten once all cancels are answered.
    const isLast = this.#asked.get(name)?.every((other) => other.id !== id) === true
    if (isCancel && isLast && held.includes(id)) held.splice(held.indexOf(id), 1)
    if (!isCancel) this.#count(isDropped ? 'given back' : 'kept')
    this.#say(name, result(id, isDropped ? 'canceled' : 'notFound'))
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }

  #answerOutdated(move: Step): void {
    const id = this.#heldBy(move)
    const hasEnded = move.status === 'success' || move.status === 'failed'
    if (id === undefined || !hasEnded) return
    const counts = (): number[] => [...this.open.values()].map(({ size }) => size)
    const before = counts()
    this.scheduler.receiveAsIs(move.worker, { ...result(id, move.status), attempt: 99 })
    this.#observe()
    assert.deepEqual(counts(), before, 'a result of another attempt has no effect')
  }

  #say(from: string, message: Parameters<TestScheduler['receive']>[1]): void {
    // A worker that is not connected cannot send; messages in transit are lost with it.
    if (WORKERS.includes(from) && !this.held.has(from)) return
    // A task that was not found may still be there, and end in another way.
    if (message.kind === 'taskResult' && message.status !== 'notFound') {
      const held = this.held.get(from)
      for (let at = 0; at < countOf(message); at += 1) {
        const id = nthTaskId(message.taskId, at)
        const index = held?.indexOf(id) ?? -1
        if (index < 0) continue
        held?.splice(index, 1)
        if (message.status === 'success') this.#children.delete(id)
        else this.#markChildrenCancelled(id)
      }
    }
    this.scheduler.receive(from, message)
    this.#observe()
  }

  #observe(): void {
    const actions = this.scheduler.actions()
    // First, because their tasks are cancelled in the same event.
    for (const action of actions) {
      if (action.type !== 'disconnect' || !CLIENTS.includes(action.peer)) continue
      this.#forgetClient(action.peer)
      this.#homeless.add(action.peer)
    }
    for (const action of actions) for (const each of singles(action)) this.#onAction(each)
    for (const name of this.#homeless) {
      this.#homeless.delete(name)
      this.#sayHello(name)
    }
  }

  #onAction(action: SchedulerAction): void {
    if (action.type !== 'send' && action.type !== 'forward') return
    const line = this.scheduler.describe(action)
    const ended = /^(C\d) <- result (\S+) /.exec(line)
    const assigned = /^(W\d) <- task (\S+)/.exec(line)
    const asked = /^(W\d) <- cancel (\S+)/.exec(line)
    if (asked !== null) {
      const [, name, id] = asked as unknown as [string, string, string]
      const asks = { id, isCancel: this.#cancelled.has(id), isForced: line.endsWith(' by force') }
      this.#asked.set(name, [...(this.#asked.get(name) ?? []), asks])
      if (!asks.isCancel) this.#count(asks.isForced ? 'stopped' : 'recalled')
    }
    if (ended !== null) {
      const [, name, id] = ended as unknown as [string, string, string]
      // If the client is removed in the same event, it may have received a result before.
      const isFirst = this.open.get(name)?.delete(id) === true || this.#homeless.has(name)
      assert.ok(isFirst, `${id} ended for ${name} a second time`)
      if (!line.endsWith(' success')) this.#markChildrenCancelled(id)
    }
    if (assigned !== null) {
      const [, name, id] = assigned as unknown as [string, string, string]
      const others = [...this.held].filter(([, ids]) => ids.includes(id))
      assert.deepEqual(others, [], `${id} is assigned to two workers`)
      const isReturn = this.#before.get(name)?.includes(id) === true
      this.#count(isReturn ? 'came back' : 'assigned')
      assert.ok(!this.#leaving.has(name) || isReturn, `${name} is leaving and got ${id}`)
      assert.ok(!this.#cancelled.has(id), `${id} was assigned although it was cancelled`)
      this.held.get(name)?.push(id)
      const isCounted = (this.#gpus.get(id) ?? 0) > 0
      if (isCounted) this.#count('with units')
      assert.ok(!isCounted || isReturn || this.#hasUnits(name), `${name} has too few units`)
    }
  }
}

/** The same as messages about one task each. */
function singles(action: SchedulerAction): readonly SchedulerAction[] {
  if (action.type !== 'send' && action.type !== 'forward') return [action]
  const message = action.type === 'send' ? action.message : decode(action.bytes)
  const { kind } = message
  if (kind !== 'task' && kind !== 'taskCancel' && kind !== 'taskResult') return [action]
  if (kind !== 'taskCancel' && message.packed.byteLength > 0) {
    const entries = unpack(message.packed, countOf(message))
    // Each task in a run has its id as its only argument, and as its result.
    for (const [at, entry] of entries.entries()) {
      assert.equal(Buffer.from(entry).toString('latin1'), nthTaskId(message.taskId, at))
    }
  }
  return Array.from({ length: countOf(message) }, (_, at) => {
    const one = { ...message, taskId: nthTaskId(message.taskId, at), count: 0 } as const
    return { type: 'send', to: action.to, message: one } as const
  })
}

test('property: each task ends exactly once for its client, and nothing is left at the end', () => {
  const seen = new Map<string, number>()
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const world = new World(seen)
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
    { numRuns: sized(700, 300) },
  )
  const rare = ['several results in one message']
  for (const what of [
    ...rare,
    'recalled',
    'given back',
    'kept',
    'came back',
    'stopped',
    'with units',
  ]) {
    assert.ok((seen.get(what) ?? 0) > sized(5, 1), `${what} only ${seen.get(what) ?? 0} times`)
  }
})

test('property: the object table stays consistent, whatever is stored and deleted', () => {
  const ids = fc.subarray(['x', 'y', 'z'], { minLength: 1 })
  const move = fc.record({
    type: fc.constantFrom('create', 'delete', 'request', 'leave', 'lose', 'time'),
    client,
    worker,
    ids,
  })
  const retention = fc.constantFrom(0, 1, 400)
  fc.assert(
    fc.property(fc.array(move, { maxLength: 40, size: 'max' }), retention, (moves, retentionMs) => {
      const scheduler = new TestScheduler({ objectRetentionMs: retentionMs })
      for (const { type, client: name, worker: holder, ids: objects } of moves) {
        scheduler.receive(name, clientHeartbeat()).receive(holder, workerHeartbeat())
        if (type === 'create' || type === 'delete') {
          scheduler.receive(name, instruction(type, name, objects))
        } else if (type === 'request') {
          const objectIds = instruction('delete', name, objects).objectContent.objectIds
          scheduler.receive(holder, { kind: 'objectRequest', requestType: 'get', objectIds })
        } else if (type === 'leave') {
          scheduler.receive(name, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
        } else if (type === 'time') {
          scheduler.moveTo(scheduler.now + 150)
        } else {
          scheduler.handle({ type: 'peerDisconnected', peer: identity(holder) })
        }
      }
      for (const name of CLIENTS) {
        scheduler.receive(name, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
      }
      scheduler.moveTo(scheduler.now + retentionMs + 100)
      assert.equal(scheduler.machine.counts.objects, 0)
    }),
  )
})

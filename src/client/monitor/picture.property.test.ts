// A scheduler and one that watches it: no peer that joins or leaves is missing, and none is told
// twice, however many there are and however slowly reports are read.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../../base/short-run.kit.js'
import { identity } from '../../base/ids.js'
import {
  clientHeartbeat,
  type TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../../core/scheduler/scheduler.kit.js'
import type { ClusterEvent } from './cluster-info.js'
import { ClusterPicture } from './picture.js'

const LEAVE = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

/** A monitor in front of a scheduler, with what it was told: `+C1`, `-W2`. */
class Watched {
  readonly scheduler: TestScheduler = withPeers({})
  readonly present = new Set<string>()
  readonly told: string[] = []
  /** What clients did since the monitor subscribed. */
  readonly expected: string[] = []
  readonly #picture = new ClusterPicture('tcp://h:1')
  #unread = 0

  toggle(id: string): void {
    const isClient = id.startsWith('C')
    if (isClient) this.expected.push(`${this.present.has(id) ? '-' : '+'}${id}`)
    if (!this.present.delete(id)) {
      this.present.add(id)
      this.scheduler.receive(id, isClient ? clientHeartbeat() : workerHeartbeat())
    } else if (isClient) this.scheduler.receive(id, LEAVE)
    else this.scheduler.receive(id, { kind: 'disconnectRequest', worker: identity(id) })
  }

  /** A worker is cut off, and may come back at once. */
  cut(id: string, comesBack: boolean): void {
    if (!this.present.has(id)) return
    this.scheduler.handle({ type: 'peerDisconnected', peer: identity(id) })
    if (comesBack) this.scheduler.moveTo(this.scheduler.now + 50).receive(id, workerHeartbeat())
    else this.present.delete(id)
  }

  subscribe(): void {
    this.scheduler.handle({ type: 'peerDisconnected', peer: identity('M') }).actions()
    this.#unread = 4
    this.scheduler.receive('M', { ...clientHeartbeat(), wantsReport: true })
    this.read()
  }

  sample(): void {
    const use = { scheduler: { cpu: 1, rss: 1 }, rssFree: 1, turnP99Ms: 1 }
    this.scheduler.handle({ type: 'statisticsSampled', ...use })
    this.scheduler.moveTo(this.scheduler.now)
  }

  /** Takes what has come, without asking for more. */
  take(): void {
    for (const action of this.scheduler.actions()) {
      if (action.type !== 'send' || action.to !== 'M') continue
      if (action.message.kind !== 'monitorReport') continue
      this.#unread += 1
      this.#picture.onReport(action.message, 0, (event) => this.#onEvent(event))
    }
  }

  /** Asks for as many as were taken. */
  read(): void {
    const wishes = { wantsEvents: true, wantsFailures: false, wantsGraphs: false, wantsPeers: true }
    const request = { credit: this.#unread, failuresAfter: 0, ...wishes }
    this.#unread = 0
    this.scheduler.receive('M', { kind: 'monitorRequest', ...request })
  }

  /** Who is listed. */
  get listed(): readonly string[] {
    const { clients = [], hosts = [] } = this.#picture.info(0) ?? {}
    const workers = hosts.flatMap((host) => host.workers)
    return [...clients, ...workers].map(({ id }) => id)
  }

  #onEvent(event: ClusterEvent): void {
    if (event.type !== 'worker' && event.type !== 'client') return
    const { id } = event.type === 'worker' ? event.worker : event.client
    this.told.push(`${event.change === 'left' ? '-' : '+'}${id}`)
  }
}

const peer = fc.double({ min: 0, max: 0.999, noNaN: true })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('toggle' as const), peer }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('cut' as const), peer, back: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.nat(700) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('sample' as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('read' as const) }) },
)
const resubscribed = {
  weight: 1,
  arbitrary: fc.record({ type: fc.constant('subscribe' as const) }),
}
/** More than 250 of a kind are listed in parts. */
const size = fc.constantFrom(...Array.from({ length: 9 }, () => 4), 700)
const RUNS = { numRuns: sized(400, 60) }

type Step = { readonly type: 'subscribe' } | (typeof step extends fc.Arbitrary<infer S> ? S : never)

function watchedAfter(count: number, steps: readonly Step[]): Watched {
  const watched = new Watched()
  for (let at = 0; at < count; at += 1) watched.toggle(`${at % 2 === 0 ? 'C' : 'W'}${at}`)
  watched.sample()
  watched.expected.length = 0
  watched.subscribe()
  for (const each of steps) {
    const at = 'peer' in each ? Math.floor(each.peer * count * 1.5) : 0
    if (each.type === 'toggle') watched.toggle(`${at % 2 === 0 ? 'C' : 'W'}${at}`)
    else if (each.type === 'cut') watched.cut(`W${at}`, each.back)
    else if (each.type === 'wait') watched.scheduler.moveTo(watched.scheduler.now + each.ms)
    else watched[each.type]()
    watched.take()
  }
  for (let second = 0; second < 12; second += 1) {
    for (const id of watched.present) {
      watched.scheduler.receive(id, id.startsWith('C') ? clientHeartbeat() : workerHeartbeat())
    }
    watched.read()
    watched.sample()
    watched.scheduler.moveTo(watched.scheduler.now + 1_000)
    watched.take()
  }
  return watched
}

/** Throws if a peer has joined or left twice in a row. */
function checkOrder(told: readonly string[]): void {
  const last = new Map<string, string>()
  for (const line of told) {
    const id = line.slice(1)
    assert.notEqual(last.get(id), line, told.join(' '))
    last.set(id, line)
  }
}

test('each client that joins or leaves is told once, in order; each worker in turns', () => {
  fc.assert(
    fc.property(size, fc.array(step, { maxLength: 60 }), (count, steps) => {
      const { told, expected, present, listed } = watchedAfter(count, steps)
      assert.deepEqual(
        told.filter((line) => line[1] === 'C'),
        expected,
      )
      checkOrder(told)
      assert.deepEqual(new Set(listed), present)
    }),
    RUNS,
  )
})

test('who comes and goes while the monitor is away is told when it is back', () => {
  const all = fc.oneof<[fc.WeightedArbitrary<Step>, fc.WeightedArbitrary<Step>]>(
    { weight: 16, arbitrary: step },
    resubscribed,
  )
  fc.assert(
    fc.property(size, fc.array(all, { maxLength: 60 }), (count, steps) => {
      const { told, present, listed } = watchedAfter(count, steps)
      checkOrder(told)
      assert.deepEqual(new Set(listed), present)
      const last = new Map(told.map((line) => [line.slice(1), line.startsWith('+')]))
      for (const [id, isThere] of last) assert.equal(isThere, present.has(id), id)
    }),
    RUNS,
  )
})

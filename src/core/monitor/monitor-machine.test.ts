import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_MONITORS, FEATURE_OPERATORS } from '../../base/features.js'
import { identity, schedulerId, taskId } from '../../base/ids.js'
import type { Message, TaskFailure } from '../../wire/message.js'
import { MonitorMachine } from './monitor-machine.js'

/** A monitor whose actions are written as short lines. */
class TestMonitor {
  readonly machine = new MonitorMachine({
    wishes: { events: true, failures: true },
    heartbeatIntervalMs: 1_000,
  })
  now = 0

  /** What it does about an event. */
  on(type: 'connected' | 'disconnected' | 'reportRead' | 'tick'): string {
    return this.#handle({ type })
  }

  receive(message: Message): string {
    return this.#handle({ type: 'messageReceived', message })
  }

  /** The scheduler answers a heartbeat. */
  echo(id = 'S', features: number = FEATURE_MONITORS): string {
    const message = { kind: 'clientHeartbeatEcho', features, reports: [], waiting: [] } as const
    return this.receive({ ...message, schedulerId: schedulerId(id) })
  }

  report(...failures: readonly number[]): string {
    return this.receive({
      kind: 'monitorReport',
      states: [],
      events: [],
      lostEvents: 0,
      failures: failures.map((number) => ({ number }) as TaskFailure),
      lostFailures: 0,
      peers: [],
      hasAllPeers: false,
    })
  }

  #handle(event: Parameters<MonitorMachine['handle']>[0]): string {
    const lines: string[] = []
    this.machine.handle(event, this.now, (action) => {
      if (action.type === 'send' && action.message.kind === 'monitorRequest') {
        lines.push(`credit ${action.message.credit} after ${action.message.failuresAfter}`)
      } else if (action.type === 'report') {
        lines.push(action.isFirst ? 'first report' : 'report')
      } else lines.push(action.type)
    })
    this.machine.checkInvariants()
    return lines.join(', ')
  }
}

test('a monitor introduces itself, then gives credit, and a heartbeat follows each interval', () => {
  const monitor = new TestMonitor()
  assert.equal(monitor.machine.deadline, undefined)
  assert.equal(monitor.on('connected'), 'sendHeartbeat')
  assert.equal(monitor.echo(), 'credit 4 after 0')
  assert.equal(monitor.machine.deadline, 1_000)
  monitor.now = 1_000
  assert.equal(monitor.on('tick'), 'sendHeartbeat')
  assert.equal(monitor.echo(), '')
  assert.equal(monitor.machine.deadline, 2_000)
})

test('credit follows what the reader has taken', () => {
  const monitor = new TestMonitor()
  monitor.on('connected')
  monitor.echo()
  assert.equal(monitor.report(), 'first report')
  for (let count = 0; count < 3; count += 1) assert.equal(monitor.report(), 'report')
  assert.equal(monitor.echo(), '')
  assert.equal(monitor.on('reportRead'), 'credit 1 after 0')
})

test('after a lost connection the same scheduler continues where it was', () => {
  const monitor = new TestMonitor()
  monitor.on('connected')
  monitor.echo()
  monitor.report(1, 2)
  assert.equal(monitor.on('disconnected'), '')
  assert.equal(monitor.on('reportRead'), '')
  assert.equal(monitor.machine.deadline, undefined)
  assert.equal(monitor.on('connected'), 'sendHeartbeat')
  assert.equal(monitor.echo(), 'credit 4 after 2')
  assert.equal(monitor.report(3), 'report')
})

test('a scheduler without room is reported once, and asked again after each heartbeat', () => {
  const monitor = new TestMonitor()
  const rest = { note: 'why', tasks: [], stack: [], lines: [], worker: identity(''), objects: [] }
  const busy = { kind: 'operatorAnswer', number: 0, outcome: 'busy', ...rest } as const
  monitor.on('connected')
  assert.equal(monitor.receive({ ...busy, bytes: undefined }), '', 'it has not asked')
  assert.equal(monitor.echo(), 'credit 4 after 0')
  assert.equal(monitor.receive({ ...busy, bytes: undefined }), 'crowded')
  assert.equal(monitor.echo(), 'credit 4 after 0')
  assert.equal(monitor.receive({ ...busy, bytes: undefined }), '')
  assert.equal(monitor.echo(), 'credit 4 after 0')
  assert.equal(monitor.report(), 'first report')
  assert.equal(monitor.echo(), '')
})

test('with another scheduler everything begins anew', () => {
  const monitor = new TestMonitor()
  monitor.on('connected')
  monitor.echo()
  monitor.report(1, 2)
  monitor.on('reportRead')
  monitor.on('disconnected')
  monitor.on('connected')
  assert.equal(monitor.echo('T'), 'credit 4 after 0')
  assert.equal(monitor.report(1), 'first report')
})

test('a scheduler without the feature is refused, and other messages are logged', () => {
  const monitor = new TestMonitor()
  monitor.on('connected')
  assert.equal(monitor.echo('', 0), 'refuse')
  assert.equal(monitor.receive({ kind: 'taskRoom', tasks: 1 }), 'log')
})

/** The actions of a monitor that only asks. */
class TestAsker {
  readonly #machine = new MonitorMachine({ wishes: undefined, heartbeatIntervalMs: 1_000 })

  on(type: 'connected' | 'disconnected'): string[] {
    return this.#handle({ type })
  }

  echo(features: number): string[] {
    const fields = { features, reports: [], waiting: [], schedulerId: schedulerId('S') }
    return this.#receive({ kind: 'clientHeartbeatEcho', ...fields })
  }

  request(number: number): string[] {
    const nothing = { taskId: taskId(''), worker: identity(''), lines: 0, limitMS: 0 }
    const about = { action: 'explain', task: 'abcd', allocator: '', ...nothing } as const
    const request = { kind: 'operatorRequest', number, ...about } as const
    return this.#handle({ type: 'requested', request })
  }

  answer(number: number): string[] {
    const rest = { note: '', tasks: [], stack: [], lines: [], worker: identity(''), objects: [] }
    const message = { kind: 'operatorAnswer', number, outcome: 'unknown', ...rest } as const
    return this.#receive({ ...message, bytes: undefined })
  }

  #receive(message: Message): string[] {
    return this.#handle({ type: 'messageReceived', message })
  }

  #handle(event: Parameters<MonitorMachine['handle']>[0]): string[] {
    const lines: string[] = []
    this.#machine.handle(event, 0, (action) => {
      if (action.type !== 'send') lines.push(action.type)
      else if (action.message.kind !== 'operatorRequest') lines.push(action.message.kind)
      else lines.push(`request ${action.message.number}`)
    })
    this.#machine.checkInvariants()
    return lines
  }
}

const ASKING = FEATURE_MONITORS + FEATURE_OPERATORS

test('a request is sent once per connection until it is answered; an older scheduler is refused', () => {
  const asker = new TestAsker()
  assert.deepEqual(asker.request(7), [])
  asker.on('connected')
  assert.deepEqual(asker.echo(ASKING), ['request 7'], 'and no credit')
  assert.deepEqual(asker.echo(ASKING), [])
  asker.on('disconnected')
  asker.on('connected')
  assert.deepEqual(asker.echo(ASKING), ['request 7'])
  assert.deepEqual([asker.answer(6), asker.answer(7), asker.answer(7)], [[], ['answer'], []])
  assert.deepEqual(asker.request(7), ['request 7'])
  asker.on('disconnected')
  asker.on('connected')
  assert.deepEqual(asker.echo(FEATURE_MONITORS), ['refuse'])
})

test('of many requests, 16 are open at a time, on each connection', () => {
  const asker = new TestAsker()
  asker.on('connected')
  asker.echo(ASKING)
  const sent = Array.from({ length: 18 }, (_, at) => asker.request(at + 1)).flat()
  const first = Array.from({ length: 16 }, (_, at) => `request ${at + 1}`)
  assert.deepEqual(sent, first)
  assert.deepEqual(asker.answer(3), ['answer', 'request 17'])
  asker.on('disconnected')
  assert.deepEqual(asker.request(19), [])
  asker.on('connected')
  assert.deepEqual(asker.echo(ASKING), [
    ...first.filter((line) => line !== 'request 3'),
    'request 17',
  ])
  assert.deepEqual(asker.answer(17), ['answer', 'request 18'])
  assert.deepEqual(asker.answer(18), ['answer', 'request 19'])
  assert.deepEqual(asker.answer(19), ['answer'])
})

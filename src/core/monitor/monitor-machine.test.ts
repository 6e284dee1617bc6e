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

test('a request is sent once per connection until it is answered; an older scheduler is refused', () => {
  const sent: string[] = []
  const machine = new MonitorMachine({ wishes: undefined, heartbeatIntervalMs: 1_000 })
  const handle = (event: Parameters<MonitorMachine['handle']>[0]): string[] => {
    sent.length = 0
    machine.handle(event, 0, (action) => {
      sent.push(action.type === 'send' ? action.message.kind : action.type)
    })
    return [...sent]
  }
  const echo = (features: number): string[] => {
    const fields = { features, reports: [], waiting: [], schedulerId: schedulerId('S') }
    return handle({
      type: 'messageReceived',
      message: { kind: 'clientHeartbeatEcho', ...fields },
    })
  }
  const request = {
    kind: 'operatorRequest',
    number: 7,
    action: 'explain',
    task: 'abcd',
    taskId: taskId(''),
    worker: identity(''),
    lines: 0,
    limitMS: 0,
    allocator: '',
  } as const
  const answer = (number: number): string[] => {
    const rest = { note: '', tasks: [], stack: [], lines: [], worker: identity(''), objects: [] }
    const message = { kind: 'operatorAnswer', number, outcome: 'unknown', ...rest } as const
    return handle({ type: 'messageReceived', message: { ...message, bytes: undefined } })
  }
  const features = FEATURE_MONITORS + FEATURE_OPERATORS
  assert.deepEqual(handle({ type: 'requested', request }), [])
  handle({ type: 'connected' })
  assert.deepEqual(echo(features), ['operatorRequest'], 'and no credit')
  assert.deepEqual(echo(features), [])
  handle({ type: 'disconnected' })
  handle({ type: 'connected' })
  assert.deepEqual(echo(features), ['operatorRequest'])
  assert.deepEqual([answer(6), answer(7), answer(7)], [[], ['answer'], []])
  assert.deepEqual(handle({ type: 'requested', request }), ['operatorRequest'])
  handle({ type: 'disconnected' })
  handle({ type: 'connected' })
  assert.deepEqual(echo(FEATURE_MONITORS), ['refuse'])
})

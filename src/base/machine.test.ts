import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Alarm, Turn } from './machine.js'

interface Bell {
  readonly alarm: Alarm
  readonly name: string
}

/** A turn with alarms that write down when they are called, and how late. */
function tower(names: readonly string[]): {
  readonly turn: Turn<never>
  readonly alarms: readonly Alarm[]
  readonly at: (now: number) => string
} {
  const turn = new Turn<never>()
  const calls: string[] = []
  const bells: Bell[] = names.map((name) => ({
    name,
    alarm: turn.alarm((latenessMs) => calls.push(`${name} +${latenessMs}`)),
  }))
  const at = (now: number): string => {
    turn.begin(now, () => assert.fail('no action'))
    turn.ring()
    turn.checkInvariants()
    return calls.splice(0).join(', ')
  }
  return { turn, alarms: bells.map(({ alarm }) => alarm), at }
}

test('alarms are called once, the earliest first, with how late they are', () => {
  const { turn, alarms, at } = tower(['a', 'b', 'c'])
  const [a, b, c] = alarms
  assert.equal(turn.nextAlarmAt, undefined)
  c?.set(10)
  a?.set(30)
  b?.set(10)
  assert.equal(turn.nextAlarmAt, 10)
  assert.equal(at(9), '')
  assert.equal(at(12), 'b +2, c +2')
  assert.equal(turn.nextAlarmAt, 30)
  assert.equal(at(30), 'a +0')
  assert.equal(turn.nextAlarmAt, undefined)
  assert.equal(at(1_000), '')
})

test('an alarm can be moved and cleared, and set again', () => {
  const { turn, alarms, at } = tower(['a', 'b'])
  const [a, b] = alarms
  a?.set(10)
  b?.set(20)
  a?.set(30)
  assert.equal(turn.nextAlarmAt, 20)
  b?.clear()
  b?.clear()
  assert.deepEqual([a?.isSet, b?.isSet, turn.nextAlarmAt], [true, false, 30])
  a?.setBy(40)
  assert.equal(turn.nextAlarmAt, 30)
  a?.setBy(5)
  assert.equal(turn.nextAlarmAt, 5)
  a?.set(undefined)
  assert.equal(at(50), '')
  a?.set(50)
  assert.equal(at(50), 'a +0')
})

test('what is set for now while alarms are called waits for the next time', () => {
  const turn = new Turn<never>()
  let calls = 0
  const alarm = turn.alarm(() => {
    calls += 1
    alarm.set(turn.now)
  })
  turn.begin(5, () => {})
  alarm.set(5)
  turn.ring()
  assert.deepEqual([calls, turn.nextAlarmAt], [1, 5])
  turn.ring()
  assert.equal(calls, 2)
})

test('one that is due can be cleared or moved by one that is called before it', () => {
  const turn = new Turn<never>()
  const calls: string[] = []
  const first = turn.alarm(() => {
    calls.push('first')
    second.clear()
    third.set(9)
  })
  const second = turn.alarm(() => calls.push('second'))
  const third = turn.alarm(() => calls.push('third'))
  turn.begin(5, () => {})
  first.set(1)
  second.set(2)
  third.set(3)
  turn.ring()
  assert.deepEqual([calls, turn.nextAlarmAt], [['first'], 9])
  turn.begin(9, () => {})
  turn.ring()
  assert.deepEqual(calls, ['first', 'third'])
})

test('after ringOnly, other alarms neither ring nor count', () => {
  const turn = new Turn<never>()
  const calls: string[] = []
  const other = turn.alarm(() => calls.push('other'))
  const last = turn.alarm(() => calls.push('last'))
  other.set(1)
  turn.ringOnly(last)
  assert.equal(turn.nextAlarmAt, undefined)
  last.set(5)
  other.set(2)
  assert.equal(turn.nextAlarmAt, 5)
  turn.begin(4, () => {})
  turn.ring()
  assert.deepEqual(calls, [])
  turn.begin(5, () => {})
  turn.ring()
  turn.ring()
  assert.deepEqual([calls, turn.nextAlarmAt], [['last'], undefined])
})

test('actions and log lines leave by the way of the event', () => {
  const turn = new Turn<{ readonly type: 'stop' }>()
  const actions: unknown[] = []
  turn.begin(1, (action) => actions.push(action))
  turn.act({ type: 'stop' })
  turn.log('warn', 'odd', { peer: 'x' })
  turn.log('info', 'fine')
  assert.deepEqual(actions, [
    { type: 'stop' },
    { type: 'log', level: 'warn', text: 'odd', fields: { peer: 'x' } },
    { type: 'log', level: 'info', text: 'fine', fields: {} },
  ])
})

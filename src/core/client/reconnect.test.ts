import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../base/ids.js'
import type { ClientAction } from './events.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  sent,
  storedResult,
  summary,
  taskResult,
} from './harness.test.kit.js'

const LARGE = Buffer.alloc(101, 'L')

test('after a reconnect everything unfinished is sent again, in order of submission', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  harness.submit('b')
  harness.flush()
  harness.receive(inlineResult('b'))
  harness.disconnect()
  harness.submit('c')
  const opening = summary(harness.open())
  assert.deepEqual(opening, ['heartbeat', 'create serializer'])
  const [create, ...tasks] = summary(harness.flush())
  assert.match(create ?? '', /^create f <obj/)
  assert.deepEqual(tasks, ['task a', 'task c'])
})

test('a restarted scheduler gets everything again, results that were being fetched included', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.submit('b')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a', 'task b'])
  harness.receive(inlineResult('a'))
  harness.receive(inlineResult('b'))
  assert.deepEqual(harness.ends, [
    ['a', 'value ok'],
    ['b', 'value ok'],
  ])
})

test('the same scheduler is asked for a result again; if it is gone, the task runs again', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.disconnect()
  const opening = ['heartbeat', 'get serializer', 'create serializer', 'get r1']
  assert.deepEqual(summary(harness.open('S1')), opening)
  harness.receive(objectResponse('r1', undefined))
  assert.deepEqual(harness.ends, [])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
})

test('a 1.9.9 scheduler is never sent a task again', () => {
  const harness = new Harness()
  harness.open('')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.submit('b')
  harness.open('')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task b'])
  harness.receive(storedResult('a', 'r1'))
  harness.receive(objectResponse('r1', 'late'))
  assert.equal(harness.endOf('a'), 'value late')
})

test('what a 1.9.9 scheduler had is given up some time after a lost connection', () => {
  const harness = new Harness()
  harness.open('')
  for (const owner of ['a', 'b', 'c']) harness.submit(owner)
  harness.flush()
  harness.disconnect()
  harness.open('')
  harness.submit('d')
  harness.flush()
  harness.receive(storedResult('b', 'r1'))
  const actions = []
  for (let waited = 0; waited < 62_000; waited += 1_000) {
    actions.push(...harness.advance(1_000))
    harness.echo('')
    if (waited === 30_000) harness.disconnect()
    if (waited === 30_000) harness.open('')
    if (waited < 59_000) assert.deepEqual(harness.ends, [])
  }
  assert.deepEqual(harness.ends, [
    ['a', 'disconnected'],
    ['c', 'disconnected'],
  ])
  const cancels = summary(actions).filter((text) => text.startsWith('cancel'))
  assert.deepEqual(cancels, ['cancel a', 'cancel c'])
  const details = actions.flatMap((action) => (action.type === 'endTask' ? [action.detail] : []))
  assert.equal(details[0], 'no result 60000 ms after a lost connection')
  harness.receive(inlineResult('d'))
  assert.equal(harness.endOf('d'), 'value ok')
})

test('a short pause with a 1.9.9 scheduler is no reason to give anything up, a long one is', () => {
  for (const [pauseMs, end] of [
    [30_000, undefined],
    [70_000, 'disconnected'],
  ] as const) {
    const harness = new Harness()
    harness.open('')
    harness.submit('a')
    harness.flush()
    harness.advance(2_000)
    harness.now += pauseMs
    harness.echo('')
    harness.echo('')
    for (let waited = 0; waited < 62_000; waited += 1_000) {
      harness.advance(1_000)
      harness.echo('')
    }
    assert.equal(harness.endOf('a'), end)
  }
})

test('one of our schedulers in place of a 1.9.9 one gets everything', () => {
  const harness = new Harness()
  harness.open('')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.open('S1')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
})

test('a scheduler that shows another id on the same connection gets everything', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.advance(2_000)
  harness.echo('S2')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
})

test('a result that comes before the task was sent again counts, and it is not sent', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.open('S1')
  harness.receive(inlineResult('a'))
  assert.deepEqual(harness.ends, [['a', 'value ok']])
  assert.deepEqual(summary(harness.flush()), [])
})

test('refusals that come before the task was sent again do not count', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.open('S1')
  harness.receive(taskResult('a', { status: 'canceled' }))
  assert.deepEqual(harness.ends, [])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
})

test('a task cancelled while there is no connection is cancelled when there is one', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.cancel('a')
  assert.deepEqual(harness.ends, [['a', 'cancelled']])
  assert.deepEqual(summary(harness.open('S1')), ['heartbeat', 'create serializer', 'cancel! a'])
})

test('heartbeats keep their rhythm, and tell the latency of the last one', () => {
  const harness = new Harness()
  harness.handle({ type: 'connected' })
  harness.now += 4
  harness.echo()
  const actions = harness.advance(2_000)
  assert.deepEqual(
    actions.filter((action) => action.type === 'sendHeartbeat'),
    [{ type: 'sendHeartbeat', latencyUS: 2_000 }],
  )
})

test('unfinished tasks are given up after silence, and the client goes on', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.advance(59_000)
  assert.deepEqual(harness.ends, [])
  const actions = harness.advance(1_001)
  assert.deepEqual(harness.ends, [['a', 'disconnected']])
  assert.equal(summary(actions).at(-1), 'cancel! a', 'should it live after all')
  harness.submit('b')
  assert.equal(harness.endOf('b'), undefined)
  harness.flush()
  harness.receive(inlineResult('b'))
  assert.equal(harness.endOf('b'), 'value ok')
})

test('tasks that never found a scheduler are given up, and are told why', () => {
  const harness = new Harness()
  harness.submit('a')
  harness.handle({ type: 'connectFailed', reason: 'connection refused' })
  const actions = harness.advance(60_000)
  const end = actions.find((action) => action.type === 'endTask')
  assert.equal(end?.reason, 'disconnected')
  assert.equal(end.detail, 'no message from the scheduler for 60000 ms (connection refused)')
})

test('the silence counts from the submission when nothing was unfinished before', () => {
  const harness = new Harness()
  harness.advance(600_000)
  harness.submit('a')
  harness.advance(59_999)
  assert.deepEqual(harness.ends, [])
  harness.advance(1)
  assert.deepEqual(harness.ends, [['a', 'disconnected']])
})

test('progress on a long message keeps the scheduler alive', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  for (let i = 0; i < 10; i += 1) {
    harness.advance(20_000)
    harness.handle({ type: 'progressed' })
  }
  assert.deepEqual(harness.ends, [])
})

test('a scheduler of ours hears of the client in every interval, whatever the echoes do', () => {
  const harness = new Harness()
  harness.open()
  const actions = harness.advance(6_100)
  assert.deepEqual(summary(actions), ['heartbeat', 'heartbeat', 'heartbeat'])
})

test('a 1.9.9 scheduler gets no heartbeat while an echo is outstanding', () => {
  const harness = new Harness()
  harness.open('')
  assert.deepEqual(summary(harness.advance(6_100)), ['heartbeat'])
})

test('a process that stood still does not take that for silence', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.now += 100_000
  harness.handle({ type: 'tick' })
  assert.deepEqual(harness.ends, [])
  harness.advance(61_000)
  assert.deepEqual(harness.ends, [['a', 'disconnected']])
})

test('after echoes far apart a 1.9.9 scheduler is greeted and gets the objects again', () => {
  const harness = new Harness()
  harness.open('')
  harness.submit('a')
  harness.flush()
  harness.advance(2_000)
  harness.now += 50_000
  assert.deepEqual(summary(harness.echo('')), ['heartbeat'])
  assert.deepEqual(summary(harness.flush()), [])
  assert.deepEqual(summary(harness.echo('')), ['create serializer'])
  harness.submit('b')
  assert.deepEqual(summary(harness.flush()), ['create f', 'task b'])
})

test('an upload of 4 GB over 10 Mbit/s is no silence, and is not begun again after it', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  assert.deepEqual(summary(harness.flush()).at(-1), 'task a')
  const uploadMs = (4e9 * 8) / 10_000
  const actions = []
  let heartbeats = 0
  for (let waited = 0; waited < uploadMs; waited += 1_000) {
    const sentNow = summary(harness.advance(1_000))
    heartbeats += sentNow.length
    actions.push(...sentNow.filter((text) => text !== 'heartbeat'))
    harness.handle({ type: 'progressed' })
  }
  assert.equal(heartbeats, uploadMs / 2_000)
  // Everything that was stuck arrives at once, and so do the echoes.
  for (let i = 0; i < heartbeats; i += 1) actions.push(...summary(harness.echo()))
  actions.push(...summary(harness.flush()))
  assert.deepEqual(actions, [], 'nothing was sent a second time')
  assert.deepEqual(harness.ends, [])
  harness.receive(inlineResult('a'))
  assert.equal(harness.endOf('a'), 'value ok')
})

test('a download of 1 GiB over a slow link is no silence, although no echo comes through', () => {
  const harness = new Harness({ timeoutMs: 5_000 })
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  let heartbeats = 0
  for (let waited = 0; waited < 600_000; waited += 1_000) {
    heartbeats += summary(harness.advance(1_000)).length
    harness.handle({ type: 'progressed' })
  }
  assert.equal(heartbeats, 300, 'the scheduler has to hear that somebody reads')
  assert.deepEqual(harness.ends, [])
  harness.receive(objectResponse('r1', 'large'))
  assert.equal(harness.endOf('a'), 'value large')
})

test('a long message that stops moving is silence', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  harness.flush()
  harness.advance(50_000)
  harness.handle({ type: 'progressed' })
  harness.advance(59_999)
  assert.deepEqual(harness.ends, [])
  harness.advance(1)
  assert.deepEqual(harness.ends, [['a', 'disconnected']])
})

test('without reconnect the first lost link ends every task and the client', () => {
  const harness = new Harness({ reconnect: false })
  harness.handle({ type: 'connectFailed', reason: 'refused' })
  harness.open()
  harness.submit('a')
  harness.flush()
  const actions = harness.disconnect('reset by peer')
  assert.deepEqual(harness.ends, [['a', 'disconnected']])
  assert.deepEqual(actions.at(-1), { type: 'closeLink' })
  harness.submit('b')
  assert.equal(harness.endOf('b'), 'disconnected')
})

test('closing tells one of our schedulers just that', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a', [LARGE])
  harness.submit('b')
  harness.flush()
  const actions = harness.handle({ type: 'closeRequested' })
  assert.deepEqual(summary(actions), ['goodbye'])
  assert.deepEqual(actions.at(-1), { type: 'closeLink' })
  assert.deepEqual(harness.ends, [
    ['a', 'closed'],
    ['b', 'closed'],
  ])
})

test('closing cancels with a 1.9.9 scheduler, says good-bye, and deletes everything', () => {
  const harness = new Harness()
  harness.open('')
  harness.submit('a', [LARGE])
  harness.submit('b')
  harness.submit('c')
  harness.flush()
  harness.receive(storedResult('b', 'r1'))
  harness.submit('d')
  const actions = summary(harness.handle({ type: 'closeRequested' }))
  assert.deepEqual(actions.slice(0, 3), ['cancel a', 'cancel c', 'goodbye'])
  const deleted = (actions[3] ?? '').split(' ')
  assert.equal(actions.length, 4)
  assert.equal(deleted[0], 'delete')
  assert.equal(deleted.length, 5, 'serializer, function, argument, result')
})

test('closing before there is a connection says nothing', () => {
  const harness = new Harness()
  harness.submit('a')
  assert.deepEqual(summary(harness.handle({ type: 'closeRequested' })), [])
  assert.deepEqual(harness.ends, [['a', 'closed']])
})

test('closing twice closes once, and what is submitted afterwards ends at once', () => {
  const harness = new Harness()
  harness.open()
  harness.handle({ type: 'closeRequested' })
  assert.deepEqual(harness.handle({ type: 'closeRequested' }), [])
  harness.handle({ type: 'linkClosed' })
  harness.submit('a')
  assert.deepEqual(harness.ends, [['a', 'closed']])
  assert.equal(harness.machine.deadline, undefined)
})

test('nothing is sent on a closing link, whatever comes', () => {
  const harness = new Harness()
  harness.open()
  harness.handle({ type: 'closeRequested' })
  const actions = [
    ...harness.echo('S2'),
    ...harness.handle({ type: 'connected' }),
    ...harness.flush(),
    ...harness.advance(10_000),
  ]
  assert.deepEqual(summary(actions), [])
})

test('a new scheduler hears nothing of what was cancelled while there was none', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.submit('b')
  harness.flush()
  harness.disconnect()
  harness.cancel('a')
  assert.deepEqual(summary(harness.open('S2')), ['heartbeat', 'create serializer'])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task b'])
})

/** The tasks that were sent, with a `?` if they may have run. */
function tasksIn(actions: readonly ClientAction<string>[]): string[] {
  return sent(actions).flatMap((message) => {
    if (message.kind !== 'task') return []
    return [`${message.taskId}${message.mayHaveRun ? '?' : ''}`]
  })
}

test('tasks that another scheduler process had say so, new ones and waiting ones do not', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.submit('b')
  harness.disconnect()
  harness.submit('c')
  harness.open('S2')
  assert.deepEqual(tasksIn(harness.flush()), ['a?', 'b', 'c'])
})

test('the same scheduler process gets a task again without a word about it', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.open('S1')
  assert.deepEqual(tasksIn(harness.flush()), ['a'])
})

test('a task that went to a second process may have run whenever it is sent from then on', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  for (const scheduler of ['S2', 'S2', 'S3']) {
    harness.disconnect()
    harness.open(scheduler)
    assert.deepEqual(tasksIn(harness.flush()), ['a?'], scheduler)
  }
})

test('a task whose stored result went with its scheduler may have run', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(tasksIn(harness.flush()), ['a?'])
})

test('a 1.9.9 scheduler gets plain tasks, whoever had them before', () => {
  const harness = new Harness()
  harness.open('S1')
  harness.submit('a')
  harness.flush()
  harness.disconnect()
  harness.open('')
  assert.deepEqual(tasksIn(harness.flush()), ['a'])
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(tasksIn(harness.flush()), ['a?'])
})

// A link may break just after it has taken a message: the scheduler may not have read it.

/** A client whose scheduler was told, with the last message of a link, to delete `r1`. */
function withDeletion(scheduler = 'S1'): Harness {
  const harness = new Harness()
  harness.open(scheduler)
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  harness.receive(objectResponse('r1', 'value'))
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
  return harness
}

test('a deletion that the scheduler may not have read is sent to it again', () => {
  for (const scheduler of ['S1', '']) {
    const harness = withDeletion(scheduler)
    harness.disconnect()
    harness.open(scheduler)
    assert.deepEqual(summary(harness.flush()), ['delete r1'])
    harness.disconnect()
    harness.open(scheduler)
    assert.deepEqual(summary(harness.flush()), ['delete r1'])
  }
})

test('the echo of a heartbeat that was sent after a deletion confirms it', () => {
  const harness = withDeletion()
  harness.advance(2_000)
  harness.echo()
  harness.disconnect()
  harness.open()
  assert.deepEqual(summary(harness.flush()), [])
})

test('a cancel that the scheduler may not have read is sent to it again', () => {
  for (const scheduler of ['S1', '']) {
    const harness = new Harness()
    harness.open(scheduler)
    harness.submit('a')
    harness.submit('b')
    harness.flush()
    assert.deepEqual(cancels(harness.cancel('a')), ['cancel a'])
    harness.disconnect()
    assert.deepEqual(cancels(harness.cancel('b')), [])
    for (let round = 0; round < 2; round += 1) {
      const actions = [...harness.open(scheduler), ...harness.flush()]
      assert.deepEqual(cancels(actions), ['cancel b', 'cancel a'])
      harness.disconnect()
    }
    harness.open(scheduler)
    harness.flush()
    harness.advance(2_000)
    harness.echo(scheduler)
    harness.disconnect()
    assert.deepEqual(cancels([...harness.open(scheduler), ...harness.flush()]), [])
  }
})

function cancels(actions: Parameters<typeof summary>[0]): string[] {
  const texts = summary(actions).filter((text) => text.startsWith('cancel'))
  // Without force if the scheduler is of 1.9.9.
  return texts.map((text) => text.replace('!', ''))
}

test('another scheduler is not sent the cancels of the last one', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.cancel('a')
  harness.disconnect()
  assert.deepEqual(cancels([...harness.open('S2'), ...harness.flush()]), [])
})

test('the echo of an earlier heartbeat, or of one on a new connection, confirms no deletion', () => {
  const harness = new Harness()
  harness.open()
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  assert.deepEqual(summary(harness.advance(2_000)), ['heartbeat'])
  harness.receive(objectResponse('r1', 'value'))
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
  harness.echo()
  harness.disconnect()
  harness.advance(1_000)
  harness.handle({ type: 'connected' })
  harness.advance(100)
  harness.echo()
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
})

test('another scheduler hears nothing of deletions that the last one may not have read', () => {
  const harness = withDeletion()
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), [])
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), [])
})

test('clearing deletes what was deleted just before the link broke', () => {
  const harness = withDeletion()
  harness.disconnect()
  harness.handle({ type: 'clearRequested' })
  harness.open()
  const [message] = summary(harness.flush())
  assert.match(message ?? '', /^delete .*r1/)
})

test('a value that is used again is not deleted again, until it is not needed once more', () => {
  const harness = new Harness()
  harness.open()
  const content = Buffer.from('table')
  const value = { id: objectId('table'), name: content, content }
  harness.handle({ type: 'objectPinned', value })
  assert.deepEqual(summary(harness.flush()), ['create table'])
  harness.handle({ type: 'objectUnpinned', id: value.id })
  assert.deepEqual(summary(harness.flush()), ['delete table'])
  harness.disconnect()
  harness.handle({ type: 'objectPinned', value })
  harness.open()
  assert.deepEqual(summary(harness.flush()), ['create table'])
  harness.handle({ type: 'objectUnpinned', id: value.id })
  assert.deepEqual(summary(harness.flush()), ['delete table'])
  // Again, but this time it is not sent: the scheduler may still have it.
  harness.disconnect()
  harness.handle({ type: 'objectPinned', value })
  harness.handle({ type: 'objectUnpinned', id: value.id })
  harness.open()
  assert.deepEqual(summary(harness.flush()), ['delete table'])
})

// What monitors of this version receive, for how much credit, and what subscribers receive.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUR_FEATURES, FEATURE_MONITORS } from '../../../base/features.js'
import { identity, objectId, taskId } from '../../../base/ids.js'
import {
  type AllocatorStatus,
  decode,
  type MonitorReport,
  type MonitorRequest,
  type MonitorState,
  type Task,
} from '../../../wire/message.js'
import { countOf } from '../../../wire/run.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  peer,
  result,
  results,
  run as runOf,
  task,
  withPeers,
  workerHeartbeat,
  type TestScheduler,
} from '../scheduler.kit.js'

const NOTHING: MonitorRequest = {
  kind: 'monitorRequest',
  credit: 0,
  wantsEvents: false,
  wantsFailures: false,
  failuresAfter: 0,
  wantsGraphs: false,
  wantsPeers: false,
}
const ALL: MonitorRequest = { ...NOTHING, credit: 100, wantsEvents: true, wantsFailures: true }
const ALLOCATOR: AllocatorStatus = {
  name: 'A',
  provider: 'local',
  runtime: '',
  offers: [],
  room: 1,
  pending: 0,
  claim: 0,
  running: 0,
  isPaused: false,
  decision: 'wait',
  why: '',
  problem: '',
}
const ERROR = { name: 'RangeError', message: 'too far', stack: 'RangeError: too far\n    at f' }

function connect(scheduler: TestScheduler, request: MonitorRequest = ALL, name = 'M'): void {
  scheduler.receive(name, { ...clientHeartbeat(), wantsReport: true }).receive(name, request)
}

/** The reports to a monitor since the last call or the last `actions`. */
function told(scheduler: TestScheduler, name = 'M'): readonly MonitorReport[] {
  return scheduler.actions().flatMap((action) => {
    if (action.type !== 'send' || action.to !== name) return []
    return action.message.kind === 'monitorReport' ? [action.message] : []
  })
}

/** A second has passed. Until the next ticks, monitors get what the budget of a turn allows. */
function takeSample(scheduler: TestScheduler): TestScheduler {
  return scheduler.handle({
    type: 'statisticsSampled',
    scheduler: { cpu: 5, rss: 1_000 },
    rssFree: 2_000,
    turnP99Ms: 3,
  })
}

/** The same with the ticks that follow at once. */
function sample(scheduler: TestScheduler): TestScheduler {
  return takeSample(scheduler).moveTo(scheduler.now)
}

function stateOf(scheduler: TestScheduler): MonitorState {
  scheduler.actions()
  const [state] = told(sample(scheduler)).flatMap(({ states }) => states)
  assert.ok(state !== undefined)
  return state
}

/** Runs this many tasks to completion, by worker W for client C. */
function run(scheduler: TestScheduler, count: number, first = 0): void {
  for (let index = first; index < first + count; index += 1) {
    scheduler.receive('C', task(`t${index}`, 'C')).receive('W', result(`t${index}`))
  }
}

test('a monitor receives each task that ends, with its full history, soon after', () => {
  const scheduler = withPeers({ clients: ['C'] })
  connect(scheduler)
  scheduler.moveTo(1_000).receive('C', { ...task('t', 'C'), name: 'mine' })
  scheduler.moveTo(1_300).receive('W', workerHeartbeat())
  scheduler
    .moveTo(3_000)
    .receive('W', result('t', 'success', 1.5))
    .actions()
  assert.deepEqual(told(scheduler.moveTo(3_099)), [])
  const [message, ...others] = told(scheduler.moveTo(3_100))
  assert.deepEqual(others, [])
  assert.deepEqual(message?.events, [
    {
      taskId: 't',
      name: 'mine',
      function: 'name of f',
      client: 'C',
      worker: 'W',
      status: 'success',
      queuedAgoMS: 2_100,
      startAgoMS: 1_600,
      endAgoMS: 100,
      durationMS: 1_500,
      errorName: '',
      attempts: 1,
      past: [],
    },
  ])
  assert.deepEqual([message?.lostEvents, message?.failures, message?.states], [0, [], []])
})

test('a new monitor gets the failures, then the state at once', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  run(sample(scheduler), 2)
  scheduler.receive('C', task('bad', 'C')).receive('W', result('bad', 'failed')).actions()
  connect(scheduler, { ...ALL, wantsEvents: false })
  const [failures, state, ...others] = told(scheduler)
  assert.deepEqual(others, [])
  assert.deepEqual([failures?.failures.length, failures?.states], [1, []])
  assert.deepEqual([state?.failures, state?.states[0]?.workers], [[], 1])
  // The next one shortly after, not in the same turn; and each monitor gets it only once.
  connect(scheduler, { ...NOTHING, credit: 5 }, 'N')
  assert.deepEqual(told(scheduler, 'N'), [])
  assert.equal(told(scheduler.moveTo(100), 'N').length, 1)
  assert.deepEqual(told(scheduler.moveTo(200), 'N'), [])
})

test('all rows of a large cluster are sent to a new monitor one after the other', () => {
  const workers = Array.from({ length: 2_500 }, (_, index) => `W${index}`)
  const scheduler = withPeers({ workers })
  sample(scheduler).actions()
  connect(scheduler, { ...NOTHING, credit: 20 })
  const rows = (to: number): number[][] => {
    const states = told(scheduler.moveTo(to)).flatMap((message) => message.states)
    return states.map(({ firstWorker, workerReports }) => [firstWorker, workerReports.length])
  }
  assert.deepEqual(
    rows(500),
    Array.from({ length: 10 }, (_, index) => [250 * index, 250]),
  )
  // Two a second from then on, not in the same turn.
  sample(scheduler)
  assert.deepEqual(rows(510), [[0, 250]])
  assert.deepEqual(rows(900), [[250, 250]])
  sample(scheduler)
  assert.deepEqual(rows(2_000), [
    [500, 250],
    [750, 250],
  ])
})

test('failures are reported with their error; tasks that never ran have no start time', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler)
  scheduler.receive('C', task('bad', 'C')).moveTo(10)
  scheduler.receive('W', { ...result('bad', 'failed'), error: [ERROR] })
  scheduler.receive('W', { ...workerHeartbeat(), isLeaving: true })
  scheduler.receive('C', task('never', 'C')).moveTo(30).receive('C', cancel('never')).actions()
  const [message] = told(scheduler.moveTo(200))
  const [bad, never] = message?.events ?? []
  assert.deepEqual([bad?.errorName, bad?.status], ['RangeError', 'failed'])
  assert.deepEqual(
    [never?.status, never?.worker, never?.startAgoMS, never?.queuedAgoMS, never?.attempts],
    ['canceled', '', 0, 100, 0],
  )
  const [failure, ...others] = message?.failures ?? []
  assert.deepEqual(others, [])
  assert.deepEqual(failure, {
    number: 1,
    taskId: 'bad',
    name: '',
    function: 'name of f',
    client: 'C',
    worker: 'W',
    status: 'failed',
    agoMS: 100,
    error: [ERROR],
    attempts: 1,
  })
})

test('the last 1,000 failures are kept, and sent from the number that a monitor names', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (let index = 0; index < 1_100; index += 1) {
    scheduler.receive('C', task(`t${index}`, 'C')).receive('W', result(`t${index}`, 'failed'))
  }
  scheduler.actions()
  connect(scheduler)
  const all = told(scheduler.moveTo(10))
  const failures = all.flatMap((message) => message.failures)
  assert.deepEqual(
    failures.map(({ number }) => number),
    range(101, 1_100),
  )
  assert.ok(all.every((message) => message.failures.length <= 50 && message.events.length === 0))
  assert.deepEqual(
    all.map(({ lostFailures }) => lostFailures),
    [100, ...range(1, 19).map(() => 0)],
  )
  connect(scheduler, { ...ALL, failuresAfter: 1_098 }, 'N')
  const some = told(scheduler.moveTo(20), 'N').flatMap((message) => message.failures)
  assert.deepEqual(
    some.map(({ number }) => number),
    [1_099, 1_100],
  )
  connect(scheduler, { ...ALL, failuresAfter: 2 ** 50 }, 'O')
  assert.deepEqual(told(scheduler.moveTo(30), 'O'), [])
})

test('a message takes one credit; without credit, events wait, then are dropped and counted', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler, { ...ALL, credit: 2 })
  run(scheduler, 1_200)
  const first = told(scheduler.moveTo(1_000))
  assert.deepEqual(
    first.map(({ events }) => events.length),
    [500, 500],
  )
  assert.deepEqual(told(sample(scheduler).moveTo(2_000)), [])
  // No more than the rate limit allows.
  run(scheduler, 4_000, 1_200)
  run(scheduler.moveTo(3_000), 4_000, 5_200)
  run(scheduler.moveTo(4_000), 3_000, 9_200)
  assert.deepEqual(told(scheduler.moveTo(5_000)), [])
  scheduler.receive('M', { ...ALL, credit: 1 })
  const [next] = told(scheduler.moveTo(6_000))
  // 12,200 have ended, 1,000 were sent, 10,000 are kept.
  assert.equal(next?.lostEvents, 1_200)
  assert.equal(next?.events[0]?.taskId, 't2200')
  assert.equal(next?.events.length, 500)
})

test('above 5,000 tasks per second, events are left out and counted; failures are not', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler, ALL)
  run(scheduler.moveTo(5_000), 15_000)
  scheduler.receive('C', task('bad', 'C')).receive('W', result('bad', 'failed'))
  run(scheduler.moveTo(6_000), 3, 15_000)
  const reports = told(scheduler.moveTo(7_000))
  const sum = (count: (report: MonitorReport) => number): number =>
    reports.reduce((total, report) => total + count(report), 0)
  assert.deepEqual(
    [sum(({ events }) => events.length), sum(({ lostEvents }) => lostEvents)],
    [5_003, 10_001],
  )
  assert.equal(
    sum(({ failures }) => failures.length),
    1,
  )
  assert.equal(reports.at(-1)?.events.at(-1)?.taskId, 't15002')
})

test('of a run, no more tasks than the rate allows are events: the others are counted', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler, ALL)
  scheduler.moveTo(5_000).actions()
  for (let at = 0; at < 20; at += 1) {
    const letter = String.fromCharCode(65 + at)
    scheduler.receive('C', runOf(`AA${letter}he-middle--AA`, 'C', 600))
  }
  const reports: MonitorReport[] = []
  for (let actions = scheduler.actions(); actions.length > 0; actions = scheduler.actions()) {
    for (const action of actions) {
      if (action.type === 'send' && action.message.kind === 'monitorReport') {
        reports.push(action.message)
      }
      if ((action.type !== 'send' && action.type !== 'forward') || action.to !== 'W') continue
      const message = action.type === 'send' ? action.message : decode(action.bytes)
      if (message.kind === 'task') scheduler.receive('W', results(message.taskId, countOf(message)))
    }
  }
  reports.push(...told(sample(scheduler.moveTo(6_000))))
  const sum = (count: (report: MonitorReport) => number): number =>
    reports.reduce((total, report) => total + count(report), 0)
  assert.deepEqual(
    [sum(({ events }) => events.length), sum(({ lostEvents }) => lostEvents)],
    [5_000, 7_000],
  )
})

test('credit adds up to a limit', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler, { ...NOTHING, credit: 2 ** 32 - 1 })
  for (let index = 0; index < 3; index += 1) scheduler.receive('M', { ...NOTHING, credit: 900 })
  scheduler.actions()
  for (let index = 0; index < 40; index += 1) sample(scheduler)
  assert.equal(told(scheduler).length, 32)
})

test('events of tasks that ended before a monitor subscribed are not kept or sent', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler, { ...NOTHING, credit: 10 })
  run(scheduler, 3)
  assert.deepEqual(told(scheduler.moveTo(500)), [])
  scheduler.receive('M', ALL)
  run(scheduler, 2, 3)
  const events = told(scheduler.moveTo(1_000)).flatMap((message) => message.events)
  assert.deepEqual(
    events.map((event) => event.taskId),
    ['t3', 't4'],
  )
  // It unsubscribes; others still receive events.
  scheduler.receive('M', NOTHING)
  connect(scheduler, ALL, 'N')
  run(scheduler, 1, 5)
  scheduler.moveTo(2_000)
  const all = scheduler.actions()
  const to = (name: string): number =>
    all.filter((action) => action.type === 'send' && action.to === name).length
  assert.deepEqual([to('M'), to('N')], [0, 1])
})

test('a client without the feature, or that has left, receives nothing', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('stranger', ALL)
  const older = { ...clientHeartbeat(), features: OUR_FEATURES & ~FEATURE_MONITORS }
  scheduler.receive('older', older).receive('older', ALL)
  assert.equal(scheduler.logs().filter((line) => line.startsWith('ignored a monitor')).length, 2)
  // Whatever its runtime: this one sends none, and is considered Python.
  connect(scheduler)
  scheduler.handle({ type: 'peerDisconnected', peer: peer('M') }).actions()
  run(sample(scheduler), 1)
  const sent = scheduler.moveTo(1_000).actions()
  const kinds = sent.map((action) => (action.type === 'send' ? action.message.kind : action.type))
  assert.ok(!kinds.includes('monitorReport'))
  // It reconnects, and subscribes again.
  connect(scheduler)
  run(scheduler, 1, 1)
  const [state, ended, ...others] = told(scheduler.moveTo(2_000))
  assert.deepEqual([state?.states.length, ended?.events.length, others], [1, 1, []])
})

test('there may be a hundred monitors; a lost one makes room, and refusals are logged once', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (let index = 0; index < 100; index += 1) connect(scheduler, ALL, `M${index}`)
  for (let count = 0; count < 5; count += 1) connect(scheduler, ALL, 'late')
  const refusals = (): number =>
    scheduler.logs().filter((line) => line.startsWith('refused a monitor: there are too many'))
      .length
  assert.equal(refusals(), 1)
  const answers = scheduler.actions().flatMap((action) => {
    if (action.type !== 'send' || action.message.kind !== 'operatorAnswer') return []
    const { number, outcome, note } = action.message
    return [[action.to, number, outcome, note].join(' ')]
  })
  const answer = 'late 0 busy it serves at most 100 monitors at a time'
  assert.deepEqual(answers, new Array<string>(5).fill(answer))
  scheduler.moveTo(60_000).receive('late', ALL)
  assert.equal(refusals(), 1)
  scheduler.handle({ type: 'peerDisconnected', peer: peer('M7') }).receive('late', ALL)
  run(scheduler, 1)
  assert.equal(told(scheduler.moveTo(60_100), 'late').length, 1)
})

/** The monitors that get a state, in order, in each turn until nothing more is due at once. */
function stateTurns(scheduler: TestScheduler): readonly (readonly string[])[] {
  const turns: string[][] = []
  for (;;) {
    const reports = scheduler.actions().flatMap((action) => {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') return []
      return action.message.states.map(() => action.to)
    })
    if (reports.length > 0) turns.push(reports)
    if ((scheduler.machine.deadline ?? Infinity) > scheduler.now) return turns
    scheduler.handle({ type: 'tick' })
  }
}

test('the states of many monitors are spread over turns; each gets one a second, in order', () => {
  const names = range(1, 90).map((number) => `M${number}`)
  const scheduler = withPeers({ workers: range(1, 10).map((number) => `W${number}`) })
  for (const name of names) connect(scheduler, NOTHING, name)
  scheduler.moveTo(1_000).actions()
  for (const second of [1, 2, 3]) {
    // Their requests arrive in one turn, after the sample, and do not add to its messages.
    takeSample(scheduler.moveTo(second * 1_000))
    for (const name of names) scheduler.receive(name, { ...NOTHING, credit: 2 })
    takeSample(scheduler)
    const turns = stateTurns(scheduler)
    const longest = Math.max(...turns.map(({ length }) => length))
    assert.ok(longest <= 8, `${longest} states in one turn`)
    assert.deepEqual(turns.flat().slice(0, 90).toSorted(), names.toSorted())
  }
})

test('a state that lists much has a turn of its own', () => {
  const scheduler = withPeers({})
  const names = range(1, 40).map((number) => `M${number}`)
  for (const name of names) {
    connect(scheduler, { ...NOTHING, credit: 30 }, name)
    const offers = range(1, 64).map((number) => ({ name: `offer ${number}`, value: 1 }))
    scheduler.receive(name, { kind: 'allocatorReport', allocator: { ...ALLOCATOR, name, offers } })
  }
  scheduler.moveTo(2_000).actions()
  const turns = stateTurns(takeSample(scheduler))
  assert.deepEqual(
    turns,
    names.map((name) => [name]),
  )
})

test('many monitors of a large cluster get two states a second each, all the same number', () => {
  const scheduler = withPeers({ workers: range(1, 1_000).map((number) => `W${number}`) })
  const names = range(1, 90).map((number) => `M${number}`)
  for (const name of names) connect(scheduler, NOTHING, name)
  const counts = new Map(names.map((name) => [name, 0]))
  for (const second of [1, 2, 3, 4, 5, 6]) {
    for (const name of names) scheduler.receive(name, { ...NOTHING, credit: 9 })
    scheduler.moveTo(second * 1_000)
    const actions = takeSample(scheduler)
      .moveTo(second * 1_000 + 900)
      .actions()
    // At first, all get all of them.
    if (second <= 4) continue
    for (const action of actions) {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') continue
      counts.set(action.to, (counts.get(action.to) ?? 0) + action.message.states.length)
    }
  }
  assert.deepEqual([...new Set(counts.values())], [4])
})

test('events of many monitors are spread over turns', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  const names = range(1, 90).map((number) => `M${number}`)
  for (const name of names) connect(scheduler, { ...ALL, credit: 30 }, name)
  const eventCounts = new Map(names.map((name) => [name, 0]))
  const countEvents = (): number => {
    let count = 0
    for (const action of scheduler.actions()) {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') continue
      const { length } = action.message.events
      eventCounts.set(action.to, (eventCounts.get(action.to) ?? 0) + length)
      count += length
    }
    return count
  }
  scheduler.moveTo(1_000).actions()
  run(scheduler, 1_999)
  countEvents()
  scheduler.now = 1_200
  while ((scheduler.machine.deadline ?? Infinity) <= scheduler.now) {
    scheduler.handle({ type: 'tick' })
    const inTurn = countEvents()
    assert.ok(inTurn <= 2_000, `${inTurn} events in one turn`)
  }
  assert.deepEqual([...new Set(eventCounts.values())], [1_999])
})

test('failures with long texts are sent in slices, for all monitors together, each once', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  const error = { name: 'Error', message: 'm'.repeat(1_024), stack: 's'.repeat(4_096) }
  for (let index = 0; index < 200; index += 1) {
    const failed = { ...result(`t${index}`, 'failed'), error: [error] }
    scheduler.receive('C', task(`t${index}`, 'C')).receive('W', failed)
  }
  scheduler.actions()
  const names = ['M', 'N', 'O']
  const wish = { ...ALL, wantsEvents: false }
  for (const name of names) connect(scheduler, wish, name)
  const numbers = new Map<string, number[]>(names.map((name) => [name, []]))
  let most = 0
  for (let now = 100; now < 10_000; now += 100) {
    let characters = 0
    const sent = scheduler.moveTo(now).actions()
    for (const action of sent) {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') continue
      const { failures } = action.message
      numbers.get(action.to)?.push(...failures.map(({ number }) => number))
      characters += failures.length * 5_125
    }
    most = Math.max(most, characters)
    // A repeated request does not repeat failures.
    for (const name of names) scheduler.receive(name, NOTHING).receive(name, wish)
  }
  for (const name of names) assert.deepEqual(numbers.get(name), range(1, 200))
  assert.ok(most > 0 && most < 250_000 + 100_000 + 2 * 5_500, `${most} characters in one turn`)
})

test('the state counts current and ended tasks, by function as well', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler)
  scheduler.receive('C', instruction('create', 'C', ['g']))
  run(scheduler, 2)
  const long: Task = { ...task('long', 'C'), funcObjectId: objectId('g') }
  scheduler.receive('C', long).receive('W', result('long', 'failed', 2))
  scheduler.receive('C', task('running', 'C')).receive('C', task('next', 'C'))
  scheduler.receive('C', { ...task('needy', 'C'), capabilities: [{ name: 'tpu', value: 1 }] })
  scheduler.moveTo(500)
  const state = stateOf(scheduler)
  assert.deepEqual(state.scheduler, { cpu: 5, rss: 1_000 })
  assert.deepEqual([state.rssFree, state.waiting, state.running], [2_000, 2, 1])
  assert.deepEqual(state.ended, [
    { status: 'success', tasks: 2 },
    { status: 'failed', tasks: 1 },
  ])
  const counts = state.functions.map(({ p50MS, p90MS, p99MS, ...rest }) => {
    for (const quantile of [p50MS, p90MS, p99MS]) {
      assert.ok(Math.abs(quantile / rest.longestMS - 1) < 0.05, `${quantile}`)
    }
    return rest
  })
  const [f, g] = [
    { name: 'name of f', ended: 2, failed: 0, measured: 2, totalMS: 2_000, longestMS: 1_000 },
    { name: 'name of g', ended: 1, failed: 1, measured: 1, totalMS: 2_000, longestMS: 2_000 },
  ]
  assert.deepEqual(counts, [
    { ...f, peakBytes: 0 },
    { ...g, peakBytes: 0 },
  ])
  const sorted = state.waitingCounts.toSorted((a, b) => a.needs.localeCompare(b.needs))
  assert.deepEqual(sorted, [
    { reason: 'allBusy', needs: '', function: 'name of f', isPython: false, tasks: 1, forMS: 500 },
    {
      reason: 'noCapability',
      needs: 'tpu=1',
      function: 'name of f',
      isPython: false,
      tasks: 1,
      forMS: 500,
    },
  ])
  assert.deepEqual([state.workers, state.workerReports.length], [1, 1])
  // The monitor is not counted as a client.
  assert.deepEqual(
    [state.clients, state.clientReports.map(({ client, tasks }) => [client, tasks])],
    [1, [['C', 3]]],
  )
  const bytes = ['content of f', 'content of g', 'content of r-t0'].map(({ length }) => length)
  assert.ok(state.objects >= 2 && state.objectBytes >= (bytes[0] ?? 0) + (bytes[1] ?? 0))
})

test('the state has the rates of the last second, and how long the scheduler runs', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler)
  run(scheduler, 5)
  scheduler.moveTo(1_000)
  stateOf(scheduler)
  scheduler.receive('C', { ...task('odd', 'C') }).receive('W', result('odd', 'failed', 1))
  scheduler.receive('C', task('running', 'C'))
  scheduler.receive('C', { ...task('needy', 'C'), capabilities: [{ name: 'tpu', value: 1 }] })
  scheduler.moveTo(1_500)
  const state = stateOf(scheduler)
  assert.deepEqual([state.submittedPerS, state.endedPerS, state.failedPerS], [6, 2, 2])
  assert.deepEqual([state.uptimeMS, state.turnP99MS], [1_500, 3])
  const { received, sent } = state.binder
  const countOf = (pairs: typeof received, name: string): number | undefined => {
    return pairs.find(({ client }) => client === name)?.number
  }
  assert.deepEqual([countOf(received, 'TaskResult'), countOf(sent, 'TaskResult')], [6, 6])
  scheduler.moveTo(2_500)
  const { submittedPerS, endedPerS, failedPerS } = stateOf(scheduler)
  assert.deepEqual([submittedPerS, endedPerS, failedPerS], [0, 0, 0])
})

test('each state lists some of many workers and clients, in turn', () => {
  const names = range(1, 625).map(String)
  const clients = names.map((name) => `C${name}`)
  const scheduler = withPeers({ clients, workers: names.map((name) => `W${name}`) })
  connect(scheduler)
  const seen = [stateOf(scheduler), stateOf(scheduler), stateOf(scheduler), stateOf(scheduler)]
  assert.deepEqual(
    seen.map(({ firstWorker, workerReports }) => [firstWorker, workerReports.length]),
    [
      [0, 250],
      [250, 250],
      [500, 125],
      [0, 250],
    ],
  )
  assert.deepEqual(
    seen.map(({ firstClient, clientReports }) => [firstClient, clientReports.length]),
    seen.map(({ firstWorker, workerReports }) => [firstWorker, workerReports.length]),
  )
  assert.equal(seen[1]?.workerReports[0]?.worker.workerId, 'W251')
})

test('counts of waiting tasks are updated when tasks or clients leave', () => {
  const scheduler = withPeers({ clients: ['C', 'D'] })
  connect(scheduler)
  for (const client of ['C', 'D']) {
    for (const id of ['1', '2', '3']) scheduler.receive(client, task(`${client}${id}`, client))
  }
  const counts = (): unknown =>
    stateOf(scheduler).waitingCounts.map(({ reason, tasks }) => [reason, tasks])
  assert.deepEqual(counts(), [['noWorker', 6]])
  scheduler.receive('C', cancel('C2'))
  assert.deepEqual(counts(), [['noWorker', 5]])
  const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const
  scheduler.receive('D', leave)
  assert.deepEqual(counts(), [['noWorker', 2]])
  scheduler.receive('W', workerHeartbeat())
  scheduler.receive('W', result('C1')).receive('W', result('C3'))
  assert.deepEqual(counts(), [])
})

test('nodes of graphs that wait for others are counted as such', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler)
  const node = (id: string, ...needs: string[]): Task => ({
    ...task(id, 'C'),
    functionArgs: needs.map((need) => ({ type: 'task', data: Buffer.from(need) })),
  })
  scheduler.receive('C', {
    kind: 'graphTask',
    taskId: taskId('graph'),
    source: identity('C'),
    targets: [taskId('c')],
    graph: [node('a'), node('b', 'a'), node('c', 'a', 'b')],
    isOpen: false,
  })
  const [counts] = stateOf(scheduler).waitingCounts
  assert.deepEqual([counts?.reason, counts?.tasks], ['dependency', 2])
  scheduler.receive('W', result('a'))
  assert.deepEqual(
    stateOf(scheduler).waitingCounts.map(({ tasks }) => tasks),
    [1],
  )
  scheduler.receive('W', result('b')).receive('W', result('c'))
  assert.deepEqual(stateOf(scheduler).waitingCounts, [])
})

test('ready nodes are counted by function and requirement', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler)
  scheduler.receive('C', instruction('create', 'C', ['f', 'g']))
  const node = (id: string, fn: string, gpu: number, ...needs: string[]): Task => ({
    ...task(id, 'C'),
    funcObjectId: objectId(fn),
    capabilities: gpu === 0 ? [] : [{ name: 'gpu', value: gpu }],
    functionArgs: needs.map((need) => ({ type: 'task', data: Buffer.from(need) })),
  })
  scheduler.receive('C', {
    kind: 'graphTask',
    taskId: taskId('graph'),
    source: identity('C'),
    targets: [],
    graph: [
      ...range(1, 6).map((number) => node(`a${number}`, 'f', 1)),
      node('b', 'g', 0, 'a1'),
      node('c', 'g', 2, 'a1'),
    ],
    isOpen: true,
  })
  const counts = stateOf(scheduler).waitingCounts.map((row) => {
    return [row.reason, row.needs, row.function, row.tasks]
  })
  assert.deepEqual(counts, [
    ['noCapability', 'gpu=1', 'name of f', 6],
    ['dependency', '', 'name of g', 1],
    ['dependency', 'gpu=2', 'name of g', 1],
  ])
})

test('function names beyond the limit are counted together', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  connect(scheduler)
  for (const number of range(1, 1_010)) {
    const id = `fn${number}`
    scheduler.receive('C', instruction('create', 'C', [id]))
    scheduler.receive('C', { ...task(`t${number}`, 'C'), funcObjectId: objectId(id) })
    scheduler.receive('W', result(`t${number}`))
  }
  const { functions } = stateOf(scheduler)
  assert.equal(functions.length, 200)
  assert.deepEqual([functions[0]?.name, functions[0]?.ended], ['(others)', 10])
})

test('subscribers receive all events up to a rate, and above it all events of some tasks', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.handle({ type: 'subscribersChanged', count: 1 }).actions()
  const published = (): readonly string[] =>
    scheduler.lines().filter((line) => line.startsWith('monitor <- task'))
  run(scheduler, 5_000)
  const lines = published()
  assert.equal(lines.length, 6_000)
  const logs = new Map<string, string[]>()
  for (const line of lines) {
    const [, , , id = '', status = ''] = line.split(' ')
    logs.set(id, [...(logs.get(id) ?? []), status])
  }
  assert.equal(logs.size, 2_000)
  for (const log of logs.values()) {
    assert.deepEqual(log, ['inactive', 'running', 'success'])
  }
  scheduler.moveTo(1_000)
  run(scheduler, 5_000, 5_000)
  const more = published().length
  assert.ok(more <= 2_000 && more > 1_990)
})

test('all events of a published task are published, however long it takes', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.handle({ type: 'subscribersChanged', count: 1 })
  scheduler.receive('C', task('long', 'C'))
  run(scheduler, 0)
  for (const index of range(1, 4_000)) scheduler.receive('C', task(`w${index}`, 'C'))
  scheduler.actions()
  scheduler.receive('W', result('long'))
  assert.ok(scheduler.lines().includes('monitor <- task long success'))
})

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

test('the event of a task has its earlier attempts', () => {
  const scheduler = withPeers({ workers: ['W', 'V'], clients: ['C'] })
  connect(scheduler)
  scheduler.moveTo(1_000).receive('C', task('t', 'C')).moveTo(1_200)
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W') })
  scheduler
    .moveTo(1_600)
    .receive('V', { ...result('t'), worker: identity('V') })
    .actions()
  const [event] = told(scheduler.moveTo(1_700)).flatMap(({ events }) => events)
  assert.equal(event?.attempts, 2)
  assert.deepEqual(event?.past, [{ worker: 'W', outcome: 'workerLost', agoMS: 700, forMS: 200 }])
})

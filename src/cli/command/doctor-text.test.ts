import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockProblem, type Diagnosis, serverProblem } from '../../client/connect/diagnosis.js'
import type { FoundClient, FoundWorker } from '../../client/connect/peers.js'
import { diagnosisText, problemText } from './doctor-text.js'

const WORKER: FoundWorker = {
  id: '1|name|2',
  name: 'name',
  pid: 1,
  version: '1.2.2',
  runtime: 'node/24.0.0',
  agentId: 'a',
  capabilities: { linux: -1, gpu: 2 },
  isLeaving: false,
  startedAt: '2020-01-01T00:00:00.000Z',
  endsAt: '2030-01-01T00:00:00.000Z',
  allocation: '',
  tasks: 3,
  running: [{ task: '00', name: 'fib', forMs: 1 }],
}

const CLIENT: FoundClient = {
  id: '3|Client|4',
  name: 'main.mjs',
  host: 'south',
  pid: 3,
  version: '1.2.3',
  runtime: 'node/20.20.2',
  startedAt: undefined,
  tasks: 400,
  worker: '',
}

const HEALTHY: Diagnosis = {
  address: 'tcp://h:2345',
  scheduler: {
    remote: '10.0.0.1 port 2345',
    kind: 'scaler-ts',
    version: '1.2.3',
    runtime: 'node/20.20.2',
    id: '0123456789abcdef',
    features: 15,
    roundTrip: { medianMs: 0.5, minMs: 0.25, maxMs: 2, count: 9 },
    clock: { aheadMs: -2_000, errorMs: 1.2 },
  },
  workers: { total: 3, suitable: 2, idle: 1 },
  hosts: [{ host: 'north', machineId: 'm', workers: [WORKER, { ...WORKER, running: [] }] }],
  clients: [CLIENT, { ...CLIENT, worker: '1|name|2' }],
  waiting: [],
  monitor: { address: 'tcp://h:2347', waitingTasks: 4, runningTasks: 5, objects: 6 },
  task: {
    durationMs: 12.5,
    worker: '1|name|2',
    version: '1.2.2',
    runtime: 'node/24.0.0',
    clock: { aheadMs: 1, errorMs: 1.5 },
  },
  storageServers: [],
  problems: [],
}

test('each part that was checked is one line', () => {
  assert.equal(
    diagnosisText(HEALTHY, false),
    `ok    scheduler   tcp://h:2345 healthy: scaler-ts 1.2.3, node/20.20.2, id 01234567
ok    round trip  0.5 ms (median of 9; 0.25 to 2)
ok    clock       is 2000 ms behind the local clock (± 1.2 ms)
ok    workers     3: 2 of them run JavaScript, 1 idle
ok    host        north: 2 workers (scaler-ts 1.2.2, node/24.0.0), offer linux; gpu=2, 1 task runs, the first stops at 2030-01-01T00:00:00.000Z
ok    clients     1: main.mjs on south (pid 3), 400 unfinished tasks, and 1 inside tasks
ok    monitor     tcp://h:2347 publishes: 4 tasks wait, 5 are with workers, 6 objects
ok    task        ran on 1|name|2 (scaler-ts 1.2.2, node/24.0.0) in 12.5 ms
ok    its clock   agrees with the local clock (± 1.5 ms)
`,
  )
})

test('a clock that is far off is a note', () => {
  const { scheduler, task } = HEALTHY
  assert.ok(scheduler !== undefined && task !== undefined)
  const clock = { aheadMs: 3 * 86_400_000, errorMs: 1.5 }
  const off = { ...HEALTHY, scheduler: { ...scheduler, clock }, task: { ...task, clock } }
  const problem = clockProblem('scheduler', 'the scheduler', clock)
  assert.ok(problem !== undefined)
  assert.equal(problem.isFatal, false)
  const text = diagnosisText({ ...off, problems: [problem] }, false)
  assert.doesNotMatch(text, /^ok +(its )?clock/m)
  assert.match(
    text,
    /^note  scheduler +the clock of the scheduler is 3 days ahead of the local clock/m,
  )
})

test('beyond five, hosts and clients are only counted', () => {
  const hosts = Array.from({ length: 7 }, (_, index) => {
    return { host: `h${index}`, machineId: '', workers: [WORKER] }
  })
  const clients = Array.from({ length: 6 }, () => CLIENT)
  const text = diagnosisText({ ...HEALTHY, hosts, clients }, false)
  assert.match(
    text,
    /^ok +host +h4: 1 worker \(.*\), offers linux.*\nok +host +2 more hosts with 2 workers$/m,
  )
  assert.match(text, /^ok +clients +6: .*; and 1 more$/m)
  assert.doesNotMatch(text, /h5/)
})

test('different capabilities of workers on one host are listed', () => {
  const other = { ...WORKER, capabilities: { gpu: 4 } }
  const hosts = [{ host: 'h', machineId: '', workers: [WORKER, other, WORKER] }]
  const text = diagnosisText({ ...HEALTHY, hosts }, false)
  assert.match(text, /3 workers \(.*\), offer linux; gpu=2, others gpu=4/)
})

test('waiting tasks have their reason, and are a note if no worker can run them', () => {
  const waiting = [
    { reason: 'all-busy', needs: '', function: 'price', tasks: 4_000, forMs: 12_345 },
    { reason: 'no-capability', needs: 'tpu=1', function: '', tasks: 1, forMs: 900 },
  ] as const
  const text = diagnosisText({ ...HEALTHY, waiting }, false)
  assert.match(
    text,
    /^ok {4}waiting {5}4000 tasks of price wait: all workers are busy, the first for 12 s\nok {4}monitor/m,
  )
  assert.match(
    text,
    /^note {2}waiting {5}1 task waits: no worker offers what they ask for \(tpu=1\)\n$/m,
  )
  const many = diagnosisText({ ...HEALTHY, waiting: new Array(9).fill(waiting[0]) }, false)
  assert.equal(many.match(/waiting/g)?.length, 5)
})

test('counts of one are in the singular', () => {
  const monitor = { address: 'tcp://h:2347', waitingTasks: 1, runningTasks: 1, objects: 1 }
  const text = diagnosisText({ ...HEALTHY, monitor }, false)
  assert.match(text, /publishes: 1 task waits, 1 is with workers, 1 object\n/)
})

test('problems that are not fatal are notes, fatal ones are left out', () => {
  const note = { part: 'monitor', isFatal: false, what: 'nothing', advice: 'look' } as const
  const fatal = { part: 'task', isFatal: true, what: 'it failed', advice: '' } as const
  const diagnosis: Diagnosis = {
    ...HEALTHY,
    scheduler: undefined,
    workers: { total: 0, suitable: 0, idle: 0 },
    hosts: undefined,
    clients: undefined,
    waiting: undefined,
    monitor: undefined,
    task: undefined,
    storageServers: undefined,
    problems: [note, fatal],
  }
  assert.equal(diagnosisText(diagnosis, false), 'note  monitor     nothing; look\n')
  assert.equal(problemText(fatal), 'it failed')
})

test('object storage servers that can be used are listed; others are notes', () => {
  const server = { address: 'tcp://a:1', state: 'up', problem: '', objects: 3, bytes: 9 } as const
  const far = { ...server, address: 'tcp://b:1', trouble: 'connection refused' }
  const away = { ...server, address: 'tcp://c:1', state: 'away', problem: 'closed' } as const
  const storageServers = [{ ...server, trouble: '' }, far, { ...away, trouble: '' }]
  const problems = storageServers.flatMap((each) => serverProblem(each) ?? [])
  const text = diagnosisText({ ...HEALTHY, storageServers, problems }, false)
  assert.match(text, /^ok {4}storage {5}1: tcp:\/\/a:1; 3 objects there$/m)
  assert.match(
    text,
    /^note {2}storage {5}this machine cannot use .* tcp:\/\/b:1 \(connection refused\);/m,
  )
  assert.match(text, /^note {2}storage {5}the scheduler cannot use .* tcp:\/\/c:1 \(closed\);/m)
})

test('a 1.9.9 scheduler has no version and no id', () => {
  const { scheduler } = HEALTHY
  assert.ok(scheduler !== undefined)
  const old = { ...scheduler, kind: '1.9.9', version: undefined, runtime: undefined } as const
  const text = diagnosisText({ ...HEALTHY, scheduler: { ...old, id: '', clock: undefined } }, false)
  assert.match(text, /^ok {4}scheduler {3}tcp:\/\/h:2345 healthy: 1\.9\.9\nok {4}round trip/)
})

test('text has colours only if asked for', () => {
  assert.match(diagnosisText(HEALTHY, true), /^\u001b\[32mok {2}\u001b\[0m {2}scheduler/)
  assert.ok(!diagnosisText(HEALTHY, false).includes('\u001b'))
})

test('workers of Python Scaler have their own count, and waiting tasks their language', () => {
  const lineOf = (more: Partial<Diagnosis>): string => {
    return /^ok +workers +(.*)$/m.exec(diagnosisText({ ...HEALTHY, ...more }, false))?.[1] ?? ''
  }
  const python = { total: 2, idle: 1 }
  assert.equal(
    lineOf({ workers: { total: 2, suitable: 0, idle: 0, python } }),
    '2: 2 of them run Python, 1 idle',
  )
  assert.equal(
    lineOf({ workers: { total: 5, suitable: 3, idle: 2, python } }),
    '5: 3 of them run JavaScript, 2 idle; 2 of them run Python, 1 idle',
  )
  const row = { reason: 'no-runtime', needs: '', function: 'f', tasks: 2, forMs: 0 } as const
  const waiting = [row, { ...row, runtime: 'python' }] as const
  const text = diagnosisText({ ...HEALTHY, waiting }, false)
  assert.match(text, /^note {2}waiting {5}2 tasks of f wait: no worker runs JavaScript$/m)
  assert.match(text, /^note {2}waiting {5}2 tasks of f wait: no worker runs Python$/m)
})

test('names cannot control the terminal', () => {
  const name = 'a\u001b[2J\nok    forged\u202e'
  const waiting = { reason: 'all-busy', needs: '', function: name, tasks: 1, forMs: 0 } as const
  const clients = [{ ...CLIENT, name }]
  const text = diagnosisText({ ...HEALTHY, clients, waiting: [waiting] }, false)
  assert.doesNotMatch(text, /[^\P{Cc}\n]|\u202e/u)
  assert.doesNotMatch(text, /^ok +forged/m)
  assert.match(text, /^ok +waiting +1 task of a\?\[2J\?ok/m)
})

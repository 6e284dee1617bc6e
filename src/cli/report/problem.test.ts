import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  AllocatorInfo,
  ClusterInfo,
  FailureInfo,
  LostWorker,
  WaitingInfo,
} from '../../client/monitor/cluster-info.js'
import { allocator, info, TIME, worker } from './cluster-info.kit.js'
import { problemsOf } from './problem.js'

const ADDRESS = 'tcp://10.0.0.1:2345'

function waiting(requirement: string, more: Partial<WaitingInfo> = {}): WaitingInfo {
  const reason = 'no-capability'
  return {
    reason,
    requirement,
    function: 'price',
    count: 4_000,
    seconds: 9,
    ...more,
  }
}

/** All problems as text. */
function problems(more: Parameters<typeof info>[0]): readonly string[] {
  return problemsOf(info(more)).map(({ what, advice }) => `${what}; ${advice}`)
}

test('a capability that is missing is named, with the command that offers it', () => {
  assert.deepEqual(problems({ waiting: [waiting('gpu=1, linux')] }), [
    '4,000 tasks of price() wait: no worker offers gpu=1, linux; ' +
      `start one that does: scaler_cluster --capabilities gpu=1,linux ${ADDRESS}`,
  ])
  const blocked = waiting('gpu=1, besides what waiting parents hold', { count: 1 })
  assert.deepEqual(problems({ waiting: [blocked] }), [
    '1 task of price() waits: no worker offers gpu=1, besides what waiting parents hold; ' +
      `start one that does: scaler_cluster --capabilities gpu=1 ${ADDRESS}`,
  ])
})

test('what a client calls a capability is one word of the command', () => {
  for (const [name, word] of [
    ['x;id', "'x;id=1'"],
    ["$(id)'`id`", "'$(id)'\\''`id`=1'"],
    ['a\nb', "'a?b=1'"],
  ]) {
    const [text = ''] = problems({ waiting: [waiting(`${name}=1`)] })
    assert.ok(text.endsWith(`scaler_cluster --capabilities ${word} ${ADDRESS}`), text)
  }
})

test('tasks that differ only in what they need are one problem, which says in what', () => {
  const kinds = Array.from({ length: 12 }, (_, at) => waiting(`gpu=1, zone-${at}`, { count: 10 }))
  assert.deepEqual(problems({ waiting: kinds }), [
    '120 tasks of price() wait: no worker offers what they need (12 kinds, all with gpu=1): ' +
      'zone-0; zone-1; zone-2; …; start workers that do, for example: ' +
      `scaler_cluster --capabilities gpu=1,zone-0 ${ADDRESS} (scaler tasks lists all kinds)`,
  ])
  const two = [waiting('gpu=1'), waiting('gpu=1, linux', { count: 1 })]
  assert.match(
    problems({ waiting: two })[0] ?? '',
    /\(2 kinds, all with gpu=1\): only that; linux;/,
  )
  const apart = [waiting('gpu=1, fast'), waiting('linux'), waiting('arm', { function: 'solve' })]
  assert.match(problems({ waiting: apart })[0] ?? '', /\(2 kinds\): gpu=1 \+ fast; linux;/)
  assert.equal(problems({ waiting: apart }).length, 2)
})

test('without workers, the advice offers what the tasks need', () => {
  const none = { hosts: [] }
  const none1 = { ...none, waiting: [waiting('gpu=1', { reason: 'no-worker' })] }
  const start = 'there are no workers; start JavaScript workers: scaler_cluster'
  assert.deepEqual(problems(none), [`${start} ${ADDRESS}`])
  assert.deepEqual(problems(none1), [`${start} --capabilities gpu=1 ${ADDRESS}`])
  const mixed = [
    waiting('', { reason: 'no-worker' }),
    waiting('gpu=1', { reason: 'no-worker', count: 2 }),
    waiting('linux', { reason: 'no-worker', count: 1 }),
  ]
  assert.deepEqual(problems({ ...none, waiting: mixed }), [
    `${start} ${ADDRESS}; 3 tasks need capabilities, most of them: --capabilities gpu=1`,
  ])
})

test('the advice is for the languages of the tasks that wait', () => {
  const none = { hosts: [] }
  const python = waiting('', { reason: 'no-worker', runtime: 'python' })
  const ours = waiting('gpu=1', { reason: 'no-worker' })
  const command = `Python workers: scaler_cluster ${ADDRESS} (the command of Python Scaler)`
  assert.deepEqual(problems({ ...none, waiting: [python] }), [
    `there are no workers; start ${command}`,
  ])
  assert.deepEqual(problems({ ...none, waiting: [python, ours] }), [
    'there are no workers; start JavaScript workers: scaler_cluster --capabilities gpu=1 ' +
      `${ADDRESS}, and ${command}`,
  ])
  const one = { requirement: '', function: 'f', count: 1, reason: 'no-runtime' } as const
  assert.deepEqual(problems({ waiting: [waiting('', { ...one, runtime: 'python' })] }), [
    `1 task of f() waits: no worker runs Python; start ${command}`,
  ])
  assert.deepEqual(problems({ waiting: [waiting('', one)] }), [
    '1 task of f() waits: no worker runs JavaScript; ' +
      `start JavaScript workers: scaler_cluster ${ADDRESS}`,
  ])
})

test('another language, a full queue and a slow scheduler are problems; busy workers are not', () => {
  const one = { function: '', count: 1 }
  const language = waiting('', { ...one, reason: 'no-runtime' })
  assert.match(
    problems({ waiting: [language] })[0] ?? '',
    /^1 task waits: no worker runs JavaScript; /,
  )
  const full = waiting('', { reason: 'limit' })
  assert.match(problems({ waiting: [full] })[0] ?? '', /the queue is full; add workers, or raise/)
  assert.deepEqual(problems({ waiting: [waiting('', { reason: 'all-busy' })] }), [])
  const { scheduler } = info()
  const slow = problems({ scheduler: { ...scheduler, turnP99Ms: 250 } })
  assert.match(slow[0] ?? '', /overloaded \(turns of 250 ms\)/)
})

test('an object storage server that is away is a problem', () => {
  const server = { address: 'tcp://a:1', problem: '', objects: 2, bytes: 30 }
  const states = ['up', 'leaving', 'away'] as const
  const storageServers = states.map((state) => ({ ...server, state, problem: `is ${state}` }))
  assert.deepEqual(problems({ storageServers }), [
    'the object storage server tcp://a:1 is away (is away); ' +
      'start it again; until then, objects are stored elsewhere',
  ])
})

test('lost workers are counted by host, without those that have returned', () => {
  const lost = (name: string, host: string, hasReturned = false): LostWorker => ({
    time: TIME,
    id: `7|${name}|0123`,
    name,
    host,
    cause: hasReturned ? 'silence' : 'connection',
    hasReturned,
    tasks: [],
    taskCount: 0,
  })
  const advice = 'what they had runs again elsewhere; see whether the host and the agent still run'
  const back = lost('right', 'two', true)
  assert.deepEqual(problems({ lost: { count: 1, workers: [lost('left', 'one'), back] } }), [
    `1 worker was lost in the last 10 minutes: left on one (connection closed); ${advice}`,
  ])
  assert.deepEqual(problems({ lost: { count: 0, workers: [back] } }), [])
  const many = [lost('a', 'one'), lost('b', 'one'), lost('', '')]
  assert.deepEqual(problems({ lost: { count: 3, workers: many } }), [
    '3 workers were lost in the last 10 minutes: 2 on one, 1 on an unknown host ' +
      `(connection closed); ${advice}`,
  ])
})

test('tasks that fail are a problem if they are many: which, why, and on which host', () => {
  const hosts = ['one', 'two'].map((host) => {
    const workers = ['a', 'b'].map((id) => worker(`7|${host}|${id}`, { name: host }))
    return { host, address: undefined, cpu: 20, freeBytes: 4e9, workers }
  })
  const failed = (at: number, more: Partial<FailureInfo> = {}): FailureInfo => ({
    time: new Date(TIME.getTime() - at),
    task: String(at),
    name: '',
    function: 'write',
    client: 'c',
    worker: `7|two|${at % 2 === 0 ? 'a' : 'b'}`,
    errorName: 'Error',
    message: 'no space left\non the device',
    stack: '',
    attempts: 1,
    ...more,
  })
  const failures = Array.from({ length: 12 }, (_, at) => failed(12 - at))
  const rates = { submitted: 100, ended: 108, failed: 24 }
  const see = `see scaler failures ${ADDRESS}`
  assert.deepEqual(problems({ hosts, rates, failures }), [
    `22 % of tasks fail, most of write(), all on two: Error: no space left; ${see}`,
  ])
  const elsewhere = [...failures, failed(0, { worker: '7|one|a' })]
  assert.deepEqual(problems({ hosts, rates, failures: elsewhere }), [
    `22 % of tasks fail, most of write(): Error: no space left; ${see}`,
  ])
  const gone = [...failures, failed(0, { worker: '7|three|a' })]
  assert.match(problems({ hosts, rates, failures: gone })[0] ?? '', /of write\(\): Error/)
  const one = failures.map((failure) => ({ ...failure, worker: '7|two|b' }))
  assert.match(
    problems({ hosts: hosts.slice(1), rates, failures: one })[0] ?? '',
    /of write\(\), all on two: Error/,
  )
  for (const [ended, failed] of [
    [2, 1],
    [0, 0],
  ] as const) {
    assert.deepEqual(problems({ hosts, failures, rates: { ...rates, ended, failed } }), [
      `12 tasks have failed in the last minute, most of write(), all on two: Error: no space left; ${see}`,
    ])
  }
  const none = [
    { hosts, failures, rates: { ...rates, failed: 10 } },
    { hosts, failures: failures.slice(0, 9), rates },
    { hosts, failures, rates: undefined },
    { hosts, rates, failures: failures.map((each) => ({ ...each, time: new Date(0) })) },
  ]
  for (const few of none) assert.deepEqual(problems(few), [])
})

test('without workers, an allocator that starts some, or waits for work, is enough', () => {
  const hosts = { hosts: [] }
  const work = { ...hosts, waiting: [waiting('', { reason: 'no-worker' })] }
  const count = (more: Partial<ClusterInfo>, ...allocators: AllocatorInfo[]): number => {
    return problems({ ...more, allocators }).length
  }
  assert.equal(count(hosts), 1)
  assert.equal(count(hosts, allocator('a')), 0)
  assert.equal(count(hosts, allocator('a', { paused: true })), 1)
  assert.equal(count(hosts, allocator('a', { paused: true }), allocator('b')), 0)
  assert.equal(count(work, allocator('a')), 1, 'it does not start any for these tasks')
  assert.equal(count(work, allocator('a', { action: 'start' })), 0)
  assert.equal(count(work, allocator('a', { pending: 1 })), 0)
})

test('an allocator whose starts fail is a problem, with the reason', () => {
  const allocators = [allocator('night', { problem: 'sbatch: no such partition' })]
  assert.deepEqual(problems({ allocators }), [
    'the allocator night cannot start workers (sbatch: no such partition); ' +
      'see its log; it tries again on its own',
  ])
})

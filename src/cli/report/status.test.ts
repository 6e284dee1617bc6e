import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textWidth } from '../../runtime/progress/line.js'
import type { LostWorker } from '../../client/monitor/cluster-info.js'
import { info, TIME, worker } from './cluster-info.kit.js'
import { taskRows } from './columns.js'
import { problemsOf } from './problem.js'
import { statusText } from './status.js'

const BUSY = info({
  hosts: [
    {
      host: 'a-host-with-a-name-that-is-rather-long.example.com',
      address: undefined,
      cpu: 200,
      freeBytes: 4e9,
      workers: [
        worker('4711|a-host-with-a-name-that-is-rather-long|0123456789abcdef0123456789abcdef', {
          state: 'busy',
          queued: 1_234,
          running: [
            {
              task: '00ff00ff00ff00ff',
              name: 'price-of-an-option',
              function: 'price-of-an-option',
              sinceMs: 65_000,
            },
          ],
        }),
      ],
    },
  ],
  waiting: [
    {
      reason: 'all-busy',
      requirement: '',
      function: 'price',
      count: 4_000,
      seconds: 12,
    },
  ],
  clients: [
    {
      id: '12|Client|00',
      name: 'shop.mjs',
      host: 'two',
      unfinished: 4_001,
      bytes: 2e6,
      worker: undefined,
    },
  ],
  functions: [
    {
      name: 'price',
      count: 12_345,
      failed: 2,
      meanMs: 1.5,
      p50Ms: 1.234,
      p90Ms: 12.34,
      p99Ms: 1_234.5,
      maxMs: 2_000,
      peakBytes: 12_000_000,
    },
  ],
  failures: [
    {
      time: new Date(TIME.getTime() - 90_000),
      task: 'abcdef0123456789',
      name: '',
      function: 'price',
      client: undefined,
      worker: undefined,
      errorName: 'RangeError',
      message: `no price for ${'x'.repeat(200)}\nand more`,
      stack: '',
      attempts: 1,
    },
  ],
})

const PLAIN = { width: 80, color: false }

test('a cluster that works is well, in one line', () => {
  const [first] = statusText(info(), PLAIN).split('\n')
  assert.equal(first, 'well: 1 worker on 1 host; 1 running, 0 waiting')
  assert.match(statusText(info(), PLAIN), /12,345 succeeded, 2 failed, 0 cancelled\n/)
  assert.match(statusText(info(), PLAIN), /1,200\/s submitted, 1,100\/s ended, 0\/s failed/)
})

test('no line is longer than the terminal, however long names are', () => {
  for (const width of [40, 80, 100, 200]) {
    const lines = statusText(BUSY, { width, color: false }).split('\n')
    const tables = lines.slice(lines.findIndex((line) => line.startsWith('waiting')))
    for (const line of width < 80 ? tables : lines) assert.ok(textWidth(line) <= width, line)
  }
})

test('in 80 columns the tables have what matters most', () => {
  const text = statusText(BUSY, PLAIN)
  assert.match(text, /^price\(\) +all-busy +4,000 +12 s$/mu)
  assert.match(text, /^4711\|a-host.*… +busy +1,234 +3\.5 % +66\.0 MB +0\.4 ms$/mu)
  assert.match(text, /^price\(\) +12,345 +2 +1\.23 +12\.3 +1235 +12\.0 MB$/mu)
  assert.match(text, /^price\(\) RangeError: no price for x+… +90 s +abcdef01$/mu)
  assert.match(text, /^shop\.mjs \(12\) +two +4,001 +2\.0 MB/mu)
  const wide = statusText(BUSY, { width: 160, color: false })
  assert.match(wide, /price-of-an-option 65 s +0.1.0$/mu)
})

test('how long nodes of graphs wait for others is not known', () => {
  const node = { requirement: '', function: 'add', count: 3, seconds: 0 }
  const waiting = [
    { ...node, reason: 'dependency' },
    { ...node, function: 'new', reason: 'all-busy' },
  ] as const
  const report = info({ waiting })
  const text = statusText(report, PLAIN)
  assert.match(text, /^add\(\) +dependency +3 +–$/mu)
  assert.match(text, /^new\(\) +all-busy +3 +0 s$/mu)
  const waits = taskRows(report).filter(({ state }) => state !== 'running')
  assert.deepEqual(
    waits.map(({ seconds }) => seconds),
    [undefined, 0],
  )
})

test('object storage servers are listed with what they hold', () => {
  const server = { address: 'tcp://a:1', problem: '', objects: 1_234, bytes: 3_000_000 }
  const text = statusText(info({ storageServers: [{ ...server, state: 'up' }] }), PLAIN)
  assert.match(
    text,
    /^object storage server +state +objects +stored\ntcp:\/\/a:1 +up +1,234 +3\.0 MB$/mu,
  )
  assert.doesNotMatch(statusText(info(), PLAIN), /storage server/)
})

test('what is wrong comes first, with what to do', () => {
  const text = statusText(info({ hosts: [] }), PLAIN)
  assert.match(
    text,
    /^attention: there are no workers; start JavaScript workers: scaler_cluster\s+tcp:/,
  )
  assert.deepEqual(problemsOf(BUSY), [])
})

test('lost workers are listed, the last first', () => {
  const lost = (name: string, more: Partial<LostWorker> = {}): LostWorker => ({
    time: new Date(TIME.getTime() - 90_000),
    id: `7|${name}|0123`,
    name,
    host: 'one',
    cause: 'connection',
    hasReturned: false,
    tasks: [{ task: 'abcdef0123456789', name: 'price' }],
    taskCount: 3,
    ...more,
  })
  const workers = [lost('left', { hasReturned: true, tasks: [], taskCount: 0 }), lost('right')]
  const text = statusText(info({ lost: { count: 1, workers } }), PLAIN)
  assert.match(text, /^attention: 1 worker was lost in the last 10 minutes: right on one/)
  const [, table = ''] = text.split('lost workers, the last first  ')
  assert.match(table, /^7\|right\|0123 +90 s +price\(\) abcdef01 \+2 +connection closed +one/m)
  assert.match(table, /\n7\|left\|0123 +90 s +no task +has returned/)
})

test('names cannot control the terminal', () => {
  const clients = [
    {
      id: '1|Client|0',
      name: '\u001b[2Jowned\u202e',
      host: '\r',
      unfinished: 1,
      worker: undefined,
      bytes: 0,
    },
  ]
  const text = statusText(info({ clients }), PLAIN)
  assert.doesNotMatch(text, /[\u001b\r\u202e]/u)
  assert.match(text, /\?\[2Jowned\?/)
})

test('what needs attention fits the screen, however long the name of a function is', () => {
  const waiting = [
    { reason: 'all-busy', requirement: '', function: 'f'.repeat(300), count: 1, seconds: 99 },
    { reason: 'no-worker', requirement: '', function: 'g'.repeat(300), count: 1, seconds: 99 },
  ] as const
  const lines = statusText(info({ waiting }), PLAIN).split('\n')
  assert.deepEqual(
    lines.filter((line) => line.length > 80),
    [],
  )
})

test('what a scheduler does not tell is a dash', () => {
  const { scheduler, objects } = info()
  const unknown = { ...scheduler, version: undefined, uptimeS: undefined, turnP99Ms: undefined }
  const text = statusText(
    info({ scheduler: unknown, rates: undefined, objects: { ...objects, bytes: undefined } }),
    PLAIN,
  )
  assert.match(text, /scaler –, up –, cpu 12\.5 %, 57\.0 MB, turns –\n/)
  assert.match(text, /rates +–\nobjects +3\n/)
})

test('long tables are cut, and say so; titles are bold on a terminal', () => {
  const clients = Array.from({ length: 1_030 }, (_, index) => ({
    id: `${index}|Client|0`,
    name: '',
    host: '',
    unfinished: 0,
    worker: undefined,
    bytes: 0,
  }))
  const text = statusText(info({ clients }), { width: 80, color: true })
  assert.match(text, /… 1,010 more \(--json has all\)/)
  assert.match(text, /\u001b\[1mclients/)
})

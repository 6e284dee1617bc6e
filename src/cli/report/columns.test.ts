import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedTask } from '../../client/monitor/operator-reply.js'
import { textWidth } from '../../runtime/progress/line.js'
import { readFilter, tableLines } from '../table.js'
import { info } from './cluster-info.kit.js'
import {
  ALLOCATOR_COLUMNS,
  CLIENT_COLUMNS,
  errorLine,
  TASK_COLUMNS,
  waitingRows,
} from './columns.js'

const WAITING: ExplainedTask = {
  task: '00ff00ff00ff',
  name: null,
  function: 'price',
  client: '12|Client|00',
  state: 'waiting',
  reason: 'all-busy',
  runtime: null,
  requirement: null,
  seconds: 1,
  dependsOn: [],
  attempts: [],
  attemptCount: 0,
  error: null,
}

test('clients of waiting tasks are shown and found by name, and found by id', () => {
  const client = { host: 'h', unfinished: 1, bytes: 0, worker: undefined }
  const clients = [{ ...client, id: '12|Client|00', name: 'shop' }]
  const others = ['34|Client|11', null].map((id) => ({ ...WAITING, client: id }))
  const rows = waitingRows([WAITING, ...others], info({ clients }))
  const shown = tableLines({ columns: TASK_COLUMNS, rows }, { width: 120, color: false })
  assert.deepEqual(
    shown.map((line) => line.trim().split(/ +/).at(-1)),
    ['client', 'shop', 'Client', '00ff00ff'],
  )
  for (const text of ['client=shop', 'client=12|Client|00', 'client~SHO', 'shop']) {
    assert.deepEqual(rows.filter(readFilter(TASK_COLUMNS, text)), [rows[0]], text)
  }
})

test('a peer is found by its name and by its id', () => {
  const client = { host: 'h', unfinished: 1, bytes: 0, worker: '7|left|0a' }
  const clients = ['shop', 'bank'].map((name) => ({ ...client, id: `12|${name}|00`, name }))
  for (const text of ['client=shop', 'client=12|shop|00', 'name=shop', 'client~sho']) {
    assert.deepEqual(clients.filter(readFilter(CLIENT_COLUMNS, text)), [clients[0]], text)
  }
  for (const text of ['worker=left', 'worker=7|LEFT|0a', 'worker~lef']) {
    assert.equal(clients.filter(readFilter(CLIENT_COLUMNS, text)).length, 2, text)
  }
  assert.deepEqual(clients.filter(readFilter(CLIENT_COLUMNS, 'worker!=left')), [])
})

test('an error is its name and first line; a dash if the worker does not tell it', () => {
  assert.equal(errorLine({ errorName: 'RangeError', message: 'no\nprice' }), 'RangeError: no')
  assert.equal(errorLine({ errorName: 'WorkerDiedError', message: '' }), 'WorkerDiedError')
  assert.equal(errorLine({ errorName: '', message: '' }), '–')
})

test('a long reason of an allocator is cut, not left out', () => {
  const reason = '2 failed starts: sbatch ended with exit code 3: no such partition: night'
  const more = {
    runtime: 'javascript',
    offers: {},
    room: 0,
    pending: 0,
    claim: 0,
    running: 0,
  } as const
  const problem = { paused: false, action: 'back-off', reason, problem: '' } as const
  const rows = [{ name: 'night', provider: 'slurm', ...more, ...problem }]
  const [, line = ''] = tableLines(
    { columns: ALLOCATOR_COLUMNS, rows },
    { width: 80, color: false },
  )
  assert.match(line, /back-off {2}2 failed starts.*….*artition: night$/)
  assert.ok(textWidth(line) <= 80)
})

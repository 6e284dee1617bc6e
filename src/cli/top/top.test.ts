import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { ClusterInfo, WorkerInfo } from '../../client/monitor/cluster-info.js'
import { textWidth } from '../../runtime/progress/line.js'
import { allocator, info, TIME, worker } from '../report/cluster-info.kit.js'
import type { TopSize } from './screen.js'
import { TopState } from './top.js'

const SMALL = { rows: 24, columns: 80, hasColors: false }
const LARGE = { rows: 40, columns: 118, hasColors: true }
const TINY = { rows: 10, columns: 40, hasColors: true }

/** A cluster with these workers on one host. */
function clusterOf(workers: readonly WorkerInfo[], more: Partial<ClusterInfo> = {}): ClusterInfo {
  const host = { host: 'one', address: undefined, cpu: 20, freeBytes: 4e9, workers }
  return info({ hosts: [host], ...more })
}

function many(count: number): ClusterInfo {
  return clusterOf(
    Array.from({ length: count }, (_, at) => {
      const id = `${at}|one|${'0'.repeat(32)}`
      return worker(id, { cpu: (at * 7919) % count, queued: at, running: [] })
    }),
  )
}

/** The state after a report and these keys; a sign is a key of its own, a word is a named key. */
function state(report: ClusterInfo, ...keys: readonly string[]): TopState {
  const top = new TopState()
  top.onInfo(report, 0)
  top.frame(SMALL, 0)
  press(top, ...keys)
  return top
}

function press(top: TopState, ...keys: readonly string[]): void {
  for (const key of keys) {
    top.onKey(key.length === 1 ? { sequence: key } : { name: key, sequence: '\u001b' })
    top.frame(SMALL, 0)
  }
}

/** What is on the screen, which must fit it exactly. */
function drawn(top: TopState, size: TopSize = SMALL, nowMs = 0): readonly string[] {
  const lines = top.frame(size, nowMs)
  assert.ok(lines !== undefined)
  assert.equal(lines.length, size.rows)
  return lines.map((line) => {
    const text = stripVTControlCharacters(line)
    assert.ok(textWidth(text) <= size.columns, text)
    assert.doesNotMatch(text, /\p{Cc}/u)
    assert.ok(text === line || line.endsWith('\u001b[0m'), 'the style ends with the line')
    return text
  })
}

function idsIn(lines: readonly string[]): readonly number[] {
  return lines.flatMap((line) => /^ *(\d+)\|one\|/.exec(line)?.slice(1, 2).map(Number) ?? [])
}

test('nothing is drawn before the first report', () => {
  assert.equal(new TopState().frame(SMALL, 0), undefined)
})

test('118 columns have room for everything', () => {
  const lines = drawn(state(info()), LARGE)
  const header = /worker agt_cpu agt_rss +\[cpu↓\] /
  assert.match(lines[0] ?? '', /^scaler 0\.1\.0 {2}tcp:\/\/10\.0\.0\.1:2345 {2}up 2 h {2}/)
  assert.equal(lines[1], 'well: 1 worker on 1 host; 1,100/s tasks ended')
  assert.deepEqual(lines.slice(2, 5), [
    'scheduler      | task_manager      | scheduler_sent    | scheduler_received',
    '     cpu 12.5% | unassigned      0 | TaskResult 53,764 |            Task 53,764',
    '     rss 54.4M |    running      1 |                   | ClientHeartbeat      7',
  ])
  assert.match(lines.find((line) => header.test(line)) ?? '', / queued suspended +lag ITL host$/)
  const row =
    '7|one|a    0.5%   35.8M   3.5%  62.9M        3.7G 1,000     0      0         0     0.4ms 101 one'
  assert.ok(lines.includes(row.padEnd(118)), lines.join('\n'))
})

test('a narrow terminal does without columns, never without the one that sorts', () => {
  const report = many(3)
  const headerOf = (top: TopState, size: TopSize): string => {
    return drawn(top, size).find((line) => /^ *\[?worker[↓↑]?\]? /.test(line)) ?? ''
  }
  const names = headerOf(state(report), SMALL).trim().split(/ +/)
  assert.deepEqual(names, [
    'worker',
    '[cpu↓]',
    'rss',
    'os_rss_free',
    'free',
    'sent',
    'queued',
    'lag',
    'host',
  ])
  assert.match(headerOf(state(report, 's'), TINY), /^ +worker +cpu +\[suspended↓\]/)
  assert.match(headerOf(state(report, 's', 's'), TINY), /^ +worker +cpu +\[suspended↑\]/)
})

test('every size is filled exactly, with every pane', () => {
  const failures = [
    {
      time: TIME,
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
  ]
  const waiting = [
    {
      reason: 'no-capability',
      requirement: 'gpu=1',
      function: 'f',
      count: 4_000,
      seconds: 12,
    },
  ] as const
  const reason = `4,000 tasks wait: ${'x'.repeat(200)}`
  const allocators = [
    allocator('night', { paused: true, problem: 'no', reason, offers: { gpu: 2 } }),
  ]
  const report = { ...many(100), failures, waiting, allocators }
  for (const keys of [[], ['e'], ['F'], ['t'], ['A'], ['?'], ['return'], ['/', '9'], ['p']]) {
    for (const size of [SMALL, LARGE, TINY, { rows: 1, columns: 1, hasColors: true }]) {
      drawn(state(report, ...keys), size)
    }
    for (let rows = 1; rows < 50; rows += 3) {
      drawn(state(report, ...keys), { rows, columns: 3 * rows, hasColors: true })
    }
  }
})

test('names and errors cannot control the terminal, and wide ones are cut', () => {
  const hostile = '\u001b[2J\r\n\u202e漢字漢字漢字漢字漢字漢字漢字漢字'
  const running = [{ task: '01', name: hostile, function: hostile, sinceMs: 5 }]
  const workers = [worker(hostile, { name: hostile, running, itl: hostile })]
  const failure = { time: TIME, task: '0', name: hostile, function: hostile, attempts: 1 }
  const error = { errorName: hostile, message: hostile, stack: hostile }
  const report = clusterOf(workers, {
    failures: [{ ...failure, ...error, client: hostile, worker: hostile }],
    waiting: [
      {
        reason: 'no-capability',
        requirement: hostile,
        function: hostile,
        count: 1,
        seconds: 0,
      },
    ],
    scheduler: {
      ...info().scheduler,
      version: hostile,
      messages: { sent: { [hostile]: 1 }, received: {} },
    },
  })
  for (const keys of [[], ['e'], ['F'], ['t'], ['return'], ['/', '字']]) {
    for (const size of [SMALL, LARGE, TINY]) drawn(state(report, ...keys), size)
  }
  const top = state(report, 'return')
  const text = '\u001b]0;title\u0007'
  top.onLog(hostile, { lines: [{ time: TIME, source: 'stdout', text }] })
  assert.ok(drawn(top, SMALL).includes('03:04:05 stdout ?]0;title?'))
})

test('keys sort, and the same key again turns the order', () => {
  const report = many(4)
  assert.deepEqual(
    idsIn(drawn(state(report))),
    [1, 2, 3, 0].toSorted((a, b) => cpu(b) - cpu(a)),
  )
  assert.deepEqual(idsIn(drawn(state(report, 'd'))), [3, 2, 1, 0])
  assert.deepEqual(idsIn(drawn(state(report, 'd', 'd'))), [0, 1, 2, 3])
  assert.deepEqual(idsIn(drawn(state(report, 'd', 'd', 'n'))), [3, 2, 1, 0])
  function cpu(id: number): number {
    return (id * 7919) % 4
  }
})

test('the rows follow the cursor, also after the terminal has become smaller', () => {
  const top = state(many(5_000), 'd', 'end')
  const last = idsIn(drawn(top))
  assert.equal(last.at(-1), 0)
  press(top, 'pageup', 'up')
  assert.ok(!idsIn(drawn(top)).includes(0))
  press(top, 'home')
  assert.equal(idsIn(drawn(top))[0], 4_999)
  press(top, 'pagedown')
  const selected = top.frame(LARGE, 0)?.find((line) => line.startsWith('\u001b[7m')) ?? ''
  const [id] = idsIn([stripVTControlCharacters(selected)])
  assert.ok(id !== undefined && idsIn(drawn(top, TINY)).includes(id))
})

test('a filter matches workers by id, name, host and what they run', () => {
  const running = [{ task: '01', name: 'price', function: 'price', sinceMs: 5 }]
  const report = clusterOf([
    worker('1|one|a', { running }),
    worker('2|one|b', { name: 'Left' }),
    worker('3|one|c'),
  ])
  const top = state(report, '/', 'P', 'R', 'x', 'backspace')
  assert.deepEqual(idsIn(drawn(top)), [1])
  assert.equal(drawn(top).at(-1)?.trimEnd(), 'filter: PR_')
  press(top, 'return')
  assert.ok(drawn(top).some((line) => line.startsWith('-- 1 of 3 workers match "PR" ---')))
  press(top, 'escape')
  assert.deepEqual(idsIn(drawn(top)), [1, 2, 3])
  press(top, '/', 'l', 'e', 'f', 't')
  assert.deepEqual(idsIn(drawn(top)), [2])
  press(top, 'return', 'F')
  assert.equal(drawn(top)[0], drawn(state(report))[0])
  assert.ok(drawn(top).includes('failures that match "left"'))
  assert.ok(drawn(top).includes('none match "left" (Esc Esc shows all)'))
  // What was typed before is not continued.
  press(top, '/', '3')
  assert.equal(drawn(top).at(-1)?.trimEnd(), 'filter: 3_')
  press(top, 'escape', 'escape')
  assert.deepEqual(idsIn(drawn(top)), [1, 2, 3])
})

test('a worker that is opened shows what it runs and its last lines, scrolled from the end', () => {
  const running = [{ task: 'abcd', name: 'price', function: 'price', sinceMs: 65_000 }]
  const report = clusterOf([worker('1|one|a', { running }), worker('2|one|b')])
  const top = state(report, 'n', 'down', 'return')
  assert.equal(top.wantedLog, '1|one|a')
  assert.ok(drawn(top).includes('running price() for 65 s, task abcd'))
  const lines = Array.from({ length: 50 }, (_, at) => {
    return { time: TIME, source: 'stdout' as const, text: `line ${at}` }
  })
  top.onLog('2|one|b', { problem: 'late' })
  top.onLog('1|one|a', { lines })
  const shown = (): readonly string[] => drawn(top).filter((line) => line.includes('stdout'))
  assert.match(shown().at(-1) ?? '', / line 49$/)
  press(top, 'up')
  assert.match(shown().at(-1) ?? '', / line 48$/)
  press(top, 'home')
  assert.match(shown()[0] ?? '', / line 0$/)
  top.onInfo(clusterOf([worker('2|one|b')]), 0)
  assert.ok(drawn(top).includes('it has left'))
  press(top, 'escape')
  assert.deepEqual(idsIn(drawn(top)), [2])
})

test('failures are found by the name of their client, and tell worker and client', () => {
  const client = '16|Client|13a064e8d8a38092a2ddf1cf4b75b1a1'
  const failure = { time: TIME, name: '', function: 'price', worker: '7|left|a1', attempts: 1 }
  const error = { errorName: 'RangeError', message: 'no'.repeat(100), stack: '' }
  const failures = [{ ...failure, ...error, task: 'a', client }]
  const about = { unfinished: 0, bytes: undefined, worker: undefined }
  const clients = [{ id: client, name: 'shop', host: 'h', ...about }]
  const top = state(info({ failures, clients }), 'F', '/', 's', 'h', 'o', 'p', 'return')
  const row = drawn(top, SMALL).find((line) => line.startsWith('price() '))
  assert.match(row ?? '', /^price\(\) RangeError: [no]+… +0 s +left +a *$/)
  assert.ok(drawn(top, LARGE).some((line) => line.includes(`client shop (${client})`)))
})

test('failures have their stack below', () => {
  const failure = { time: TIME, name: '', function: 'price', client: 'C', worker: 'W', attempts: 1 }
  const error = { errorName: 'RangeError', message: 'no' }
  const failures = ['a', 'b'].map((task) => {
    return { ...failure, ...error, task, stack: `RangeError: no\nat price${task}` }
  })
  const top = state(info({ failures }), 'F')
  assert.ok(drawn(top).includes('at priceb'))
  press(top, 'down')
  assert.ok(drawn(top).includes('at pricea'))
  assert.ok(
    drawn(state(info({ failures: [] }), 'F'), SMALL).some((line) => /none|no task/.test(line)),
  )
})

test('a failure whose worker tells no error, such as one of Python Scaler, says so', () => {
  const failure = { time: TIME, name: '', function: 'price', client: 'C', worker: 'W', attempts: 1 }
  const failures = [{ ...failure, errorName: '', message: '', stack: '', task: 'a' }]
  const lines = drawn(state(info({ failures }), 'F'), LARGE)
  assert.ok(lines.some((line) => /^price\(\) – +0 s /.test(line)))
  assert.ok(lines.some((line) => line.startsWith('error –: the worker does not report it')))
})

test('allocators have their last decision, and below it what keeps them from working', () => {
  const allocators = [
    allocator('day', { pending: 2, action: 'start', reason: '9 tasks wait: 4 workers needed' }),
    allocator('night', { paused: true, offers: { gpu: 2 }, problem: 'sbatch: no such partition' }),
  ]
  const top = state(info({ allocators }))
  const caption = drawn(top).find((line) => line.startsWith('-- 1 worker'))
  assert.match(caption ?? '', /^-- 1 worker, 2 on their way, allocation paused: A -/)
  press(top, 'A')
  const lines = drawn(top)
  assert.match(lines[2] ?? '', /^allocators *$/)
  assert.match(lines[3] ?? '', /^allocator +provider +running +pending +action +reason/)
  assert.match(lines[4] ?? '', /^day +slurm +0 +2 +start +9 tasks wait: 4 workers needed/)
  assert.match(lines[5] ?? '', /^night +slurm +0 +0 +paused +no work/)
  assert.ok(lines.includes('allocator day, provider slurm: 0 workers, 2 on their way, room for 8'))
  assert.ok(lines.includes('start: 9 tasks wait: 4 workers needed'))
  press(top, 'down')
  const below = drawn(top)
  assert.ok(below.includes('javascript workers that offer gpu=2'))
  assert.ok(below.includes('paused by an operator'))
  assert.ok(below.includes('the last start has failed: sbatch: no such partition'))
  assert.ok(drawn(state(info(), 'A')).includes('no allocator starts workers here'))
  const untold = info({ allocators: undefined })
  assert.ok(drawn(state(untold, 'A')).includes('none that this scheduler tells'))
})

test('a paused screen stays, and then shows the latest report', () => {
  const top = state(many(2), 'p')
  top.onInfo(many(3), 0)
  assert.match(drawn(top)[0] ?? '', /^paused/)
  assert.equal(idsIn(drawn(top)).length, 2)
  press(top, 'p')
  assert.equal(idsIn(drawn(top)).length, 3)
})

test('silence is told with its age, until the next report', () => {
  const top = state(info())
  assert.doesNotMatch(drawn(top, SMALL, 2_900)[0] ?? '', /no news/)
  const banner = 'no news for 7 s; reconnecting to tcp://10.0.0.1:2345'
  assert.equal(drawn(top, SMALL, 7_400)[0], banner.padEnd(80))
  top.onInfo(info(), 8_000)
  assert.doesNotMatch(drawn(top, SMALL, 8_100)[0] ?? '', /no news/)
})

test('late heartbeats are before the lag', () => {
  const workers = [
    worker('1|one|a', { silentS: 7, lagMs: 1.9 }),
    worker('2|one|b', { silentS: 99 }),
  ]
  const lines = drawn(state(clusterOf(workers)))
  assert.ok(lines.some((line) => line.includes('(7s) 1ms')))
  assert.ok(lines.some((line) => line.includes('(60+s) 0.4ms')))
})

test('what a Python scheduler does not tell is a dash', () => {
  const unknown = { version: undefined, uptimeS: undefined, turnP99Ms: undefined }
  const scheduler = { ...info().scheduler, ...unknown, messages: undefined }
  const objects = {
    count: 3,
    bytes: undefined,
    serverBytes: undefined,
    limitBytes: undefined,
    diskBytes: undefined,
    refused: undefined,
    diskError: undefined,
  }
  const tasks = { ...info().tasks, waiting: 4, failed: 2 }
  const report = info({ scheduler, objects, tasks, rates: undefined, failures: [] })
  const lines = drawn(state(report), LARGE)
  assert.match(lines[0] ?? '', /^scaler – .* up – /)
  assert.ok(lines.some((line) => /turns +– \|/.test(line)))
  assert.ok(drawn(state(report, 'e')).includes('this scheduler does not tell why'))
  assert.ok(drawn(state(report, 'F')).some((line) => line.startsWith('none that this scheduler')))
})

test('q and control keys are for the shell', () => {
  const top = state(info())
  const control = (name: string): unknown => top.onKey({ name, ctrl: true })
  assert.deepEqual([control('c'), control('z'), control('l')], ['interrupt', 'suspend', 'redraw'])
  assert.equal(top.onKey({ sequence: 'q' }), 'quit')
  press(top, '/')
  assert.equal(top.onKey({ sequence: 'q' }), undefined)
})

test('drawing again does not read all workers again', () => {
  let reads = 0
  const workers = Array.from({ length: 5_000 }, (_, at) => {
    const row = worker(`${at}|one|a`)
    Object.defineProperty(row, 'itl', {
      enumerable: true,
      get: () => {
        reads += 1
        return '101'
      },
    })
    return row
  })
  const top = state(clusterOf(workers))
  reads = 0
  drawn(top, LARGE)
  drawn(top, SMALL)
  assert.equal(reads, 0)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerOf, knownClient, overviewOf } from './answers.js'
import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
import type { GraphInfo } from '../../client/monitor/graph-info.js'
import { allocator, worker } from '../report/cluster-info.kit.js'
import { Board, type DurationBar } from './board.js'
import { ended, failure, info, lostWorker, NOW } from './board.kit.js'
import { DeltaMaker } from './page-feed.js'
import { RequestError } from './query.js'
import { type FailureEntry, type GraphEntry, rowsReader, type TaskEntry } from './rows.js'

function board(): Board {
  const made = new Board()
  const failed = ended('bb01', { status: 'failed', errorName: 'RangeError', function: 'load' })
  const state = info({ failures: [failure('bb01', { function: 'load' })] })
  made.onEvents([ended('bb00'), failed, { type: 'sample', info: state }], NOW)
  return made
}

type Answer = Readonly<Record<string, unknown>> & { readonly rows: readonly { id: string }[] }

function get(path: string, query = '', now = NOW, from = board()): Answer {
  return answerOf(from, path, new URLSearchParams(query), now) as Answer
}

function idsOf(path: string, query = ''): readonly string[] {
  return get(path, query).rows.map(({ id }) => id)
}

test('tables are sorted, filtered and cut', () => {
  assert.deepEqual(idsOf('workers', 'sort=-cpu'), ['w1', 'w2'])
  assert.deepEqual(idsOf('workers', 'sort=cpu'), ['w2', 'w1'])
  assert.deepEqual(idsOf('workers', 'filter=state%3Didle'), ['w2'])
  assert.deepEqual(idsOf('workers', 'offset=1&limit=1'), ['w2'])
  assert.equal(get('workers', 'limit=1')['total'], 2)
  assert.deepEqual(idsOf('tasks'), ['', 'aa00', 'bb01', 'bb00'])
  assert.deepEqual(idsOf('tasks', 'filter=any~load'), ['bb01'])
  assert.deepEqual(idsOf('tasks', 'filter=state%3Dsuccess&filter=function%3Dprice'), ['bb00'])
  for (const filter of ['any~SHO', 'client=shop', 'client~sh', 'client=c']) {
    assert.deepEqual(idsOf('tasks', `filter=${encodeURIComponent(filter)}`), ['bb01', 'bb00'])
  }
  assert.deepEqual(idsOf('tasks', 'filter=client%3Dsho'), [])
  assert.equal(get('failures', 'filter=client~shop').rows.length, 1)
  assert.deepEqual(idsOf('clients'), ['c'])
  assert.equal(get('failures').rows.length, 1)
  assert.equal(get('functions').rows.length, 0)
})

test('a bad parameter is refused with its name', () => {
  const refusals: readonly (readonly [path: string, query: string, text: RegExp])[] = [
    ['workers', 'limit=0', /^parameter limit: expected a number from 1 to 1000$/],
    ['workers', 'limit=many', /^parameter limit: /],
    ['workers', 'offset=-1', /^parameter offset: /],
    ['workers', 'offset=1&offset=2', /^parameter offset: given more than once$/],
    ['workers', 'sort=size', /^parameter sort: unknown column "size"; there are worker, /],
    ['workers', 'filter=state', /^parameter filter: expected /],
    ['workers', 'filter=cpu%3Eabc', /^parameter filter: expected a number/],
    ['workers', 'width=5', /^unknown parameter width: there are offset, limit, sort, filter$/],
    ['overview', 'from=x', /^parameter from: /],
    ['overview', 'from=5&to=4', /^parameter from: must be before to$/],
    ['timeline', 'width=100000', /^parameter width: /],
    ['workers/w1', 'limit=1', /^unknown parameter limit: there are none$/],
  ]
  for (const [path, query, text] of refusals) {
    assert.throws(
      () => get(path, query),
      (error) => {
        assert.ok(error instanceof RequestError)
        assert.equal(error.status, 400)
        assert.match(error.message, text)
        return true
      },
    )
  }
  for (const path of ['', 'toString', '__proto__', 'workers/none', 'tasks2']) {
    assert.throws(() => get(path), { status: 404 })
  }
  assert.throws(() => get('workers/%ff'), { status: 400 })
})

test('an answer says how old it is', () => {
  assert.equal(get('workers', '', NOW + 1_000)['stale'], false)
  const old = get('overview', '', NOW + 60_000)
  assert.equal(old['stale'], true)
  assert.equal(old['ageMs'], 60_000)
  assert.deepEqual(old['health'], {
    isWell: false,
    text: 'the scheduler has not reported for 60 s',
  })
  const empty = get('overview', '', NOW, new Board())
  assert.equal(empty['stale'], true)
  assert.equal(empty['ageMs'], null)
  assert.deepEqual(get('workers', '', NOW, new Board()).rows, [])
})

test('the overview has a sentence and the past', () => {
  const answer = get('overview', 'from=-10000&width=100')
  assert.deepEqual(answer['health'], {
    isWell: true,
    text: '2 workers on 1 host; 1 running, 4 waiting',
  })
  const { series } = answer['history'] as { series: Record<string, unknown[]> }
  assert.equal(series['ended']?.at(-1), 1_100)
  assert.equal(series['waiting:all-busy']?.at(-1), 4)
  assert.equal(series['waiting:limit']?.at(-1), 0)
  assert.equal(series['memory']?.at(-1), 132_000_000)
})

test('all problems are listed, with what to do; lost workers by their names', () => {
  const from = new Board()
  from.address = 'tcp://10.0.0.9:1'
  assert.deepEqual(
    [overviewOf(from, NOW).problems, overviewOf(from, NOW).cluster],
    [[], 'tcp://10.0.0.9:1'],
  )
  const need = (at: number): ClusterInfo['waiting'][number] => {
    const name = `f${at}`
    const kind = { reason: 'no-capability', requirement: 'gpu=1' } as const
    return { ...kind, function: name, count: 1, seconds: 1 }
  }
  const lost = { count: 1, workers: [lostWorker('w7', { name: 'third' })] }
  const waiting = Array.from({ length: 12 }, (_, at) => need(at))
  const see = (more: Partial<ClusterInfo>): ReturnType<typeof overviewOf> => {
    from.onEvents([{ type: 'sample', info: info(more) }], NOW)
    return overviewOf(from, NOW)
  }
  const { problems, problemCount, cluster } = see({ waiting: waiting.slice(0, 1), lost })
  assert.deepEqual([problems.length, problemCount], [2, 2])
  assert.match(problems[0]?.what ?? '', /^1 task of f0\(\) waits: no worker offers gpu=1$/)
  assert.match(problems[0]?.advice ?? '', /--capabilities gpu=1/)
  assert.equal(
    problems[1]?.what,
    '1 worker lost in the last 10 minutes: third on vm (connection closed)',
  )
  assert.match(problems[1]?.advice ?? '', /^what they had runs again/)
  assert.equal(cluster, 'tcp://10.0.0.1:2345')
  const many = see({ waiting })
  assert.deepEqual([many.problems.length, many.problemCount], [10, 12])
})

test('clients and workers have their names also after they have left', () => {
  const from = board()
  from.onEvents([{ type: 'sample', info: info({ clients: [], hosts: [] }) }], NOW)
  assert.deepEqual(knownClient(from, 'c'), {
    id: 'c',
    name: 'shop',
    host: 'two',
    isConnected: false,
  })
  assert.deepEqual(knownClient(from, 'd'), { id: 'd', name: '', host: '', isConnected: false })
  assert.equal(knownClient(from, null), null)
  const [group] = get('failures', '', NOW, from).rows as unknown as readonly FailureEntry[]
  assert.deepEqual(group?.clients, [{ id: 'c', name: 'shop', host: 'two', count: 1 }])
  assert.deepEqual(group?.workers, [{ id: 'w1', name: '', host: 'one', count: 1 }])
})

test('a timeline has a row per worker, also for those that have left', () => {
  const from = board()
  from.onEvents([ended('cc00', { worker: 'gone' })], NOW)
  const { workers, bars, lastEnd } = get(
    'timeline',
    `from=-60000&width=500`,
    NOW,
    from,
  ) as unknown as {
    workers: readonly { id: string; isConnected: boolean }[]
    bars: readonly { row: number; task: string | null }[]
    lastEnd: number | null
  }
  assert.deepEqual(
    workers.map(({ id, isConnected }) => [id, isConnected]),
    [
      ['w1', true],
      ['w2', true],
      ['gone', false],
    ],
  )
  assert.ok(bars.some(({ row, task }) => row === 2 && task === 'cc00'))
  assert.equal(lastEnd, NOW)
  assert.equal(get('timeline', '', NOW, new Board())['lastEnd'], null)
})

test('a worker has its last tasks', () => {
  const answer = get('workers/w1', '', NOW + 3_000) as unknown as {
    host: string
    heartbeatS: number
    tasks: readonly { id: string }[]
  }
  assert.deepEqual([answer.host, answer.heartbeatS], ['one', 3])
  assert.deepEqual(
    answer.tasks.map(({ id }) => id),
    ['bb01', 'bb00'],
  )
})

test('a page gets only what has changed', () => {
  const from = board()
  const reader = rowsReader('workers', { offset: 0, limit: 10, sort: [], filter: [] })
  const maker = new DeltaMaker()
  const next = (now: number): Record<string, Record<string, unknown>> | undefined => {
    const text = maker.next({ overview: overviewOf(from, now), table: reader?.(from) })
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, never>)
  }
  assert.deepEqual(next(NOW)?.['table']?.['ids'], ['w1', 'w2'])
  assert.equal(next(NOW), undefined)
  assert.deepEqual(next(NOW + 1_000), { overview: { ageMs: 1_000 } })
  const hosts = info().hosts.map((host) => ({ ...host, workers: host.workers.slice(0, 1) }))
  from.onEvents([{ type: 'sample', info: info({ hosts }) }], NOW + 1_000)
  const { table } = next(NOW + 1_000) ?? {}
  assert.deepEqual(table, { total: 1, ids: ['w1'] })
})

test('waiting tasks are rows by reason and function', () => {
  const [row, ...others] = get('tasks', 'filter=state%3Dwaiting').rows as readonly TaskEntry[]
  assert.deepEqual(others, [])
  const { count, waitsFor, function: name, queuedMs } = row ?? {}
  assert.deepEqual([count, waitsFor, name, queuedMs], [4, 'all-busy', 'price', 1_000])
})

test('a worker costs nothing while only time passes', () => {
  // Within one step of the past.
  const start = NOW - 4_000
  const from = new Board()
  const reader = rowsReader('workers', { offset: 0, limit: 10, sort: [], filter: [] })
  const maker = new DeltaMaker()
  const text = (): string | undefined => maker.next({ overview: {}, table: reader?.(from) })
  const later = (ms: number, silentS: number): ClusterInfo => {
    const running = [{ task: 'aa00', name: 'price', function: 'price', sinceMs: 500 + ms }]
    const workers = [worker('w1', { running, silentS }), worker('w2', { silentS })]
    const host = { host: 'one', address: undefined, cpu: 20, freeBytes: 4e9, workers }
    return info({ time: new Date(start + ms), hosts: [host] })
  }
  const see = (ms: number, silentS: number): void => {
    from.onEvents([{ type: 'sample', info: later(ms, silentS) }], start + ms)
  }
  see(0, 0)
  text()
  see(1_000, 1)
  assert.equal(text(), undefined)
  see(7_000, 7)
  const silent: unknown = JSON.parse(text() ?? '')
  const since = { silentSince: new Date(start).toISOString() }
  assert.deepEqual(silent, { table: { rows: { w1: since, w2: since } } })
  see(8_400, 8)
  assert.equal(text(), undefined)
})

test('the past of a worker has a value per ten seconds', () => {
  const from = new Board()
  for (const [at, cpu] of [
    [0, 10],
    [1_000, 99],
    [10_000, 20],
    [40_000, 30],
  ] as const) {
    const host = { host: 'one', address: undefined, cpu: 20, freeBytes: 4e9 }
    const hosts = [{ ...host, workers: [worker('w1', { cpu })] }]
    const time = new Date(1_000_000 + at)
    from.onEvents([{ type: 'sample', info: info({ time, hosts }) }], time.getTime())
  }
  assert.deepEqual(from.workers.get('w1')?.past, [10, 20, null, null, 30])
})

test('workers that were lost are named and counted, unless they have returned', () => {
  const workers = [
    lostWorker('w6', { hasReturned: true }),
    lostWorker('w7', { name: '', cause: 'silence' }),
    ...['a', 'b', 'c'].map((name) => lostWorker(`w-${name}`, { name })),
  ]
  const from = new Board()
  from.onEvents([{ type: 'sample', info: info({ lost: { count: 12, workers } }) }], NOW)
  assert.deepEqual(overviewOf(from, NOW).lost, {
    count: 12,
    text:
      '12 workers lost in the last 10 minutes: c on vm (connection closed), ' +
      'b on vm (connection closed), a on vm (connection closed), w7 on vm (no heartbeat), and 8 others',
  })
  const returned = new Board()
  const state = info({ lost: { count: 0, workers: workers.slice(0, 1) } })
  returned.onEvents([{ type: 'sample', info: state }], NOW)
  assert.deepEqual(overviewOf(returned, NOW).lost, { count: 0, text: '' })
  const python = new Board()
  python.onEvents([{ type: 'sample', info: info({ lost: undefined }) }], NOW)
  assert.deepEqual([overviewOf(python, NOW).lost, overviewOf(python, NOW).graphs], [null, null])
})

test('a function has the distribution of its durations', () => {
  const from = board()
  const functions = [
    {
      name: 'price',
      count: 3,
      failed: 0,
      meanMs: 1,
      p50Ms: 1,
      p90Ms: 1,
      p99Ms: 1,
      maxMs: 1,
      peakBytes: undefined,
    },
  ]
  from.onEvents(
    [ended('cc00', { durationMs: 100 }), { type: 'sample', info: info({ functions }) }],
    NOW,
  )
  const { durations } = get('functions/price', '', NOW, from) as unknown as {
    durations: readonly DurationBar[]
  }
  assert.deepEqual([durations[0]?.count, durations.at(-1)?.count], [1, 1])
  assert.ok(durations.every(({ from: low, to }) => low < to))
  assert.ok((durations[0]?.from ?? 0) <= 10 && (durations[0]?.to ?? 0) > 10)
  assert.throws(() => get('functions/none', '', NOW, from), { status: 404 })
})

test('graphs are rows, and one has its nodes', () => {
  const from = board()
  const counts = { waiting: 1, ready: 0, running: 1, succeeded: 2, failed: 0, dropped: 0 }
  const node = { task: '0a', function: 'f', layer: 0, state: 'running' } as const
  const graph = {
    id: '07',
    client: 'c',
    status: 'running',
    begun: new Date(NOW),
    ended: undefined,
  } as const
  from.onGraphs([{ ...graph, counts, layers: [], nodes: [node], edges: [] }], 1)
  const [row] = get('graphs', 'sort=-done', NOW, from).rows as unknown as readonly GraphEntry[]
  assert.deepEqual(
    [row?.total, row?.clientName, Object.hasOwn(row ?? {}, 'nodes')],
    [4, 'shop', false],
  )
  const { graph: found } = get('graphs/07', '', NOW, from) as unknown as { graph: GraphInfo }
  assert.deepEqual(found.nodes, [node])
  assert.throws(() => get('graphs/08', '', NOW, from), { status: 404 })
  assert.equal(overviewOf(from, NOW).graphs, 1)
})

test('allocators are listed with their decisions, unless the scheduler tells of none', () => {
  const listed = (allocators: ClusterInfo['allocators']): unknown => {
    const from = new Board()
    from.onEvents([{ type: 'sample', info: info({ allocators }) }], NOW)
    return overviewOf(from, NOW).allocators
  }
  const night = allocator('night', { paused: true, problem: 'no licence' })
  assert.deepEqual(listed([night]), [night])
  assert.equal(listed(undefined), null)
  assert.equal(overviewOf(new Board(), NOW).allocators, null)
})

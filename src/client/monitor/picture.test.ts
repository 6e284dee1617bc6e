import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../base/ids.js'
import type {
  ClientReport,
  GraphReport,
  MonitorReport,
  MonitorState,
  PeerChange,
  PeerInfo,
  TaskEvent,
  WorkerReport,
} from '../../wire/message.js'
import type { ClusterEvent } from './cluster-info.js'
import { ClusterPicture } from './picture.js'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)

const INFO: PeerInfo = {
  name: 'left',
  host: 'one',
  machineId: 'm1',
  pid: 7,
  version: '1.2.3',
  startedMS: 0,
  endsMS: 0,
  endsInMS: 0,
  allocation: '',
}

/** What a scheduler says of a worker. */
function worker(
  id: string,
  more: Partial<WorkerReport> & { readonly sent?: number } = {},
): WorkerReport {
  const { sent = 0, ...report } = more
  return {
    worker: {
      workerId: identity(id),
      agent: { cpu: 20, rss: 5 },
      rssFree: 9_000,
      free: 1,
      sent,
      queued: 0,
      suspended: 0,
      lagUS: 1_234,
      lastS: 0,
      itl: '101',
      processorStatuses: [
        {
          pid: 8,
          initialized: true,
          hasTask: sent > 0,
          suspended: false,
          resource: { cpu: 500, rss: 70 },
        },
      ],
    },
    runtime: 'node/20.0.0',
    agentId: 'a1',
    capabilities: [{ name: 'gpu', value: 2 }],
    isLeaving: false,
    info: [INFO],
    running: [],
    address: '10.0.0.7',
    ...report,
  }
}

function client(id: string): ClientReport {
  const info = { ...INFO, name: 'shop' }
  return {
    client: identity(id),
    runtime: 'node',
    info: [info],
    tasks: 3,
    worker: identity(''),
    objectBytes: 77,
  }
}

function state(more: Partial<MonitorState> = {}): MonitorState {
  return {
    scheduler: { cpu: 15, rss: 1_000 },
    rssFree: 2_000,
    waiting: 4,
    running: 5,
    ended: [
      { status: 'success', tasks: 10 },
      { status: 'failed', tasks: 1 },
      { status: 'workerDied', tasks: 2 },
      // Clients submit them again.
      { status: 'noWorker', tasks: 9 },
      { status: 'canceled', tasks: 3 },
    ],
    workers: more.workerReports?.length ?? 0,
    firstWorker: 0,
    workerReports: [],
    clients: more.clientReports?.length ?? 0,
    firstClient: 0,
    clientReports: [],
    functions: [],
    waitingCounts: [],
    objects: 6,
    objectLimitBytes: 0,
    objectDiskBytes: 0,
    objectsRefused: 0,
    diskError: '',
    objectBytes: 66,
    lost: 0,
    lostWorkers: [],
    uptimeMS: 61_250,
    submittedPerS: 100,
    endedPerS: 90,
    failedPerS: 1,
    turnP99MS: 1.234,
    binder: { received: [{ client: 'Task', number: 3 }], sent: [{ client: 'TaskLog', number: 2 }] },
    graphCount: 0,
    graphs: [],
    allocators: [],
    storageServers: [],
    ...more,
  }
}

function report(more: Partial<MonitorReport> = {}): MonitorReport {
  const none = { states: [], events: [], lostEvents: 0, failures: [], lostFailures: 0 }
  return { kind: 'monitorReport', ...none, peers: [], hasAllPeers: false, ...more }
}

const ENDED: TaskEvent = {
  taskId: taskId('\u0002'),
  name: '',
  function: 'f',
  client: identity('C'),
  worker: identity(''),
  status: 'canceled',
  queuedAgoMS: 1_500,
  startAgoMS: 0,
  endAgoMS: 500,
  durationMS: 0,
  errorName: '',
  attempts: 0,
  past: [],
}

/** The events of a report, without samples. */
function told(picture: ClusterPicture, message: MonitorReport): readonly ClusterEvent[] {
  const events: ClusterEvent[] = []
  picture.onReport(message, NOW, (event) => events.push(event))
  return events.filter(({ type }) => type !== 'sample')
}

const ALLOCATOR = {
  name: 'night',
  provider: 'slurm',
  runtime: '',
  offers: [{ name: 'gpu', value: -1 }],
  room: 5,
  pending: 1,
  claim: 0,
  running: 2,
  isPaused: true,
  decision: 'backOff',
  why: 'r',
  problem: 'p',
} as const

const ALLOCATOR_INFO = {
  name: 'night',
  provider: 'slurm',
  runtime: 'javascript',
  offers: { gpu: -1 },
  room: 5,
  pending: 1,
  claim: 0,
  running: 2,
  paused: true,
  action: 'back-off',
  reason: 'r',
  problem: 'p',
}

test('a state is translated into the words and units of users', () => {
  const picture = new ClusterPicture('tcp://h:1')
  assert.deepEqual([picture.isComplete, picture.info(NOW)], [false, undefined])
  const task = { taskId: taskId('\u0001'), forMS: 40, name: 'of an option', function: 'price' }
  const running = [task]
  const waiting = {
    reason: 'noCapability',
    needs: 'tpu=1',
    function: 'f',
    isPython: false,
    tasks: 7,
  } as const
  const counts = { name: 'f', ended: 9, failed: 1, measured: 8, totalMS: 80, longestMS: 20 }
  const quantiles = { p50MS: 9, p90MS: 18, p99MS: 19.5, peakBytes: 0 }
  told(
    picture,
    report({
      states: [
        state({
          workerReports: [worker('A', { running, sent: 3 })],
          clientReports: [client('C')],
          waitingCounts: [{ ...waiting, forMS: 2_500 }],
          functions: [{ ...counts, ...quantiles }],
          allocators: [ALLOCATOR],
          storageServers: [
            {
              address: 'tcp://a:1',
              state: 'away',
              problem: 'refused',
              objects: 2,
              objectBytes: 30,
            },
          ],
        }),
      ],
    }),
  )
  assert.ok(picture.isComplete)
  const info = picture.info(NOW)
  assert.deepEqual(info, {
    time: new Date(NOW),
    scheduler: {
      address: 'tcp://h:1',
      monitorAddress: undefined,
      version: undefined,
      uptimeS: 61.3,
      cpu: 1.5,
      rssBytes: 1_000,
      turnP99Ms: 1.23,
      freeBytes: 2_000,
      messages: { sent: { TaskLog: 2 }, received: { Task: 3 } },
    },
    tasks: { waiting: 4, running: 5, success: 10, failed: 3, canceled: 3, notFound: 0 },
    rates: { submitted: 100, ended: 90, failed: 1 },
    waiting: [
      {
        reason: 'no-capability',
        requirement: 'tpu=1',
        function: 'f',
        count: 7,
        seconds: 2.5,
      },
    ],
    hosts: [
      {
        host: 'one',
        address: '10.0.0.7',
        cpu: 52,
        freeBytes: 9_000,
        workers: [
          {
            id: 'A',
            name: 'left',
            state: 'busy',
            capabilities: { gpu: 2 },
            running: [{ task: '01', name: 'of an option', function: 'price', sinceMs: 40 }],
            queued: 2,
            cpu: 50,
            rssBytes: 70,
            lagMs: 1.23,
            agentCpu: 2,
            agentRssBytes: 5,
            freeBytes: 9_000,
            free: 1,
            sent: 3,
            suspended: 0,
            itl: '101',
            silentS: 0,
            version: '1.2.3',
            endsAt: undefined,
          },
        ],
      },
    ],
    lost: { count: 0, workers: [] },
    clients: [{ id: 'C', name: 'shop', host: 'one', unfinished: 3, bytes: 77, worker: undefined }],
    functions: [
      {
        name: 'f',
        count: 9,
        failed: 1,
        meanMs: 10,
        p50Ms: 9,
        p90Ms: 18,
        p99Ms: 19.5,
        maxMs: 20,
        peakBytes: undefined,
      },
    ],
    failures: [],
    objects: {
      count: 6,
      bytes: 96,
      serverBytes: 30,
      limitBytes: undefined,
      diskBytes: undefined,
      refused: undefined,
      diskError: undefined,
    },
    allocators: [ALLOCATOR_INFO],
    storageServers: [
      { address: 'tcp://a:1', state: 'away', problem: 'refused', objects: 2, bytes: 30 },
    ],
  })
})

test('lost workers are told with their host, which in Python is in the identity', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const loss = {
    worker: identity(`7|box|${'0'.repeat(32)}`),
    name: '',
    host: '',
    cause: 'silence',
    agoMS: 1_500,
    hasReturned: false,
    tasks: [{ taskId: taskId('\u0002'), name: 'f' }],
    taskCount: 3,
  } as const
  told(picture, report({ states: [state({ lost: 4, lostWorkers: [loss] })] }))
  const lost = picture.info(NOW)?.lost
  assert.equal(lost?.count, 4)
  assert.deepEqual(lost.workers, [
    {
      time: new Date(NOW - 1_500),
      id: loss.worker,
      name: '',
      host: 'box',
      cause: 'silence',
      hasReturned: false,
      tasks: [{ task: '02', name: 'f' }],
      taskCount: 3,
    },
  ])
})

test('a scheduler that counts no messages reports none', () => {
  const picture = new ClusterPicture('tcp://h:1')
  told(picture, report({ states: [state({ binder: { received: [], sent: [] } })] }))
  assert.equal(picture.info(NOW)?.scheduler.messages, undefined)
})

test('containers on one machine, each with a host name of its own, are hosts', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const pod = [{ ...INFO, host: 'pod' }]
  told(
    picture,
    report({ states: [state({ workerReports: [worker('A'), worker('B', { info: pod })] })] }),
  )
  const hosts = picture.info(NOW)?.hosts ?? []
  assert.deepEqual(
    hosts.map(({ host, workers }) => [host, workers.map(({ id }) => id).join()]),
    [
      ['one', 'A'],
      ['pod', 'B'],
    ],
  )
})

test('workers are grouped by machine, and an agent counts once', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const other = [{ ...INFO, machineId: 'm2', host: 'two' }]
  const workerReports = [
    worker('A'),
    worker('B', { info: other, agentId: 'a2' }),
    worker('D'),
    worker('P', { info: [], agentId: '' }),
  ]
  told(picture, report({ states: [state({ workerReports })] }))
  const hosts = picture.info(NOW)?.hosts ?? []
  assert.deepEqual(
    hosts.map(({ host, cpu, workers }) => [host, cpu, workers.map(({ id }) => id).join()]),
    [
      ['one', 102, 'A,D'],
      ['two', 52, 'B'],
      ['', 52, 'P'],
    ],
  )
})

test('workers of Python Scaler belong to the machine whose host name they have', () => {
  const python = (name: string): WorkerReport => {
    return worker(`7|${name}|${'0'.repeat(32)}`, { info: [], agentId: '' })
  }
  const copy = (id: string): WorkerReport => {
    return worker(id, { info: [{ ...INFO, machineId: id, host: 'copy' }], agentId: id })
  }
  const workerReports = [python('one'), worker('A'), copy('B'), copy('D'), python('copy')]
  const picture = new ClusterPicture('tcp://h:1')
  told(picture, report({ states: [state({ workerReports })] }))
  const hosts = picture.info(NOW)?.hosts ?? []
  assert.deepEqual(
    hosts.map(({ host, workers }) => [host, workers.length]),
    [
      ['one', 2],
      ['copy', 1],
      ['copy', 1],
      ['copy', 1],
    ],
  )
})

test('the state of a worker is one word', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const starting = worker('S')
  const workerReports = [
    { ...starting, worker: { ...starting.worker, itl: '001' } },
    worker('I'),
    worker('B', { sent: 1 }),
    worker('L', { isLeaving: true }),
  ]
  told(picture, report({ states: [state({ workerReports })] }))
  const states = picture.info(NOW)?.hosts[0]?.workers.map(({ state: word }) => word)
  assert.deepEqual(states, ['starting', 'idle', 'busy', 'leaving'])
})

test('a table that comes in parts is complete once all have come', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const part = (first: number, ...ids: readonly string[]): MonitorReport => {
    const workerReports = ids.map((id) => worker(id))
    return report({ states: [state({ workers: 3, firstWorker: first, workerReports })] })
  }
  assert.deepEqual(told(picture, part(0, 'A', 'B')), [])
  assert.equal(picture.isComplete, false)
  assert.deepEqual(told(picture, part(2, 'D')), [])
  assert.equal(picture.isComplete, true)
  // B has left, E has joined.
  const joined = told(picture, part(0, 'A', 'D'))
  const left = told(picture, part(2, 'E'))
  const outline = [...joined, ...left].map((event) =>
    event.type === 'worker' ? `${event.worker.id} ${event.change}` : event.type,
  )
  assert.deepEqual(outline, ['E joined', 'B left'])
  const workers = picture.info(NOW)?.hosts[0]?.workers.map(({ id }) => id)
  assert.deepEqual(workers, ['A', 'D', 'E'])
})

test('clients that come and go are told, those of the beginning are not', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const withClients = (...ids: readonly string[]): readonly string[] => {
    const events = told(picture, report({ states: [state({ clientReports: ids.map(client) })] }))
    return events.map((event) => {
      return event.type === 'client' ? `${event.client.id} ${event.change}` : event.type
    })
  }
  assert.deepEqual(withClients('C'), [])
  assert.deepEqual(withClients('C', 'D'), ['D joined'])
  assert.deepEqual(withClients('D'), ['C left'])
  assert.deepEqual(withClients(), ['D left'])
})

/** A worker or a client has joined or left. */
function change(sign: '+' | '-', peer: WorkerReport | ClientReport, after = 0): PeerChange {
  const about = { hasLeft: sign === '-', after }
  return 'client' in peer
    ? { ...about, worker: [], client: [peer] }
    : { ...about, worker: [peer], client: [] }
}

/** What a report tells of peers: `+A -B`. */
function peersTold(picture: ClusterPicture, message: Partial<MonitorReport>): string {
  const lines = told(picture, report(message)).map((event) => {
    if (event.type !== 'worker' && event.type !== 'client') return event.type
    const { id } = event.type === 'worker' ? event.worker : event.client
    return `${event.change === 'left' ? '-' : '+'}${id}`
  })
  return lines.join(' ')
}

test('peers are told as the scheduler tells them, between the tasks; states tell none', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const both = state({ workerReports: [worker('A')], clientReports: [client('C')] })
  assert.equal(peersTold(picture, { states: [both] }), '')
  const events = [ENDED, ENDED]
  const sure = { hasAllPeers: true }
  const peers = [
    change('+', client('D')),
    change('-', client('D'), 1),
    change('+', worker('W'), 1),
    change('-', worker('W'), 2),
    change('-', worker('A'), 2),
  ]
  const order = peersTold(picture, { ...sure, events, peers })
  assert.equal(order, '+D task -D +W task -W -A')
  // The state is newer than what is told with it: B has joined, A again, and C has left.
  const next = state({ workerReports: [worker('A'), worker('B')] })
  assert.equal(peersTold(picture, { ...sure, states: [next] }), '')
  const ids = picture.info(NOW)?.hosts.flatMap(({ workers }) => workers.map(({ id }) => id))
  assert.deepEqual([ids, picture.info(NOW)?.clients], [['A', 'B'], []])
  const late = [change('+', worker('B')), change('-', client('C')), change('+', worker('A'))]
  assert.equal(peersTold(picture, { ...sure, peers: late }), '+B -C +A')
})

test('after changes were missed, states are compared, and no peer is told twice', () => {
  const picture = new ClusterPicture('tcp://h:1')
  // It left before its row was listed.
  assert.equal(peersTold(picture, { peers: [change('-', client('Z'))] }), '-Z')
  assert.equal(peersTold(picture, { states: [state({ workerReports: [worker('A')] })] }), '')
  const next = state({ workerReports: [worker('B')] })
  assert.equal(peersTold(picture, { states: [next] }), '+B -A')
  const late = [change('+', worker('B')), change('-', worker('A')), change('+', worker('D'))]
  assert.equal(peersTold(picture, { peers: late }), '+D')
  const both = state({ workerReports: [worker('B'), worker('D')] })
  assert.equal(peersTold(picture, { states: [both] }), '')
  assert.equal(peersTold(picture, { peers: [change('-', worker('D'))] }), '-D')
  assert.equal(peersTold(picture, { states: [next] }), '')
})

test('ended tasks are told with their times, after those that were lost', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const ran = { ...ENDED, worker: identity('W'), status: 'success', startAgoMS: 700 } as const
  const events = told(
    picture,
    report({ lostEvents: 4, events: [ENDED, { ...ran, durationMS: 200 }] }),
  )
  const known = {
    type: 'task',
    time: new Date(NOW - 500),
    task: '02',
    name: 'f',
    function: 'f',
    client: 'C',
    errorName: '',
    past: [],
  }
  assert.deepEqual(events, [
    { type: 'lost', count: 4 },
    {
      ...known,
      worker: undefined,
      status: 'canceled',
      queuedMs: 1_000,
      durationMs: undefined,
      attempts: 0,
    },
    { ...known, worker: 'W', status: 'success', queuedMs: 800, durationMs: 200, attempts: 0 },
  ])
})

test('the last thousand failures are kept', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const failure = (number: number): MonitorReport['failures'][number] => ({
    number,
    taskId: taskId('\u0003'),
    name: `n${number}`,
    function: 'f',
    client: identity(''),
    worker: identity('W'),
    status: number === 1_200 ? 'workerDied' : 'failed',
    agoMS: 5,
    error: number === 1_200 ? [] : [{ name: 'RangeError', message: 'far', stack: 'at f' }],
    attempts: 2,
  })
  const failures = Array.from({ length: 1_200 }, (_, index) => failure(index + 1))
  told(picture, report({ failures, states: [state()] }))
  const kept = picture.info(NOW)?.failures ?? []
  assert.deepEqual([kept.length, kept[0]?.name], [1_000, 'n201'])
  assert.deepEqual(kept.at(-2), {
    time: new Date(NOW - 5),
    task: '03',
    name: 'n1199',
    function: 'f',
    client: undefined,
    worker: 'W',
    errorName: 'RangeError',
    message: 'far',
    stack: 'at f',
    attempts: 2,
  })
  assert.equal(kept.at(-1)?.errorName, 'WorkerDiedError')
})

test('with the next scheduler nothing of the last one remains', () => {
  const picture = new ClusterPicture('tcp://h:1')
  told(picture, report({ states: [state({ workerReports: [worker('A')] })] }))
  const next = picture.ofNextScheduler()
  assert.deepEqual([next.isComplete, next.info(NOW)], [false, undefined])
})

test('a graph keeps its beginning; the last one that has ended is the first of these', () => {
  const picture = new ClusterPicture('tcp://h:1')
  const none = { layers: 0, waiting: 0, ready: 0, running: 1, succeeded: 2, failed: 0, dropped: 0 }
  const graph = (id: string, endedAgoMS = 0, begunAgoMS = 100): GraphReport => ({
    graphId: taskId(id),
    client: identity('C'),
    status: endedAgoMS === 0 ? 'running' : 'success',
    isOpen: false,
    begunAgoMS,
    endedAgoMS,
    counts: none,
    layers: [],
    nodes: [],
    edges: [],
  })
  const see = (...graphs: readonly GraphReport[]): readonly (readonly [string, number])[] => {
    told(picture, report({ states: [state({ graphs })] }))
    return picture.graphs.map(({ id, begun }) => [id, NOW - begun.getTime()])
  }
  assert.deepEqual(see(graph('\u0001'), graph('\u0002')), [
    ['01', 100],
    ['02', 100],
  ])
  assert.deepEqual(see(graph('\u0001', 0, 103), graph('\u0002', 1)), [
    ['01', 100],
    ['02', 100],
  ])
  assert.deepEqual(see(graph('\u0001', 1)), [
    ['01', 100],
    ['02', 100],
  ])
})

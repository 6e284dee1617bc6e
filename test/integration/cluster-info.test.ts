// `client.info()` and `client.events()` on real schedulers and workers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client,
  Cluster,
  ConfigError,
  type ClusterEvent,
  type ClusterInfo,
  Scheduler,
  SchedulerClusterCombo,
  TimeoutError,
} from 'scaler-ts'
import { until as untilBy } from './condition.js'

const DEADLINE_MS = 60_000

/** The first information for which `isTrue`. */
async function infoWhere(
  client: Client,
  what: string,
  isTrue: (info: ClusterInfo) => boolean,
): Promise<ClusterInfo> {
  let info: ClusterInfo | undefined
  const holds = async (): Promise<boolean> => isTrue((info = await client.info()))
  await untilBy(what, holds, DEADLINE_MS)
  assert.ok(info !== undefined)
  return info
}

test('info() tells of workers, clients, functions, what waits and what has failed', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 2, capabilities: { gpu: 1 } })
  await using client = new Client(address, { name: 'teller' })
  const price = (x: number): number => {
    if (x < 0) throw new RangeError('no price below 0')
    return x
  }
  assert.deepEqual(await client.map(price, [1, 2, 3]), [1, 2, 3])
  await assert.rejects(client.with({ name: 'odd' }).submit(price, -1), RangeError)
  const waiting = client.with({ capabilities: { tpu: 1 } }).submit(price, 4)
  const info = await infoWhere(client, 'the task waits', ({ tasks }) => tasks.waiting === 1)

  assert.ok(Math.abs(info.time.getTime() - Date.now()) < DEADLINE_MS)
  assert.deepEqual(
    [info.scheduler.address, info.scheduler.monitorAddress],
    [address, scheduler.monitorAddress],
  )
  assert.match(info.scheduler.version ?? '', /^\d+\.\d+\.\d+/)
  assert.ok((info.scheduler.uptimeS ?? 0) > 0 && info.scheduler.rssBytes > 1e6)
  const { waiting: waitingCount, success, failed } = info.tasks
  assert.deepEqual([waitingCount, success, failed], [1, 3, 1])
  const [reason] = info.waiting
  assert.deepEqual(
    { ...reason, seconds: 0 },
    { reason: 'no-capability', requirement: 'tpu=1', function: 'price', count: 1, seconds: 0 },
  )
  const [host, ...others] = info.hosts
  assert.deepEqual(others, [])
  assert.equal(host?.address, '127.0.0.1')
  assert.deepEqual(
    host?.workers.map(({ state, capabilities }) => [state, capabilities]),
    [
      ['idle', { gpu: 1 }],
      ['idle', { gpu: 1 }],
    ],
  )
  const [teller] = info.clients
  assert.deepEqual(
    [teller?.id, teller?.name, teller?.unfinished, info.clients.length],
    [client.identity, 'teller', 1, 1],
  )
  assert.ok((teller?.bytes ?? 0) > 0 && teller?.bytes === info.objects.bytes)
  const [named] = info.functions
  assert.deepEqual([named?.name, named?.count, named?.failed], ['price', 4, 1])
  const { p50Ms = 0, p99Ms = 0, maxMs = 0 } = named ?? {}
  assert.ok(p50Ms <= p99Ms && p99Ms <= maxMs && maxMs > 0, JSON.stringify(named))
  const [failure] = info.failures
  assert.deepEqual(
    [failure?.name, failure?.function, failure?.errorName, failure?.message, failure?.client],
    ['odd', 'price', 'RangeError', 'no price below 0', client.identity],
  )
  assert.match(failure?.stack ?? '', /RangeError: no price below 0\n +at price/)
  // As `scaler status --json` prints it.
  assert.equal((JSON.parse(JSON.stringify(info)) as { time: string }).time, info.time.toISOString())
  waiting.cancel()
})

test('a task that runs is shown with its worker, also to another client', async () => {
  await using client = await Client.local({ workers: 1 })
  await using other = new Client(client.address)
  const forever = client.submit(async function endless() {
    await new Promise(() => setInterval(() => {}, 1_000))
  })
  const info = await infoWhere(other, 'it runs', ({ hosts }) => {
    return hosts.some(({ workers }) => workers.some(({ running }) => running.length > 0))
  })
  const [worker] = info.hosts[0]?.workers ?? []
  assert.deepEqual(
    [worker?.state, worker?.queued, worker?.running[0]?.task, worker?.running[0]?.name],
    ['busy', 0, forever.id, 'endless'],
  )
  forever.cancel()
  await assert.rejects(forever)
})

/** Reads events in the background. */
class Reader {
  readonly events: ClusterEvent[] = []
  readonly ended: Promise<void>
  #isOpen = false

  constructor(client: Client, signal?: AbortSignal) {
    this.ended = this.#read(client, signal)
  }

  /** Resolves once it has read a sample: from then on, events are sent. */
  opened(): Promise<void> {
    return untilBy('a sample has come', () => this.#isOpen, DEADLINE_MS)
  }

  async #read(client: Client, signal: AbortSignal | undefined): Promise<void> {
    for await (const event of client.events(signal === undefined ? {} : { signal })) {
      this.events.push(event)
      if (event.type === 'sample') this.#isOpen = true
    }
  }
}

test('events() tells of all tasks, and of workers and clients that come and go', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using client = new Client(address)
  const reader = new Reader(client)
  await reader.opened()
  const cluster = await Cluster.start({ address, workers: 1 })
  const double = (x: number): number => 2 * x
  await client.map(
    double,
    Array.from({ length: 2_000 }, (_, index) => index),
  )
  const seen = (isMeant: (event: ClusterEvent) => boolean): boolean => reader.events.some(isMeant)
  const count = (): number => reader.events.filter(({ type }) => type === 'task').length
  await untilBy('all tasks are told', () => count() === 2_000, DEADLINE_MS)
  await untilBy(
    'the worker is told',
    () => seen((event) => event.type === 'worker' && event.change === 'joined'),
    DEADLINE_MS,
  )
  await cluster.shutdown()
  await untilBy(
    'its end is told',
    () => seen((event) => event.type === 'worker' && event.change === 'left'),
    DEADLINE_MS,
  )
  const ids = new Set(reader.events.flatMap((event) => (event.type === 'task' ? event.task : [])))
  assert.equal(ids.size, 2_000)
  const event = reader.events.find(({ type }) => type === 'task')
  assert.ok(event?.type === 'task')
  assert.deepEqual(
    [event.function, event.status, event.client, event.attempts],
    ['double', 'success', client.identity, 1],
  )
  assert.ok(!seen(({ type }) => type === 'lost'))
  await client.close()
  await reader.ended
})

test('clients and workers that stay for a moment only are told, in order', async () => {
  await using combo = await SchedulerClusterCombo.start({
    address: 'tcp://127.0.0.1:0',
    workers: 1,
  })
  await using client = await Client.connect(combo.address)
  const reader = new Reader(client)
  await reader.opened()
  const known = reader.events.length
  const expected: string[] = []
  for (let at = 0; at < 5; at += 1) {
    await using visitor = await Client.connect(combo.address, { name: `v${at}` })
    assert.equal(await visitor.submit((x: number) => x, at), at)
    expected.push(`v${at} joined`, 'task success', `v${at} left`)
  }
  const options = { address: combo.address, workers: 1, workerNames: ['w'] }
  await (await Cluster.start(options)).shutdown()
  expected.push('w joined', 'w left')
  const lines = (): readonly string[] => {
    return reader.events.slice(known).flatMap((event) => {
      if (event.type === 'worker') return `${event.worker.name} ${event.change}`
      if (event.type === 'client') return `${event.client.name} ${event.change}`
      return event.type === 'task' ? `task ${event.status}` : []
    })
  }
  await untilBy('all are told', () => lines().length >= expected.length, DEADLINE_MS)
  const samples = (): number => reader.events.filter(({ type }) => type === 'sample').length
  const seen = samples()
  await untilBy('two more samples have come', () => samples() >= seen + 2, DEADLINE_MS)
  assert.deepEqual(lines(), expected)
  assert.ok(!reader.events.some(({ type }) => type === 'lost'))
})

test('events go on with the next scheduler at the address', async () => {
  const first = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = first
  await using client = new Client(address)
  const reader = new Reader(client)
  await reader.opened()
  await first.close()
  await using _second = await Scheduler.start({ address })
  const before = reader.events.length
  await untilBy('a further sample', () => reader.events.length > before, DEADLINE_MS)
  const last = reader.events.at(-1)
  assert.ok(last?.type === 'sample' && last.info.hosts.length === 0)
  await client.close()
  await reader.ended
})

test('a signal ends info() and events() with its reason', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await using client = new Client(scheduler.address)
  const abort = new AbortController()
  const reader = new Reader(client, abort.signal)
  await reader.opened()
  const reason = new Error('enough')
  abort.abort(reason)
  await assert.rejects(reader.ended, reason)
  await assert.rejects(client.info({ signal: abort.signal }), reason)
  const later = new AbortController()
  await using nowhere = new Client('tcp://127.0.0.1:1')
  const looking = nowhere.info({ signal: later.signal })
  later.abort(reason)
  await assert.rejects(looking, reason)
})

test('closing the client ends info() and objects() that wait', async () => {
  const closed = { code: 'ERR_SCALER_CLIENT_CLOSED' }
  for (const isLate of [false, true]) {
    const client = new Client('tcp://127.0.0.1:1')
    const asked = [client.info(), client.objects()]
    const ends = asked.map((answer) => assert.rejects(answer, closed))
    // By then, they have connections of their own.
    if (isLate) await assert.rejects(client.info({ signal: AbortSignal.timeout(500) }))
    await client.close()
    await Promise.all(ends)
  }
})

test('wrong options, closed clients and silent addresses are refused', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const client = new Client(scheduler.address)
  const wrong = { signal: 1 } as unknown as { signal: AbortSignal }
  const unknown = { sginal: undefined } as unknown as { signal: AbortSignal }
  for (const options of [wrong, unknown, null as never, 5 as never]) {
    await assert.rejects(client.info(options), ConfigError)
    await assert.rejects(client.events(options).next(), ConfigError)
  }
  await client.close()
  await assert.rejects(client.info(), { code: 'ERR_SCALER_CLIENT_CLOSED' })
  await assert.rejects(client.events().next(), { code: 'ERR_SCALER_CLIENT_CLOSED' })
  await using nowhere = new Client('tcp://127.0.0.1:1', { timeoutMs: 1_000 })
  await assert.rejects(nowhere.info(), TimeoutError)
})

test('a loop over events that is left closes its connection', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await using client = await Client.connect(scheduler.address)
  for await (const { type } of client.events()) if (type === 'sample') break
  const [first] = [await client.info()]
  assert.equal(first?.clients.length, 1)
})

/** The connections of this process that keep it alive. */
function socketCount(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}

test('a client that is closed closes the connections of its loops that nobody continues', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const before = socketCount()
  const client = await Client.connect(scheduler.address)
  const stopping = new AbortController()
  const aborted = client.events({ signal: stopping.signal })
  const left = client.events()
  assert.deepEqual(
    (await Promise.all([aborted.next(), left.next()])).map(({ done }) => done),
    [false, false],
  )
  const during = socketCount()
  stopping.abort()
  await untilBy('one connection is closed', () => socketCount() < during, DEADLINE_MS)
  await client.close()
  await untilBy('all connections are closed', () => socketCount() <= before, DEADLINE_MS)
})

test('who reads too much is refused by number, and served when others have left', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await using client = await Client.connect(scheduler.address)
  const readers = Array.from({ length: 100 }, () => client.events())
  await Promise.all(readers.map((reader) => reader.next()))
  const refusal = { code: 'ERR_SCALER_CONNECT', message: /serves at most 100 monitors at a time/ }
  await assert.rejects(client.info(), refusal)
  await assert.rejects(client.events().next(), refusal)
  await readers[7]?.return()
  await untilBy('there is room', () => client.info().then(Boolean, () => false), DEADLINE_MS)
})

test('objects() tells of what is stored: by whom, how large, and which workers have copies', async () => {
  const place = { address: 'tcp://127.0.0.1:0', objectDirectory: '' }
  await using scheduler = await Scheduler.start(place)
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 2 })
  await using client = new Client(address)
  await using other = new Client(address)
  const table = client.sendObject(new Float64Array(100_000), { name: 'table' })
  const small = other.sendObject({ a: 1 })
  const lengthOf = (values: Float64Array): number => values.length
  assert.equal(await client.submit(lengthOf, table), 100_000)
  await untilBy('both are stored', async () => (await other.objects()).length >= 4, DEADLINE_MS)
  const all = await other.objects()
  const sizes = all.map(({ sizeBytes }) => sizeBytes)
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  )
  const [first] = all
  assert.ok(first !== undefined && first.ageMs >= 0 && first.ageMs < DEADLINE_MS)
  const { ageMs: _, holders, holderCount, ...told } = first
  assert.deepEqual(told, {
    id: table.id,
    name: 'table',
    sizeBytes: table.sizeBytes,
    owner: client.identity,
    users: 1,
    place: 'memory',
    server: null,
  })
  assert.equal(holders.length, holderCount)
  const workers = (await other.info()).hosts.flatMap((host) => host.workers.map(({ id }) => id))
  assert.ok(holderCount >= 1 && holders.every((worker) => workers.includes(worker)))
  const ofOther = all.find(({ id }) => id === small.id)
  assert.deepEqual([ofOther?.owner, ofOther?.name], [other.identity, ''])
  assert.ok(all.some(({ name }) => name === 'lengthOf'))
  table.release()
  const isGone = async (): Promise<boolean> =>
    (await other.objects()).every(({ id }) => id !== table.id)
  await untilBy('the table is deleted', isGone, DEADLINE_MS)
  await client.close()
  await assert.rejects(client.objects(), { name: 'ClientClosedError' })
})

// Object storage servers as processes: content does not pass through the scheduler, and a server
// that is killed costs no result.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client, StorageFullError } from 'scaler-ts'
import { OUR_FEATURES } from '#src/base/features.js'
import { objectId } from '#src/base/ids.js'
import { MessageReader } from '#src/runtime/message-reader.js'
import { newIdentity } from '#src/runtime/peer-info.js'
import { visitorHeartbeat } from '#src/runtime/storage/link.js'
import { DealerSocket } from '#src/transport/dealer.js'
import { encodeFrame, type ObjectResponse } from '#src/wire/message.js'
import { TestCluster } from '../chaos/cluster.js'
import { descendantsOf } from '../chaos/process-table.js'
import { until } from './condition.js'

const MIB = 2 ** 20

/** As on different machines: no process sees the files of another. */
const FAR = ['--object-directory', '']

const sumOf = (bytes: Uint8Array, more: number): number => (bytes[0] ?? 0) * bytes.length + more
const filled = (size: number, value: number): Uint8Array => new Uint8Array(size).fill(value)

/** A scheduler and two workers, which see no files of each other unless `isNear`. */
function newCluster(t: TestContext, isNear = false): Promise<TestCluster> {
  return TestCluster.start(t, {
    agents: [2],
    ...(isNear ? {} : { schedulerArgs: FAR, agentArgs: FAR }),
  })
}

async function placesOf(client: Client): Promise<readonly string[]> {
  return (await client.objects()).filter(({ sizeBytes }) => sizeBytes >= MIB).map((o) => o.place)
}

for (const isNear of [true, false]) {
  const where = isNear ? 'on this machine' : 'elsewhere'
  test(`arguments and results are on a server ${where}, and go with their objects`, async (t) => {
    const cluster = await newCluster(t, isNear)
    await cluster.startServer(isNear ? [] : FAR)
    const client = cluster.client()
    const argument = filled(4 * MIB, 3)
    assert.equal(await client.submit(sumOf, argument, 1), 12 * MIB + 1)
    const reference = client.sendObject(filled(2 * MIB, 5))
    const later = client.submit(filled, 3 * MIB, 7)
    assert.equal(await client.submit(sumOf, later, 0), 21 * MIB)
    assert.deepEqual(
      await client.starmap(
        sumOf,
        [1, 2].map((more) => [reference, more] as const),
      ),
      [10 * MIB + 1, 10 * MIB + 2],
    )
    assert.deepEqual([...new Set(await placesOf(client))], ['server'])
    assert.deepEqual(await later, filled(3 * MIB, 7))
    const graph = {
      table: filled(2 * MIB, 2),
      twice: [(x: Uint8Array) => x.map((y) => 2 * y), 'table'],
    }
    const { twice } = await client.get(graph, ['twice'])
    assert.deepEqual(twice, filled(2 * MIB, 4))
    const stored = (await client.objects()).find(({ id }) => id === reference.id)
    const bytesAt = async (address: string | null | undefined): Promise<number> => {
      const { storageServers = [] } = await client.info()
      const server = storageServers.find((each) => each.address === address)
      return server?.state === 'up' ? server.bytes : 0
    }
    await until('the server is listed', async () => (await bytesAt(stored?.server)) >= 3 * MIB)
    reference.release()
    await until('nothing is stored', async () => (await placesOf(client)).length === 0)
  })
}

test('values of all sizes arrive unchanged where workers have files', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2, 1], schedulerArgs: FAR })
  await cluster.startServer(FAR)
  const client = cluster.client()
  const bytesOf = (size: number): Uint8Array => {
    return Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8) + size) & 255)
  }
  const sizes = [-9, -1, 0, 1, 2, 3, 7, 8].map((more) => MIB / 4 + more)
  const bytes = [...sizes, MIB + 3, 3 * MIB, 3 * MIB + 1].map(bytesOf)
  const values = [
    ...bytes,
    Float64Array.from({ length: MIB / 4 }, (_, at) => at / 3),
    { rows: [bytesOf(MIB + 1), bytesOf(MIB)], text: 'long '.repeat(MIB / 4) },
  ]
  const same = <T>(value: T): T => value
  // Together, so that some arrive while others are read, and one after the other.
  assert.deepEqual(await client.map(same, values), values)
  for (const value of values) assert.deepEqual(await client.submit(same, value), value)
})

const HAS_IO = existsSync(`/proc/${process.pid}/io`)

test('the scheduler neither reads nor writes the content', { skip: !HAS_IO }, async (t) => {
  const cluster = await newCluster(t)
  await cluster.startServer(FAR)
  const client = cluster.client()
  const passed = (): number => {
    const text = readFileSync(`/proc/${cluster.scheduler.pid}/io`, 'utf8')
    const numbers = [...text.matchAll(/^[rw]char: (\d+)$/gm)]
    return numbers.reduce((sum, [, bytes]) => sum + Number(bytes), 0)
  }
  await client.submit(sumOf, filled(MIB, 1), 0)
  const before = passed()
  const results = [1, 2, 3, 4].map((value) =>
    client.submit((x: Uint8Array) => x, filled(16 * MIB, value)),
  )
  for (const [at, result] of (await Promise.all(results)).entries()) {
    assert.equal(sumOf(result, 0), (at + 1) * 16 * MIB)
  }
  const bytes = passed() - before
  assert(bytes < 8 * MIB, `${bytes} bytes of 128 MiB passed through the scheduler`)
})

test('a server that is killed costs no result, and the next one is used', async (t) => {
  const cluster = await newCluster(t)
  const first = await cluster.startServer(FAR)
  const client = cluster.client()
  const reference = client.sendObject(filled(2 * MIB, 3))
  const begun = join(cluster.folder, 'begun')
  const go = join(cluster.folder, 'go')
  const wait = async (bytes: Uint8Array, [at, until]: readonly string[]): Promise<number> => {
    const { writeFileSync: write, existsSync: isThere } = await import('node:fs')
    write(String(at), '')
    while (!isThere(String(until))) await new Promise((resolve) => setTimeout(resolve, 5))
    return bytes.length
  }
  // In the storage: an argument, a result that is needed, and one that nobody has fetched yet.
  const kept = client.submit(filled, 2 * MIB, 7)
  const needed = client.submit(filled, 2 * MIB, 8)
  assert.equal(await client.submit(sumOf, kept, 0), 14 * MIB)
  assert.equal(await client.submit(sumOf, reference, 0), 6 * MIB)
  const waiting = client.submit(wait, reference, [begun, go])
  await until('the task has begun', () => existsSync(begun))
  const graph = client.get(
    {
      a: [filled, 2 * MIB, 1],
      gate: [wait, reference, [begun, go]],
      b: [(x: Uint8Array, _gate: number) => x.map((y) => y + 1), 'a', 'gate'],
    },
    ['b'],
  )
  await first.kill()
  await cluster.startServer(FAR)
  writeFileSync(go, '')
  assert.equal(await waiting, 2 * MIB)
  assert.deepEqual(await kept, filled(2 * MIB, 7))
  assert.equal(await client.submit(sumOf, needed, 0), 16 * MIB)
  assert.equal(await client.submit(sumOf, reference, 1), 6 * MIB + 1)
  const { b } = await graph
  assert.deepEqual(b, filled(2 * MIB, 2))
  await cluster.removeFile('begun', 'go')
})

test('only what needs the content of a server that is killed runs again', async (t) => {
  const cluster = await newCluster(t)
  const first = await cluster.startServer(FAR)
  const client = cluster.client()
  const runs = join(cluster.folder, 'runs')
  const go = join(cluster.folder, 'go')
  /** Notes that it runs, and waits, if it is to. */
  const run = async (name: string, waits = false): Promise<string> => {
    const { appendFileSync: append, existsSync: isThere } = await import('node:fs')
    append(runs, `${name} `)
    while (waits && !isThere(go)) await new Promise((resolve) => setTimeout(resolve, 5))
    return name
  }
  const begun = (): readonly string[] => {
    return existsSync(runs) ? readFileSync(runs, 'utf8').trim().split(' ').toSorted() : []
  }
  const make = async (size: number, value: number): Promise<Uint8Array> => {
    await run('make')
    return new Uint8Array(size).fill(value)
  }
  const other = client.submit(run, 'other', true)
  const graph = client.get(
    {
      large: [make, 2 * MIB, 1],
      small: [() => run('tiny')],
      gate: [(_size: Uint8Array, name: string) => name, 'large', 'small'],
      wait: [(name: string) => run(name, true), 'gate'],
      end: [(x: Uint8Array, ...names: string[]) => [x.length, ...names], 'large', 'small', 'wait'],
    },
    ['end'],
  )
  await until('all that can have begun', () => begun().length === 4)
  assert.deepEqual(begun(), ['make', 'other', 'tiny', 'tiny'])
  await first.kill()
  await cluster.startServer(FAR)
  await until('what was lost is made again', () => begun().length >= 6)
  writeFileSync(go, '')
  assert.deepEqual(await graph, { end: [2 * MIB, 'tiny', 'tiny'] })
  assert.equal(await other, 'other')
  // `tiny` is the name that `gate` returns, too: `wait` was stopped, and began again.
  assert.deepEqual(begun(), ['make', 'make', 'other', 'tiny', 'tiny', 'tiny'])
  await cluster.removeFile('runs', 'go')
})

test('when servers and scheduler are full, the error says who fills them', async (t) => {
  const limited = (bytes: number, prefix = ''): readonly string[] => {
    return [...FAR, `--${prefix}memory-limit-bytes=${bytes}`, `--${prefix}disk-limit-bytes=0`]
  }
  const schedulerArgs = limited(4 * MIB, 'object-')
  const cluster = await TestCluster.start(t, { agents: [1], schedulerArgs, agentArgs: FAR })
  await cluster.startServer(limited(8 * MIB))
  const client = cluster.client()
  const reference = client.sendObject(filled(6 * MIB, 3))
  assert.equal(await client.submit(sumOf, reference, 0), 18 * MIB)
  assert.deepEqual(await placesOf(client), ['server'])
  const error = await client.submit(sumOf, filled(5 * MIB, 1), 0).catch((e: unknown) => e)
  assert(error instanceof StorageFullError)
  assert.match(
    error.message,
    /6\.3 MB on object storage servers; the client \S+ uses most, 6\.3 MB/,
  )
  const [first] = error.owners
  assert((first?.bytes ?? 0) >= 6 * MIB)
  assert.equal(error.limitBytes, 4 * MIB)
})

test('a result that a full server refuses is not computed again', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1], schedulerArgs: FAR })
  await cluster.startServer([`--memory-limit-bytes=${2 * MIB}`, '--disk-limit-bytes=0'])
  const client = cluster.client()
  const runs = join(cluster.folder, 'runs')
  const make = async (size: number, path: string): Promise<Uint8Array> => {
    const { appendFileSync } = await import('node:fs')
    appendFileSync(path, 'x')
    return new Uint8Array(size)
  }
  // The first ones may begin before the processor writes into files of the server.
  for (let count = 1; count <= 4; count += 1) {
    const result = await client.with({ maxWorkerDeaths: 0 }).submit(make, 3 * MIB, runs)
    assert.equal(result.length, 3 * MIB)
    assert.equal(readFileSync(runs, 'utf8').length, count)
  }
  await cluster.removeFile('runs')
})

test('servers get objects in proportion to their free room', async (t) => {
  const cluster = await newCluster(t)
  const start = (bytes: number): Promise<unknown> => {
    const limits = [`--memory-limit-bytes=${bytes}`, '--disk-limit-bytes=0']
    return cluster.startServer([...FAR, ...limits])
  }
  await start(8 * MIB)
  await start(120 * MIB)
  const client = cluster.client()
  const fewest = async (): Promise<number> => {
    const stored = Array.from({ length: 64 }, (_, at) => client.sendObject(filled(MIB / 16, at)))
    assert.deepEqual(
      await client.starmap(
        sumOf,
        stored.map((reference) => [reference, 1] as const),
      ),
      stored.map((_, at) => (at * MIB) / 16 + 1),
    )
    const servers = (await client.objects()).flatMap(({ server }) => server ?? [])
    await client.clear()
    // The first ones may be stored with the scheduler.
    if (servers.length < 64) return Infinity
    const count = servers.filter((server) => server === servers[0]).length
    return Math.min(count, 64 - count)
  }
  // With equal chances, so few would be one case in 19,000, and both have room for all.
  await until('the smaller one gets few', async () => (await fewest()) <= 16, 60_000)
})

test('a scheduler starts a server of its own when a large object comes from afar', async (t) => {
  const cluster = await newCluster(t)
  const client = cluster.client()
  // The first one may still be stored with the scheduler.
  assert.equal(await client.submit(sumOf, filled(2 * MIB, 3), 1), 6 * MIB + 1)
  const { server } = await cluster.scheduler.line(({ message }) => {
    return String(message).startsWith('starting an object storage server at')
  })
  const { port } = new URL(cluster.address)
  assert.equal(server, `tcp://127.0.0.1:${Number(port) + 1}`)
  let reference = client.sendObject(filled(2 * MIB, 5))
  // The client may learn of the server after it has sent the object.
  await until('it is on the server', async () => {
    reference = client.sendObject(filled(2 * MIB, 5))
    assert.equal(await client.submit(sumOf, reference, 1), 10 * MIB + 1)
    if ((await placesOf(client)).includes('server')) return true
    await client.clear()
    return false
  })
  const [child] = descendantsOf(cluster.scheduler.pid)
  process.kill(child ?? 0, 'SIGKILL')
  assert.equal(await client.submit(sumOf, reference, 2), 10 * MIB + 2)
  cluster.scheduler.signal('SIGTERM')
  assert.equal((await cluster.scheduler.ended).code, 143)
})

test('if its port is taken, the server of a scheduler listens at another one', async (t) => {
  const cluster = await newCluster(t)
  const port = Number(new URL(cluster.address).port) + 1
  const taken = createServer().on('error', () => {})
  t.after(() => taken.close())
  taken.listen(port, '127.0.0.1')
  const client = cluster.client()
  assert.equal(await client.submit(sumOf, filled(2 * MIB, 3), 1), 6 * MIB + 1)
  const { server } = await cluster.scheduler.line(({ message }) => {
    return String(message).startsWith('using the object storage server')
  })
  assert.notEqual(server, `tcp://127.0.0.1:${port}`)
  let value = 10
  await until('a large object is there', async () => {
    value += 1
    const next = client.sendObject(filled(2 * MIB, value))
    assert.equal(await client.submit(sumOf, next, 1), 2 * value * MIB + 1)
    return (await placesOf(client)).includes('server')
  })
})

test('a scheduler starts none if it was given an empty list', async (t) => {
  const schedulerArgs = [...FAR, '-osa', '']
  const cluster = await TestCluster.start(t, { agents: [1], schedulerArgs, agentArgs: FAR })
  const client = cluster.client()
  assert.equal(await client.submit(sumOf, filled(2 * MIB, 3), 1), 6 * MIB + 1)
  assert.equal(await client.submit(sumOf, filled(2 * MIB, 4), 1), 8 * MIB + 1)
  assert.deepEqual(descendantsOf(cluster.scheduler.pid), [])
})

test('a client and a worker with the address of a server learn what it is', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const server = await cluster.startServer()
  const address = String((await server.line((line) => 'address' in line))['address'])
  const misled = /object storage server; use that of its scheduler/
  await assert.rejects(Client.connect(address), misled)
  await assert.rejects(
    async () => cluster.client({}, address).submit(sumOf, filled(1, 1), 0),
    misled,
  )
  const agent = cluster.startAgentInBackground(1, [], address)
  const { code } = await agent.ended
  assert.equal(code, 1)
  assert.match(agent.stderr, misled)
})

test('what the server beside workers has outlives them, and no task runs again', async (t) => {
  const cluster = await TestCluster.start(t, { schedulerArgs: FAR })
  const runs = join(cluster.folder, 'runs')
  const make = async (file: string, size: number, value: number): Promise<Uint8Array> => {
    const { appendFileSync } = await import('node:fs')
    appendFileSync(file, 'x')
    return new Uint8Array(size).fill(value)
  }
  const usable = async (): Promise<string> => {
    const line = await cluster.scheduler.line(({ message }) => {
      return String(message).startsWith('using the object storage server')
    })
    return String(line['server'])
  }
  const agent = await cluster.startAgent(1, ['--object-storage', '--drain-seconds', '20'])
  const first = await usable()
  const client = cluster.client()
  const kept = [1, 2, 3].map((value) => client.submit(make, runs, 2 * MIB, value))
  for (const [at, future] of kept.entries()) {
    assert.equal(await client.submit(sumOf, future, 0), (at + 1) * 2 * MIB)
  }
  assert.deepEqual([...new Set(await placesOf(client))], ['server'])
  // There is no other server: the scheduler starts one.
  agent.signal('SIGTERM')
  assert.equal((await agent.ended).code, 143)
  assert.deepEqual([...new Set(await placesOf(client))], ['server'])
  for (const [at, future] of kept.entries()) assert.deepEqual(await future, filled(2 * MIB, at + 1))
  assert.equal(readFileSync(runs, 'utf8'), 'xxx')
  assert.notEqual(first, '')
  assert.deepEqual(descendantsOf(agent.pid), [])
  await cluster.removeFile('runs')
})

test('a scheduler starts a server when somebody elsewhere needs what a client here has', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const reference = client.sendObject(filled(2 * MIB, 5))
  assert.equal(await client.submit(sumOf, reference, 1), 10 * MIB + 1)
  assert.deepEqual(descendantsOf(cluster.scheduler.pid), [])
  const large = (await client.objects()).find(({ sizeBytes }) => sizeBytes >= MIB)
  const objectIds = [objectId(Buffer.from(large?.id ?? '', 'hex').toString('latin1'))]
  // A peer that does not prove that it sees the files.
  let response: ObjectResponse | undefined
  const reader = new MessageReader(() => {})
  const peer = new DealerSocket(cluster.address, newIdentity('Far'), {
    onConnect: () => {
      peer.send(encodeFrame(visitorHeartbeat(true, OUR_FEATURES)))
      peer.send(encodeFrame({ kind: 'objectRequest', requestType: 'get', objectIds }))
    },
    onMessages: (messages) => {
      for (const frames of messages) {
        const message = reader.read(frames)
        if (message?.kind === 'objectResponse') response = message
      }
    },
    onConnectFailed: () => {},
    onDisconnect: () => {},
    onDrain: () => {},
  })
  t.after(() => peer.close())
  await until('the content has arrived', () => response !== undefined)
  assert.deepEqual(response?.objectContent.objectTypes, ['object'])
  await cluster.scheduler.line(({ message }) => {
    return String(message).startsWith('using the object storage server')
  })
  let value = 10
  await until('content of the client goes there', async () => {
    value += 1
    const next = client.sendObject(filled(2 * MIB, value))
    assert.equal(await client.submit(sumOf, next, 1), 2 * value * MIB + 1)
    return (await placesOf(client)).includes('server')
  })
})

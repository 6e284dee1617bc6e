// The limits of the object storage, through real processes: what does not fit into memory goes to disk
// and comes back, what fits nowhere is refused, and nothing is left.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  ConfigError,
  MissingObjectError,
  type ObjectReference,
  Scheduler,
  StorageFullError,
} from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import { until } from './condition.js'

const MIB = 2 ** 20

interface Setup {
  readonly cluster: TestCluster
  /** The files on disk. */
  readonly files: () => readonly string[]
  readonly base: string
}

interface Limits {
  readonly memory: number
  readonly disk: number
  readonly quota?: number
  /** Whether content travels in messages only. */
  readonly inMessages?: boolean
  /** The disk writes nothing until there is such a file in `base`. */
  readonly stuckUntil?: string
}

async function start(t: TestContext, limits: Limits): Promise<Setup> {
  const base = mkdtempSync(join(tmpdir(), 'storage-'))
  const { memory, disk, quota = 0, inMessages = false, stuckUntil } = limits
  const flags = {
    'object-memory-limit-bytes': memory,
    'object-disk-limit-bytes': disk,
    'object-quota-bytes': quota,
    'object-spill-directory': base,
    ...(inMessages ? { 'object-directory': '' } : {}),
  }
  const schedulerArgs = Object.entries(flags).flatMap(([flag, value]) => [
    `--${flag}`,
    String(value),
  ])
  const stuck = stuckUntil !== undefined && {
    nodeArgs: ['--import', import.meta.resolve('./program/stuck-disk.js')],
    env: { STUCK_UNTIL: join(base, stuckUntil) },
  }
  const cluster = await TestCluster.start(t, {
    schedulerArgs,
    agents: [2],
    dataFolder: base,
    ...stuck,
  })
  const files = (): readonly string[] =>
    readdirSync(base).flatMap((directory) => {
      if (directory === stuckUntil) return []
      const names = readdirSync(join(base, directory)).filter((name) => name !== 'key')
      return names.map((name) => join(base, directory, name))
    })
  return { cluster, files, base }
}

/** A megabyte that differs from all others. */
function bytesOf(number: number): Uint8Array {
  return new Uint8Array(MIB).map((_, at) => at * 31 + number)
}

const firstOf = (bytes: Uint8Array): number => bytes[0] ?? -1

for (const inMessages of [false, true]) {
  const how = inMessages ? 'messages' : 'shared files'
  test(`what does not fit into memory goes to disk and back: ${how}`, async (t) => {
    const { cluster, files } = await start(t, { memory: 4 * MIB, disk: 100 * MIB, inMessages })
    const client = cluster.client()
    const stored = Array.from({ length: 20 }, (_, number) => client.sendObject(bytesOf(number)))
    const same = (bytes: Uint8Array): Uint8Array => bytes
    await until('most on disk', async () => {
      const places = (await client.objects()).filter(({ place }) => place === 'disk')
      return places.length >= 16 && files().length >= 16
    })
    for (const [number, object] of stored.entries()) {
      assert.deepEqual(await client.submit(same, object), bytesOf(number))
    }
    for (const object of stored) object.release()
    await until('no files', () => files().length === 0)
  })
}

for (const inMessages of [false, true]) {
  const how = inMessages ? 'messages' : 'shared files'
  test(`while the disk writes nothing, others work, and little is taken in ${how}`, async (t) => {
    const limits = { memory: 4 * MIB, disk: 1_000 * MIB, inMessages, stuckUntil: 'gate' }
    const { cluster, base } = await start(t, limits)
    const [owner, other] = [cluster.client(), cluster.client()]
    const stored = Array.from({ length: 250 }, (_, number) => owner.sendObject(bytesOf(number)))
    const firsts = owner.map(firstOf, stored)
    const count = async (): Promise<number> => {
      return (await other.objects()).filter(({ sizeBytes }) => sizeBytes >= MIB).length
    }
    const begun = performance.now()
    // 4 are in memory, and 32 wait for the disk.
    await until('the disk is behind', async () => (await count()) > 36)
    for (let number = 0; number < 20; number += 1) {
      assert.equal(await other.submit((x: number) => x + 1, number), number + 1)
    }
    const seconds = Math.ceil((performance.now() - begun) / 1000)
    // What their sender has put into files before it could see that.
    const early = inMessages ? 0 : 64
    const most = 40 + early + 4 * seconds
    assert.ok((await count()) <= most, `${await count()} in ${seconds} s`)
    writeFileSync(join(base, 'gate'), '')
    assert.deepEqual(
      await firsts,
      stored.map((_, number) => bytesOf(number)[0]),
    )
  })
}

test('results beyond the limit in memory wait on disk', async (t) => {
  const { cluster, files } = await start(t, { memory: 4 * MIB, disk: 100 * MIB })
  const client = cluster.client()
  const make = (number: number): Uint8Array => new Uint8Array(2 ** 20).fill(number)
  const futures = Array.from({ length: 20 }, (_, number) => client.submit(make, number))
  const sizes = await Promise.all(futures.map((future) => client.submit(firstOf, future)))
  assert.deepEqual(
    sizes,
    futures.map((_, number) => number),
  )
  await until('some on disk', () => files().length > 0)
  for (const [number, future] of futures.entries()) {
    assert.deepEqual(await future, new Uint8Array(MIB).fill(number))
  }
  await until('no files', () => files().length === 0)
})

/** The error of a promise, which must be a refusal. */
async function refusalOf(promise: PromiseLike<unknown>): Promise<StorageFullError> {
  const error = await Promise.resolve(promise).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert(error instanceof StorageFullError, String(error))
  return error
}

test('an argument that fits nowhere fails its tasks, and only them', async (t) => {
  const { cluster } = await start(t, { memory: 3 * MIB, disk: 0 })
  const client = cluster.client({ name: 'greedy' })
  const [one, other] = [client.sendObject(bytesOf(1)), client.sendObject(bytesOf(2))]
  assert.equal(await client.submit(firstOf, one), 1)
  const error = await refusalOf(client.submit(firstOf, bytesOf(3)))
  assert.equal(error.code, 'ERR_SCALER_STORAGE_FULL')
  assert.match(error.message, /the object of 1\.0 MB was not stored: the object storage is full/)
  assert.match(error.message, /by the client greedy/)
  assert.deepEqual([error.sizeBytes > MIB, error.limitBytes], [true, 3 * MIB])
  const [owner] = error.owners
  assert.deepEqual([owner?.name, (owner?.bytes ?? 0) > 2 * MIB], ['greedy', true])
  const shared = await Promise.allSettled(
    [3, 3, 3].map((number) => client.submit(firstOf, bytesOf(number))),
  )
  assert(shared.every(({ status }) => status === 'rejected'))
  assert.equal(await client.submit(firstOf, other), 2)
  const graph = client.get({ big: [firstOf, bytesOf(4)], next: [(x: number) => x, 'big'] }, [
    'next',
  ])
  await refusalOf(graph)
})

test('a reference that was refused works once there is room', async (t) => {
  const { cluster } = await start(t, { memory: 3 * MIB, disk: 0, inMessages: true })
  const client = cluster.client()
  const [one, two] = [client.sendObject(bytesOf(1)), client.sendObject(bytesOf(2))]
  assert.deepEqual(await client.map(firstOf, [one, two]), [1, 2])
  const refused = client.sendObject(bytesOf(3))
  await refusalOf(client.submit(firstOf, refused))
  one.release()
  await until('room', async () => {
    const outcome = await client.submit(firstOf, refused).catch(() => undefined)
    return outcome === 3
  })
  assert.equal(await client.submit(firstOf, two), 2)
})

test('a result that fits nowhere fails its future, and the tasks that need it', async (t) => {
  const { cluster } = await start(t, { memory: 2 * MIB, disk: 0 })
  const client = cluster.client()
  const make = (size: number): Uint8Array => new Uint8Array(size)
  const large = client.submit(make, 4 * MIB)
  await refusalOf(client.submit((bytes: Uint8Array) => bytes.length, large))
  const error = await refusalOf(large)
  assert.match(
    error.message,
    /of 4\.2 MB was not stored: it is larger than the whole object storage/,
  )
  assert.doesNotMatch(error.stack ?? '', /storage-refusal/)
  const { failures } = await client.info()
  assert.equal(failures[0]?.errorName, 'StorageFullError')
  const needed = client.get(
    { large: [make, 4 * MIB], a: [firstOf, 'large'], b: [firstOf, 'large'] },
    ['large', 'a', 'b'],
  )
  await refusalOf(needed)
  assert.equal((await client.submit(make, MIB)).length, MIB)
  const { last } = await client.get({ large: [make, MIB], last: [firstOf, 'large'] }, ['last'])
  assert.equal(last, 0)
})

test('objects that move while a worker starts, or is busy, are found again', async (t) => {
  const { cluster } = await start(t, { memory: 2 * MIB, disk: 100 * MIB })
  const client = cluster.client()
  const pid = (): number => process.pid
  const exit = (): void => process.exit(3)
  for (let round = 0; round < 3; round += 1) {
    await Promise.allSettled([client.submit(exit), client.submit(exit)])
    const stored = Array.from({ length: 6 }, (_, n) => client.sendObject(bytesOf(round * 6 + n)))
    const firsts = await client.map(firstOf, stored)
    assert.deepEqual(
      firsts,
      stored.map((_, n) => round * 6 + n),
    )
    await client.submit(pid)
    for (const object of stored) object.release()
  }
})

test('a directory on disk that something else removes is made again', async (t) => {
  const { cluster, files, base } = await start(t, { memory: 2 * MIB, disk: 100 * MIB })
  const client = cluster.client()
  const fill = (first: number): readonly ObjectReference<Uint8Array>[] =>
    [0, 1, 2, 3].map((number) => client.sendObject(bytesOf(first + number)))
  const lost = fill(0)
  await until('two on disk', () => files().length >= 2)
  await until('the directory is removed', () => {
    try {
      for (const name of readdirSync(base)) rmSync(join(base, name), { recursive: true })
      return true
    } catch {
      // The scheduler was writing into it.
      return false
    }
  })
  const kept = fill(10)
  await until('some on disk again', async () => {
    // Each makes the scheduler look whether the disk can be used.
    await client.submit(firstOf, bytesOf(20)).catch(() => undefined)
    return files().length > 0
  })
  for (const object of [...lost, ...kept]) object.release()
  await until('no files', () => files().length === 0)
})

test('a quota limits one client, and no other', async (t) => {
  const { cluster } = await start(t, { memory: 100 * MIB, disk: 0, quota: 2.5 * MIB })
  const [client, another] = [cluster.client(), cluster.client()]
  const kept = [1, 2].map((number) => client.sendObject(bytesOf(number)))
  assert.deepEqual(await client.map(firstOf, kept), [1, 2])
  const error = await refusalOf(client.submit(firstOf, bytesOf(3)))
  assert.match(error.message, /its client may not store more \(2\.1 MB of 2\.6 MB are in use\)/)
  assert.equal(error.limitBytes, 2.5 * MIB)
  assert.equal(await another.submit(firstOf, bytesOf(3)), 3)
  for (const object of kept) object.release()
})

test('content that was damaged on disk fails the task, and no wrong value arrives', async (t) => {
  const { cluster, files } = await start(t, { memory: 2 * MIB, disk: 100 * MIB })
  const client = cluster.client()
  const stored = [0, 1, 2, 3].map((number) => client.sendObject(bytesOf(number)))
  await until('two on disk', () => files().length >= 2)
  for (const path of files()) {
    const content = readFileSync(path)
    content[5_000] = (content[5_000] ?? 0) ^ 1
    writeFileSync(path, content)
  }
  const outcomes = await Promise.allSettled(stored.map((object) => client.submit(firstOf, object)))
  const failed = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert(failed.length >= 1)
  for (const { reason } of failed) assert(reason instanceof MissingObjectError, String(reason))
})

test('a scheduler that is killed leaves files, which the next one removes', async (t) => {
  const { cluster, files, base } = await start(t, { memory: 2 * MIB, disk: 100 * MIB })
  const client = cluster.client()
  const stored = [0, 1, 2, 3].map((number) => client.sendObject(bytesOf(number)))
  await until('two on disk', () => files().length >= 2)
  const [before = ''] = readdirSync(base)
  await cluster.scheduler.kill()
  await cluster.restartScheduler()
  for (const [number, object] of stored.entries()) {
    assert.equal(await client.submit(firstOf, object), number)
  }
  assert(!existsSync(join(base, before)))
  cluster.scheduler.signal('SIGTERM')
  await cluster.scheduler.ended
  assert.deepEqual(readdirSync(base), [])
})

test('wrong limits are refused by name, and leave nothing', async () => {
  const address = 'tcp://127.0.0.1:0'
  for (const [option, value] of [
    ['objectMemoryLimitBytes', 1],
    ['objectMemoryLimitBytes', 'much'],
    ['objectDiskLimitBytes', -1],
    ['objectQuotaBytes', 1.5],
    ['objectSpillDirectory', 'relative'],
    ['objectSpillDirectory', '/does/not/exist'],
  ] as const) {
    await assert.rejects(Scheduler.start({ address, [option]: value }), (error: unknown) => {
      return error instanceof ConfigError && error.message.includes(`option ${option}`)
    })
  }
})

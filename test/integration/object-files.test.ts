// Large objects in files, through real processes: that nobody sends them, that nothing is left, and
// what happens if files or their scheduler vanish.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { type Client, ConfigError, Scheduler } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import type { ProxyLink } from '../chaos/proxy-link.js'
import { TcpProxy } from '../chaos/tcp-proxy.js'
import { until } from './condition.js'

const MIB = 2 ** 20

interface Setup {
  readonly cluster: TestCluster
  /** All files but keys, as paths. */
  readonly files: () => readonly string[]
  /** The directories of schedulers. */
  readonly directories: () => readonly string[]
}

/** A cluster that shares files in a directory of its own. */
async function start(t: TestContext, agents: readonly number[] = [2]): Promise<Setup> {
  const base = mkdtempSync(join(tmpdir(), 'objects-'))
  const cluster = await TestCluster.start(t, {
    schedulerArgs: ['--object-directory', base],
    agents,
    dataFolder: base,
  })
  const directories = (): readonly string[] => readdirSync(base).map((name) => join(base, name))
  return {
    cluster,
    directories,
    files: () => {
      return directories().flatMap((directory) => {
        const names = readdirSync(directory).filter((name) => name !== 'key')
        return names.map((name) => join(directory, name))
      })
    },
  }
}

/** How many objects are in files. */
async function storedIn(client: Client): Promise<number> {
  return (await client.objects()).filter(({ place }) => place === 'disk').length
}

function bytesOf(length: number): Uint8Array {
  return new Uint8Array(length).map((_, at) => at * 31)
}

test('a large argument and a large result are files, which are removed afterwards', async (t) => {
  const { cluster, files } = await start(t)
  const client = cluster.client()
  const bytes = bytesOf(8 * MIB)
  const stored = client.sendObject(bytes, { name: 'table' })
  const doubled = await client.submit((input: Uint8Array) => Buffer.concat([input, input]), stored)
  assert.deepEqual(doubled, Buffer.concat([bytes, bytes]))
  const table = (await client.objects()).find(({ name }) => name === 'table')
  assert.equal(table?.place, 'disk')
  assert(files().length > 0)
  stored.release()
  await until('no files', () => files().length === 0)
})

test('a task may write into its bytes, and no other task sees it', async (t) => {
  const { cluster } = await start(t, [1])
  const client = cluster.client()
  const bytes = bytesOf(MIB)
  const stored = client.sendObject(bytes)
  const spoil = (input: Uint8Array): number => {
    const [first = -1] = input
    input.fill(first + 1)
    return first
  }
  for (let round = 0; round < 3; round += 1) assert.equal(await client.submit(spoil, stored), 0)
})

test('processors have huge pages, and tasks an environment without the variable', async (t) => {
  const { cluster } = await start(t, [1])
  const variables = async (): Promise<readonly [boolean, string | undefined]> => {
    const { readFileSync: read } = await import('node:fs')
    const atStart = read('/proc/self/environ', 'latin1')
    const isSet = atStart.includes('GLIBC_TUNABLES=glibc.malloc.hugetlb=1')
    return [isSet, process.env['GLIBC_TUNABLES']]
  }
  assert.deepEqual(await cluster.client().submit(variables), [true, undefined])
})

test('files that somebody removes are sent instead', async (t) => {
  const { cluster, files } = await start(t)
  const client = cluster.client()
  const bytes = bytesOf(2 * MIB)
  const [one, other] = [client.sendObject(bytes), client.sendObject(bytes.toReversed())]
  // From then on, the scheduler has them open.
  await until('both files', async () => (await storedIn(client)) === 2)
  for (const path of files()) rmSync(path)
  const same = (input: Uint8Array): Uint8Array => input
  assert.deepEqual(await client.submit(same, one), bytes)
  for (const path of files()) rmSync(path)
  assert.deepEqual(await client.submit(same, other), bytes.toReversed())
})

test('a result in a file is fetched although the file is removed before that', async (t) => {
  const { cluster, files } = await start(t)
  const client = cluster.client()
  const made = client.submit((length: number) => new Uint8Array(length).fill(7), MIB)
  const size = client.submit((input: Uint8Array) => input.byteLength, made)
  assert.equal(await size, MIB)
  for (const path of files()) rmSync(path)
  assert.deepEqual(await made, new Uint8Array(MIB).fill(7))
})

test('objects outlive their scheduler, whose files the next one removes', async (t) => {
  const { cluster, files, directories } = await start(t)
  const client = cluster.client()
  const bytes = bytesOf(2 * MIB)
  const stored = client.sendObject(bytes)
  await until('a file', async () => (await storedIn(client)) === 1)
  assert.equal(files().length, 1)
  const [before] = directories()
  await cluster.scheduler.kill()
  const same = client.submit((input: Uint8Array) => input, stored)
  await cluster.restartScheduler()
  assert.deepEqual(await same, bytes)
  await until('one directory', () => directories().length === 1)
  assert.notEqual(directories()[0], before)
})

test('a result that was ready while there was no scheduler is not computed again', async (t) => {
  const { cluster } = await start(t, [1])
  const client = cluster.client()
  const count = join(cluster.folder, 'runs')
  const work = async (log: string, length: number): Promise<Uint8Array> => {
    const { appendFileSync } = await import('node:fs')
    appendFileSync(log, 'x')
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    appendFileSync(log, 'y')
    return new Uint8Array(length).fill(9)
  }
  const made = client.submit(work, count, MIB)
  await until('the task', () => readdirSync(cluster.folder).includes('runs'))
  await cluster.scheduler.kill()
  await until('its result', () => readFileSync(count, 'utf8') === 'xy')
  await cluster.restartScheduler()
  assert.deepEqual(await made, new Uint8Array(MIB).fill(9))
  assert.equal(readFileSync(count, 'utf8'), 'xy')
  await cluster.removeFile('runs')
})

test('results of a worker whose connection breaks arrive, whatever it was doing', async (t) => {
  const { cluster } = await start(t, [])
  const proxy = await TcpProxy.start(cluster.address)
  t.after(() => proxy.close())
  const links: ProxyLink[] = []
  proxy.onLink((link) => links.push(link))
  const agent = cluster.startAgentInBackground(1, [], proxy.address)
  await agent.line((line) => String(line['message']).endsWith(' ready'))
  const client = cluster.client()
  const work = (length: number, ms: number): Uint8Array => {
    for (const end = performance.now() + ms; performance.now() < end;);
    return new Uint8Array(length).fill(length % 251)
  }
  for (const ms of [0, 20, 400, 1_500]) {
    const made = [0, 1, 2].map((more) => client.submit(work, MIB + more, ms))
    await until('a task', async () => (await client.info()).tasks.running > 0 || ms < 400)
    for (const link of links.splice(0)) link.cut('reset')
    for (const [more, result] of (await Promise.all(made)).entries()) {
      assert.deepEqual(result, work(MIB + more, 0))
    }
  }
})

test('a directory that cannot be used is refused by name', async () => {
  const address = 'tcp://127.0.0.1:0'
  for (const objectDirectory of ['relative', '/does/not/exist']) {
    await assert.rejects(Scheduler.start({ address, objectDirectory }), (error: unknown) => {
      return error instanceof ConfigError && error.message.startsWith('option objectDirectory: ')
    })
  }
})

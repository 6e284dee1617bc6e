// Large values: how fast they reach a worker and come back, each through client, scheduler, agent
// and processor, compared with a plain copy through as many processes; and what others notice.

import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Client } from 'scaler-ts'
import { timeMs, type Benchmark, type Sample } from './benchmark.js'
import { withClient } from './cluster.js'
import { median, quantile } from './figures.js'
import { plainCopyMs } from './plain-copy.js'
import { childrenOf, hasProcessCost, proportionalBytes } from './process-cost.js'

const MIB = 1024 ** 2
const OBJECT_BYTES = 64 * MIB
const MEGABYTE = 1_000_000
/** Copies of each kind; the first ones do not count: they are the first to use some memory. */
const [COPIES, WARM_UP] = [10, 4]
/** What passes while another client measures its round trips. */
const FLOOD_BYTES = 10 * 1024 * MIB
const ROUND_TRIPS = fileURLToPath(new URL('round-trip-program.js', import.meta.url))

const sizeOf = (value: Uint8Array): number => value.byteLength
const same = (value: Uint8Array): Uint8Array => value
const makeBytes = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)
const sizeAnd = (value: Uint8Array, index: number): number => value.byteLength + index

/** 64 MiB as an argument, as a result, and as both; many of 8 MiB and of 1 MiB. */
export const objects: Benchmark = {
  name: 'objects',
  run: async ({ workers }) => {
    touchMemory()
    const plain = [await plainMs(false), await plainMs(true)] as const
    touchMemory()
    // As between machines: by an object storage server, or without one.
    const far = ['--object-directory', '']
    const byServer = await withClient(
      workers,
      async (client) => {
        await usesServer(client)
        return samples(client, plain, ', by a server')
      },
      far,
    )
    const inMessages = await withClient(
      workers,
      (client) => samples(client, plain, ', in messages'),
      [...far, '--object-storage-address', ''],
    )
    const byDefault = await withClient(workers, async (client, cluster) => {
      await client.submit(sizeOf, makeBytes(MEGABYTE))
      const passed = hasProcessCost ? passedBytes(cluster.schedulerPid) : undefined
      await copyMs((bytes) => client.submit(sizeOf, bytes))
      const moved = hasProcessCost ? passedBytes(cluster.schedulerPid) : Number.NaN
      return [
        ...(await samples(client, plain, '')),
        {
          name: "scheduler's bytes for an argument of 64 MiB",
          unit: 'MiB',
          value: passed === undefined ? undefined : (moved - passed) / COPIES / MIB,
          ...(passed === undefined ? { note: 'needs /proc (Linux)' } : {}),
        },
        ...(await many(client)),
        ...(await roundTrips(client, cluster.address)),
      ]
    })
    return [
      { name: 'plain copy of 64 MiB', unit: 'MB/s', value: rate(plain[0]) },
      { name: 'plain copy there and back', unit: 'MB/s', value: rate(plain[1]) },
      ...byDefault,
      ...byServer,
      ...inMessages,
    ]
  },
}

/** How often memory is looked at, in milliseconds. */
const LOOK_MS = 20
const SHARED_BYTES = 256 * MIB

/** The most memory that one large object takes while all workers get it. */
export const objectMemory: Benchmark = {
  name: 'object-memory',
  run: async ({ workers }) => {
    if (!hasProcessCost) return []
    const here = await withClient(workers, async (client) => {
      return peakOfObject(client, workers, '')
    })
    const far = ['--object-directory', '']
    const byServer = async (client: Client): Promise<Sample> => {
      await usesServer(client)
      return peakOfObject(client, workers, ', by a server')
    }
    return [here, await withClient(workers, byServer, far)]
  },
}

/** In copies of the object: the client, a server and each worker need one each. */
async function peakOfObject(client: Client, workers: number, how: string): Promise<Sample> {
  const tasks = Array.from({ length: workers }, (_, index) => index)
  await client.map((index: number) => index, tasks)
  const idle = memoryBytes()
  let peak = 0
  const timer = setInterval(() => (peak = Math.max(peak, memoryBytes())), LOOK_MS)
  const bytes = new Uint8Array(SHARED_BYTES).fill(7)
  using reference = client.sendObject(bytes, { replicate: 'all' })
  await client.starmap(
    sizeAnd,
    tasks.map((index): [typeof reference, number] => [reference, index]),
  )
  clearInterval(timer)
  const copies = Math.max(peak, memoryBytes()) - idle
  return {
    name: `peak memory of all processes for an object of 256 MiB${how}, over ${workers + 2} copies`,
    unit: '',
    value: copies / SHARED_BYTES / (workers + 2),
  }
}

/** What this process and all that it has started hold, with files in memory. */
function memoryBytes(): number {
  const open = [process.pid]
  let bytes = 0
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    open.push(...childrenOf(pid))
    try {
      bytes += proportionalBytes(pid)
    } catch {
      // It has exited meanwhile.
    }
  }
  const { blocks, bfree, bsize } = statfsSync('/dev/shm')
  return bytes + (blocks - bfree) * bsize
}

/** Resolves when the scheduler has started its object storage server, and the client knows it. */
async function usesServer(client: Client): Promise<void> {
  for (let value = 0; ; value += 1) {
    using reference = client.sendObject(makeBytes(MEGABYTE + value))
    await client.submit(sizeOf, reference)
    const stored = await client.objects()
    if (stored.some(({ id, place }) => id === reference.id && place === 'server')) return
  }
}

/**
 * A virtual machine may give free memory back to its host, and then takes milliseconds for each MiB
 * of it that is used again: a program that ends has used some.
 */
function touchMemory(): void {
  const program = 'globalThis.all = Array.from({ length: 24 }, () => Buffer.alloc(2 ** 26, 1))'
  const env = { ...process.env, GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' }
  spawnSync(process.execPath, ['-e', program], { env })
}

/** One at a time; `plain`: the times of plain copies, one way and both. */
async function samples(
  client: Client,
  [plain, plainBoth]: readonly [number, number],
  how: string,
): Promise<readonly Sample[]> {
  await client.submit(sizeOf, makeBytes(MEGABYTE))
  const there = await copyMs((bytes) => client.submit(sizeOf, bytes))
  const back = await copyMs(() => client.submit(makeBytes, OBJECT_BYTES))
  const both = await copyMs((bytes) => client.submit(same, bytes))
  return [
    { name: `argument of 64 MiB${how}`, unit: 'MB/s', value: rate(there) },
    { name: `result of 64 MiB${how}`, unit: 'MB/s', value: rate(back) },
    { name: `there and back, 64 MiB${how}`, unit: 'MB/s', value: rate(both) },
    { name: `argument, ratio to the plain copy${how}`, unit: '', value: plain / there },
    { name: `there and back, ratio to the plain copy${how}`, unit: '', value: plainBoth / both },
  ]
}

/** The median time of copies of changing bytes. */
async function copyMs(copy: (bytes: Uint8Array) => Promise<unknown>): Promise<number> {
  const bytes = makeBytes(OBJECT_BYTES)
  const times: number[] = []
  for (let round = 0; round < COPIES; round += 1) {
    bytes[round] = round
    times.push(await timeMs(() => copy(bytes)))
  }
  return median(times.slice(WARM_UP))
}

async function plainMs(isBack: boolean): Promise<number> {
  const times = await plainCopyMs({ bytes: makeBytes(OBJECT_BYTES), isBack }, COPIES)
  return median(times.slice(WARM_UP))
}

async function many(client: Client): Promise<readonly Sample[]> {
  const argument = makeBytes(8 * MIB)
  const pairs = Array.from({ length: 500 }, (_, index): [Uint8Array, number] => [argument, index])
  const sizes = Array.from({ length: 500 }, () => MIB)
  return [
    {
      name: '500 tasks with the same argument of 8 MiB',
      unit: 'ms',
      value: await timeMs(() => client.starmap(sizeAnd, pairs)),
    },
    {
      name: '500 results of 1 MiB',
      unit: 'ms',
      value: await timeMs(() => client.map(makeBytes, sizes)),
    },
  ]
}

/** Those of another client meanwhile. */
async function roundTrips(client: Client, address: string): Promise<readonly Sample[]> {
  const other = fork(ROUND_TRIPS, [address])
  await once(other, 'message')
  const bytes = makeBytes(OBJECT_BYTES)
  for (let passed = 0; passed < FLOOD_BYTES; passed += OBJECT_BYTES) {
    bytes[0] = passed / OBJECT_BYTES
    await client.submit(sizeOf, bytes)
  }
  other.send('stop')
  const [times] = (await once(other, 'message')) as [number[]]
  const name = "another client's round trip while arguments of 64 MiB pass"
  return [
    { name: `${name}, median`, unit: 'ms', value: median(times) },
    { name: `${name}, p99`, unit: 'ms', value: quantile(times, 0.99) },
  ]
}

function rate(tookMs: number): number {
  return OBJECT_BYTES / MEGABYTE / (tookMs / 1_000)
}

/** What a process has read and written, sockets included. */
function passedBytes(pid: number): number {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  const field = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1])
  return field('rchar') + field('wchar')
}

// The connection to an object storage server, with a server in this process.

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { joinBytes } from '../../base/bytes.js'
import { objectId } from '../../base/ids.js'
import { silentLogger } from '../../base/logger.js'
import { ObjectStorageServer } from '../../scheduler/object-storage-server.js'
import { fileOf } from '../../wire/object-content.js'
import { readObjectFile } from '../object-files.js'
import { ListedFiles } from './arrival.test.kit.js'
import { StorageLink } from './link.js'

const NAME = Buffer.from('name')
const SIZE = 300_000
const FAR = { objectDirectory: '' }

async function newServer(
  t: TestContext,
  limits: Partial<Parameters<typeof ObjectStorageServer.start>[0]> = FAR,
): Promise<ObjectStorageServer> {
  const address = 'tcp://127.0.0.1:0'
  const server = await ObjectStorageServer.start({ address, logger: silentLogger, ...limits })
  t.after(() => server.close())
  return server
}

function linkTo(
  t: TestContext,
  address: string,
  handler: ConstructorParameters<typeof StorageLink>[2] = {},
): StorageLink {
  const link = new StorageLink({ name: address, address }, { logger: silentLogger }, handler)
  t.after(() => link.close())
  return link
}

function content(value: number, size = SIZE): { type: 'object'; chunks: readonly Uint8Array[] } {
  return {
    type: 'object',
    chunks: [new Uint8Array(size / 2).fill(value), new Uint8Array(size / 2)],
  }
}

test('content that was put is there for others, until it is deleted', async (t) => {
  const { address } = await newServer(t)
  const [one, other] = [linkTo(t, address), linkTo(t, address)]
  const stored = await one.put(NAME, content(7))
  assert(stored !== undefined)
  assert.deepEqual([stored.byteLength, stored.address], [SIZE, address])
  const [found, again] = await Promise.all([other.get(stored.id), other.get(stored.id)])
  assert.deepEqual(joinBytes(found?.chunks ?? []), Buffer.concat(content(7).chunks))
  assert.equal(again?.type, 'object')
  one.delete([stored.id])
  // In order: it is gone before the next content is confirmed.
  const next = await one.put(NAME, content(8))
  assert.equal(await other.get(stored.id), undefined)
  assert.notEqual(await other.get(next?.id ?? stored.id), undefined)
})

test('claimed content belongs to who has claimed it', async (t) => {
  const { address } = await newServer(t)
  const missing: string[] = []
  const owner = linkTo(t, address, { onMissing: (id) => missing.push(id) })
  const sender = linkTo(t, address)
  const first = await sender.put(NAME, content(1))
  const second = await sender.put(NAME, content(2))
  assert(first !== undefined && second !== undefined)
  await owner.get(first.id)
  owner.claim(first.id)
  sender.delete([second.id])
  await sender.put(NAME, content(3))
  owner.claim(second.id)
  await owner.get(first.id)
  assert.deepEqual(missing, [second.id])
  sender.delete([first.id])
  await sender.put(NAME, content(3))
  assert.notEqual(await sender.get(first.id), undefined)
  owner.delete([first.id])
  await owner.put(NAME, content(3))
  assert.equal(await sender.get(first.id), undefined)
})

test('content for which there is no room is not stored', async (t) => {
  const MIB = 2 ** 20
  const limits = { ...FAR, objectMemoryLimitBytes: 2 * MIB, objectDiskLimitBytes: 0 }
  const link = linkTo(t, (await newServer(t, limits)).address)
  assert.equal(await link.put(NAME, content(1, 4 * MIB)), undefined)
  assert.notEqual(await link.put(NAME, content(1, MIB)), undefined)
})

test('on one machine, content is in files; one that is removed comes in a message', async (t) => {
  if (process.platform !== 'linux') return t.skip('files are only shared on Linux')
  const { address } = await newServer(t, {})
  const near: boolean[] = []
  const link = linkTo(t, address, { onNear: (offer) => near.push(offer !== undefined) })
  const stored = await link.put(NAME, content(5))
  assert(stored !== undefined && link.isNear)
  const part = await link.get(stored.id)
  assert.equal(part?.type, 'file')
  const bytes = Buffer.concat(content(5).chunks)
  assert.deepEqual(readObjectFile(part.chunks), bytes)
  rmSync(fileOf(part.chunks)?.path ?? '')
  const again = await link.get(stored.id)
  assert.equal(again?.type, 'object')
  assert.deepEqual(joinBytes(again.chunks), bytes)
  await link.close()
  assert.deepEqual(near, [true, false])
})

test('without a server, nothing waits', async (t) => {
  const server = await newServer(t)
  const { address } = server
  const downs: string[] = []
  const link = linkTo(t, address, { onDown: (reason) => downs.push(reason) })
  const stored = await link.put(NAME, content(1))
  assert(stored !== undefined)
  await server.close()
  assert.equal(await link.get(stored.id), undefined)
  assert.equal(await link.put(NAME, content(1)), undefined)
  assert.equal(link.hasFailed && downs.length > 0, true)
  const unborn = linkTo(t, address)
  assert.equal(await unborn.put(NAME, content(1)), undefined)
})

/** The padded content of one chunk. */
function odd(value: number, size: number): { type: 'object'; chunks: readonly Uint8Array[] } {
  return { type: 'object', chunks: [Buffer.alloc(size, value)] }
}

test('content that is wanted in a file is written there while it arrives', async (t) => {
  if (process.platform === 'win32') return t.skip('files have other names there')
  const { address } = await newServer(t)
  const [one, other] = [linkTo(t, address), linkTo(t, address)]
  const files = new ListedFiles(t)
  for (const size of [300_000, 300_001, 300_007]) {
    const stored = await one.put(NAME, odd(7, size))
    assert(stored !== undefined)
    files.written = []
    const part = await other.get(stored.id, { byteLength: size, store: files })
    assert.equal(part?.type, 'file')
    assert.equal(fileOf(part.chunks)?.byteLength, size)
    assert.deepEqual(Buffer.concat(files.written), Buffer.alloc(size, 7))
    // Of another size, or in two chunks, it is in memory.
    for (const byteLength of [size - 8, size + 8]) {
      assert.deepEqual(await other.get(stored.id, { byteLength, store: files }), odd(7, size))
    }
  }
  const stored = await one.put(NAME, content(7))
  const part = await other.get(stored?.id ?? objectId(''), { byteLength: SIZE, store: files })
  assert.equal(part?.type, 'object')
  assert.deepEqual(files.opened, [300_000, 300_001, 300_007])
})

test('a file that cannot be written is replaced by memory', async (t) => {
  const { address } = await newServer(t)
  const [one, other] = [linkTo(t, address), linkTo(t, address)]
  const stored = await one.put(NAME, odd(7, SIZE))
  const files = new ListedFiles(t)
  files.isFailing = true
  const part = await other.get(stored?.id ?? objectId(''), { byteLength: SIZE, store: files })
  assert.deepEqual(part, odd(7, SIZE))
  assert.deepEqual([files.opened, files.drops], [[SIZE], 0])
})

test('a file is dropped if the connection ends before its content has arrived', async (t) => {
  const { address } = await newServer(t)
  const [one, other] = [linkTo(t, address), linkTo(t, address)]
  const size = 2 ** 25
  const stored = await one.put(NAME, odd(7, size))
  const files = new ListedFiles(t)
  let closed: Promise<void> | undefined
  files.onWrite = () => {
    closed ??= Promise.resolve().then(() => other.close())
  }
  assert.equal(
    await other.get(stored?.id ?? objectId(''), { byteLength: size, store: files }),
    undefined,
  )
  await closed
  assert.equal(files.drops, 1)
})

test('content is stored while another call waits for the first connection', async (t) => {
  const { address } = await newServer(t)
  const link = linkTo(t, address)
  const stored = await Promise.all([1, 2, 3].map((value) => link.put(NAME, content(value))))
  for (const [at, each] of stored.entries()) {
    assert(each !== undefined)
    const part = await link.get(each.id)
    assert.equal(part?.chunks[0]?.[0], at + 1)
  }
})

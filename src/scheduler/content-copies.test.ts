// Copies of content from other object storage servers, with servers in this process.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { joinBytes } from '../base/bytes.js'
import { objectId } from '../base/ids.js'
import { silentLogger } from '../base/logger.js'
import { StorageLink } from '../runtime/storage/link.js'
import type { StoredContent } from '../wire/object-content.js'
import { ObjectStorageServer } from './object-storage-server.js'

const BYTES = Buffer.alloc(2_000_000, 'content')

async function newServer(t: TestContext): Promise<StorageLink> {
  const address = 'tcp://127.0.0.1:0'
  const limits = { objectDirectory: '', objectMemoryLimitBytes: 2 ** 28, objectDiskLimitBytes: 0 }
  const server = await ObjectStorageServer.start({ address, logger: silentLogger, ...limits })
  t.after(() => server.close())
  return linkTo(t, server.address)
}

function linkTo(t: TestContext, address: string): StorageLink {
  const link = new StorageLink({ name: address, address }, { logger: silentLogger })
  t.after(() => link.close())
  return link
}

async function put(origin: StorageLink): Promise<StoredContent> {
  const content = await origin.put(Buffer.from('name'), { type: 'object', chunks: [BYTES] })
  assert(content !== undefined)
  return content
}

async function read(link: StorageLink, { id }: StoredContent): Promise<Uint8Array> {
  return joinBytes((await link.get(id))?.chunks ?? [])
}

test('a server copies content from another one, once for all that ask', async (t) => {
  const [origin, near] = [await newServer(t), await newServer(t)]
  const content = await put(origin)
  const all = await Promise.all([near.copy(content), linkTo(t, near.name).copy(content)])
  assert.deepEqual(all, [true, true])
  assert.deepEqual(await read(near, content), BYTES)
  // It has its own by now.
  origin.delete([content.id])
  assert.equal(await origin.confirm(content.id), false)
  assert.equal(await near.copy(content), true)
  assert.deepEqual(await read(near, content), BYTES)
})

test('what is there needs no copy, and what is nowhere has none', async (t) => {
  const [origin, near] = [await newServer(t), await newServer(t)]
  const content = await put(origin)
  assert.equal(await origin.copy(content), true)
  assert.equal(await near.copy({ ...content, id: objectId('x'.repeat(24)) }), false)
  assert.equal(await near.copy({ ...content, address: 'no address' }), false)
  assert.equal(await near.copy({ ...content, address: 'tcp://127.0.0.1:1' }), false)
})

test('a server sends content to two others, who send it on', async (t) => {
  const origin = await newServer(t)
  const { id } = await put(origin)
  const names = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `tcp://server:${number}`)
  const [one = '', two = '', three = ''] = names
  const sources: (string | undefined)[] = []
  for (const name of names) sources.push(await origin.sourceOf(id, name))
  assert.deepEqual(sources, ['', '', one, one, two, two, three, three])
  // Who asks again gets the same answer; whom others cannot reach is sent it.
  assert.equal(await origin.sourceOf(id, names[4] ?? ''), two)
  assert.equal(await origin.sourceOf(id, ''), '')
})

test('if the server that should send it on does not have it, it comes from the first one', async (t) => {
  const [origin, near, empty] = [await newServer(t), await newServer(t), await newServer(t)]
  const content = await put(origin)
  // The first two have asked, and are gone, or have not got it.
  await origin.sourceOf(content.id, 'tcp://127.0.0.1:1')
  await origin.sourceOf(content.id, empty.name)
  await origin.sourceOf(content.id, near.name)
  assert.equal(await near.copy(content), true)
  assert.deepEqual(await read(near, content), BYTES)
})

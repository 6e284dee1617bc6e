// The object storage servers of a scheduler: who is told of them, and when one is lost.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { OUR_FEATURES } from '../base/features.js'
import { identity, objectId, schedulerId, type Identity, type ObjectId } from '../base/ids.js'
import { silentLogger } from '../base/logger.js'
import { StorageLink } from '../runtime/storage/link.js'
import {
  type Message,
  PLAIN_CLIENT_HEARTBEAT,
  type StorageServer,
  type StorageServers,
} from '../wire/message.js'
import { storedChunk, type StoredContent } from '../wire/object-content.js'
import { ObjectStorageServer } from './object-storage-server.js'
import { Scheduler } from './scheduler.js'
import { takeDescriptors } from './shortage.kit.js'
import { SchedulerServers } from './storage-servers.js'

const [C, D] = [identity('C'), identity('D')]
const NO_ONE = schedulerId('nobody')

/** What a scheduler hears of its servers. */
class Side {
  readonly offers: [peer: Identity, addresses: readonly string[]][] = []
  readonly answers: [peer: Identity, addresses: readonly string[]][] = []
  readonly lostServers: string[] = []
  readonly lostObjects: ObjectId[] = []
  readonly moves: [objectId: ObjectId, from: string, to: string][] = []
  /** Starts a server, if one is to be had. */
  start: () => boolean = () => false
  readonly usable: boolean[] = []
  readonly warnings: string[] = []
  readonly servers: SchedulerServers
  #onChange: () => void = () => {}

  constructor(t: TestContext) {
    const noted = <T>(list: T[], item: T): void => {
      list.push(item)
      this.#onChange()
    }
    this.servers = new SchedulerServers({
      logger: { ...silentLogger, warn: (text) => noted(this.warnings, text) },
      send: (peer, message) => {
        const list = message.isServer ? this.answers : this.offers
        noted(list, [peer, addressesOf(message)])
      },
      onUsable: (areUsable) => noted(this.usable, areUsable),
      onLost: (address) => noted(this.lostServers, address),
      onContentLost: (id) => noted(this.lostObjects, id),
      onMoved: (id, from, to) => noted(this.moves, [id, from.address, to]),
      startServer: () => this.start(),
    })
    t.after(() => this.servers.close())
  }

  async until(isTrue: () => boolean): Promise<void> {
    // The connections do not keep the process alive.
    const alive = setInterval(() => {}, 60_000)
    while (!isTrue()) await new Promise<void>((resolve) => (this.#onChange = resolve))
    clearInterval(alive)
  }
}

function addressesOf(message: StorageServers | undefined): readonly string[] {
  return (message?.servers ?? []).map(({ address }) => address)
}

type OfferedServer = Omit<StorageServer, 'freeBytes'>

function servers(isServer: boolean, ...list: readonly OfferedServer[]): StorageServers {
  const named = list.map(({ address, instance }) => ({ address, instance, freeBytes: 0 }))
  return { kind: 'storageServers', servers: named, isServer }
}

function heartbeat(features = OUR_FEATURES): Message {
  return {
    kind: 'clientHeartbeat',
    resource: { cpu: 0, rss: 0 },
    latencyUS: 0,
    ...PLAIN_CLIENT_HEARTBEAT,
    features,
    runtime: 'node/20.19.0',
  }
}

async function newServer(
  t: TestContext,
  address = 'tcp://127.0.0.1:0',
  objectDirectory = '',
): Promise<ObjectStorageServer> {
  const limits = { objectDirectory, objectMemoryLimitBytes: 2 ** 28, objectDiskLimitBytes: 0 }
  const server = await ObjectStorageServer.start({ address, logger: silentLogger, ...limits })
  t.after(() => server.close())
  return server
}

/** Content on a server, as a client stores it; it keeps its connection. */
async function stored(t: TestContext, address: string, value = 1): Promise<StoredContent> {
  const link = new StorageLink({ name: address, address }, { logger: silentLogger })
  t.after(() => link.close())
  const chunks = [new Uint8Array(100_000).fill(value)]
  const content = await link.put(Buffer.from('name'), { type: 'object', chunks })
  assert(content !== undefined)
  return content
}

function create(id: string, content: StoredContent): Message {
  return {
    kind: 'objectInstruction',
    instructionType: 'create',
    objectUser: C,
    objectContent: {
      objectIds: [objectId(id)],
      objectTypes: ['stored'],
      objectNames: [Buffer.from(id)],
      objectBytes: [[storedChunk(content)]],
    },
  }
}

/** With one server, which a client has been offered. */
async function sideWith(t: TestContext, address: string): Promise<Side> {
  const side = new Side(t)
  side.servers.open([address])
  side.servers.offerTo(C, heartbeat())
  await side.until(() => side.offers.length === 1)
  return side
}

test('peers learn of servers that can be used, and of changes', async (t) => {
  const [one, two] = [await newServer(t), await newServer(t)]
  const side = new Side(t)
  side.servers.open([one.address])
  assert.equal(side.servers.offerTo(C, heartbeat()), undefined)
  assert.equal(side.servers.offerTo(D, heartbeat(0)), undefined)
  await side.until(() => side.offers.length === 1)
  assert.deepEqual(side.offers, [[C, [one.address]]])
  side.servers.onMessage(D, servers(true, two), '127.0.0.1')
  await side.until(() => side.offers.length === 2)
  assert.deepEqual(side.offers[1], [C, [one.address, two.address]])
  assert.deepEqual(side.answers, [[D, [two.address]]])
  assert.deepEqual(addressesOf(side.servers.offerTo(D, heartbeat())).length, 2)
  assert.deepEqual(side.usable, [true])
})

test('a peer that cannot reach servers says so', async (t) => {
  const side = new Side(t)
  assert.equal(side.servers.canRead(C), false)
  side.servers.offerTo(C, heartbeat())
  assert.equal(side.servers.canRead(C), true)
  side.servers.onMessage(C, servers(false), '')
  assert.equal(side.servers.canRead(C), false)
  side.servers.onMessage(C, servers(false, { address: 'tcp://one:1', instance: NO_ONE }), '')
  assert.equal(side.servers.canRead(C), true)
  side.servers.forget(C)
  assert.equal(side.servers.canRead(C), false)
})

test('the host * of a server is where it has connected from', async (t) => {
  const server = await newServer(t, 'tcp://*:0')
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.onMessage(D, servers(true, server), '127.0.0.1')
  await side.until(() => side.offers.length === 1)
  assert.deepEqual(side.offers, [[C, [server.address]]])
  assert.match(server.address, /\*/)
  // A port at which nothing listens there, either.
  side.servers.onMessage(D, servers(true, server), '192.0.2.1')
  side.servers.close()
  assert.deepEqual(side.servers.names, [server.address, server.address.replace('*', '192.0.2.1')])
})

test('a server on all interfaces is where the scheduler is', async (t) => {
  const { address } = await newServer(t, 'tcp://0.0.0.0:0')
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.open([address])
  await side.until(() => side.offers.length === 1)
  assert.deepEqual(side.offers, [[C, [address.replace('0.0.0.0', '*')]]])
})

test('content of an object is claimed, read, and removed with the object', async (t) => {
  const { address } = await newServer(t)
  const side = await sideWith(t, address)
  const content = await stored(t, address, 9)
  side.servers.claim(create('o', content))
  assert.equal(side.servers.has(content), true)
  const named = { address, state: 'up', problem: '', registrant: undefined }
  const status = { ...named, objects: 1, objectBytes: content.byteLength }
  assert.deepEqual(side.servers.statuses, [status])
  assert.deepEqual(await side.servers.read(content), Buffer.alloc(100_000, 9))
  side.servers.removeContent(content)
  assert.deepEqual(side.servers.statuses, [{ ...status, objects: 0, objectBytes: 0 }])
  assert.equal(side.servers.has(content), false)
  assert.equal(await side.servers.read(content), undefined)
})

test('content in a file of a server is not lost while there are no descriptors', async (t) => {
  const objectDirectory = mkdtempSync(join(tmpdir(), 'server-'))
  t.after(() => rmSync(objectDirectory, { recursive: true }))
  const { address } = await newServer(t, undefined, objectDirectory)
  const side = await sideWith(t, address)
  const content = await stored(t, address, 9)
  side.servers.claim(create('o', content))
  const giveBack = takeDescriptors(t)
  const reading = side.servers.read(content)
  await side.until(() => side.warnings.length > 0)
  giveBack()
  assert.deepEqual(await reading, Buffer.alloc(100_000, 9))
  assert.equal(side.servers.has(content), true)
})

test('content that is not there is lost', async (t) => {
  const { address } = await newServer(t)
  const side = await sideWith(t, address)
  const content = await stored(t, address)
  side.servers.claim(create('o', { ...content, id: objectId('x'.repeat(24)) }))
  side.servers.claim(create('p', { ...content, address: 'tcp://unknown:1' }))
  await side.until(() => side.lostObjects.length === 2)
  assert.deepEqual(side.lostObjects.toSorted(), ['o', 'p'])
})

test('a server that ends is lost; a new one at its address is used', async (t) => {
  const first = await newServer(t)
  const { address } = first
  const side = await sideWith(t, address)
  side.servers.claim(create('o', await stored(t, address)))
  await first.close()
  await side.until(() => side.lostServers.length === 1)
  const [{ state, problem, objects, objectBytes } = assert.fail()] = side.servers.statuses
  assert.deepEqual([state, objects, objectBytes], ['away', 0, 0])
  assert.notEqual(problem, '')
  assert.deepEqual(side.offers, [
    [C, [address]],
    [C, []],
  ])
  await newServer(t, address)
  await side.until(() => side.offers.length === 3)
  assert.deepEqual(side.lostServers, [address])
  side.servers.claim(create('p', await stored(t, address)))
  assert.deepEqual(side.usable, [true, false, true])
})

test('a server that has registered is forgotten when it is lost', async (t) => {
  const server = await newServer(t)
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.onMessage(D, servers(true, server), '')
  await side.until(() => side.offers.length === 1)
  await server.close()
  await side.until(() => side.usable.length === 2)
  assert.deepEqual(side.usable, [true, false])
  side.servers.onMessage(D, servers(true, server), '')
  await side.until(() => side.warnings.length === 2)
  assert.equal(side.warnings.at(-1), 'cannot reach an object storage server; trying again')
  assert.deepEqual(side.answers.at(-1), [D, []])
  side.servers.onMessage(D, servers(true, { address: 'no address', instance: NO_ONE }), '')
  assert.equal(side.warnings.at(-1), 'cannot use an object storage server that has registered')
})

test('a scheduler, or another server than the one that has registered, is not used', async (t) => {
  const server = await newServer(t)
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  t.after(() => scheduler.close())
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.open([scheduler.address])
  side.servers.onMessage(D, servers(true, { address: server.address, instance: NO_ONE }), '')
  await side.until(() => side.warnings.length === 2)
  assert.deepEqual(side.offers, [])
  assert.deepEqual(side.answers, [[D, []]])
})

test('a server that only its own machine can reach is not used by others', async (t) => {
  const side = new Side(t)
  side.servers.onMessage(D, servers(true, await newServer(t)), '10.0.0.1')
  assert.deepEqual(side.answers, [[D, []]])
  assert.equal(side.warnings.length, 1)
})

test('content at a server that was never reached is lost, and nothing waits for it', async (t) => {
  const server = await newServer(t)
  const { address } = server
  await server.close()
  const side = new Side(t)
  side.servers.open([address])
  const content = { byteLength: 1, address, id: objectId('x'.repeat(24)) }
  side.servers.claim(create('o', content))
  assert.equal(await side.servers.read(content), undefined)
  await side.until(() => side.lostObjects.length === 1)
})

test('a second server with the address of another one is not used', async (t) => {
  const server = await newServer(t)
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.onMessage(C, servers(true, server), '')
  await side.until(() => side.offers.length === 1)
  side.servers.onMessage(D, servers(true, { address: server.address, instance: NO_ONE }), '')
  assert.deepEqual(side.answers, [
    [C, [server.address]],
    [D, []],
  ])
})

test('what a server has that ends is on others before it does', async (t) => {
  const [leaving, other] = [await newServer(t), await newServer(t)]
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.onMessage(C, servers(true, leaving), '')
  side.servers.onMessage(D, servers(true, other), '')
  await side.until(() => side.answers.length === 2)
  const content = await stored(t, leaving.address, 5)
  side.servers.claim(create('o', content))
  const missing = { ...content, id: objectId('x'.repeat(24)) }
  side.servers.claim(create('p', missing))
  await side.until(() => side.lostObjects.length === 1)
  side.servers.onMessage(C, servers(true), '')
  // Nothing more is to be stored there, but what is there can be read.
  assert.deepEqual(side.offers.at(-1), [C, [other.address]])
  assert.deepEqual(await side.servers.read(content), Buffer.alloc(100_000, 5))
  await side.until(() => side.answers.length === 3)
  assert.deepEqual(side.answers[2], [C, []])
  assert.deepEqual(side.moves, [['o', leaving.address, other.address]])
  await leaving.close()
  const moved = { ...content, address: other.address }
  assert.deepEqual(await side.servers.read(moved), Buffer.alloc(100_000, 5))
  await side.until(() => side.lostServers.length === 1)
  assert.deepEqual(side.lostObjects, ['p'])
})

test('for the last server that ends, another one is started, if possible', async (t) => {
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  const leaving = await newServer(t)
  side.servers.onMessage(C, servers(true, leaving), '')
  await side.until(() => side.answers.length === 1)
  side.servers.claim(create('o', await stored(t, leaving.address)))
  side.servers.onMessage(C, servers(true), '')
  await side.until(() => side.answers.length === 2)
  assert.equal(side.moves.length, 0)
  const next = await newServer(t)
  const second = await newServer(t)
  side.servers.onMessage(D, servers(true, second), '')
  await side.until(() => side.answers.length === 3)
  side.servers.claim(create('p', await stored(t, second.address)))
  side.start = () => {
    side.servers.open([next.address])
    return true
  }
  side.servers.onMessage(D, servers(true), '')
  await side.until(() => side.answers.length === 4)
  assert.deepEqual(side.moves, [['p', second.address, next.address]])
})

test('content that one server does not take goes to another, also of two that end at once', async (t) => {
  const address = 'tcp://127.0.0.1:0'
  const small = { objectDirectory: '', objectMemoryLimitBytes: 2 ** 20, objectDiskLimitBytes: 0 }
  const full = await ObjectStorageServer.start({ address, logger: silentLogger, ...small })
  t.after(() => full.close())
  for (let count = 0; count < 10; count += 1) await stored(t, full.address)
  const all = [await newServer(t), await newServer(t), full, await newServer(t)]
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  const peers = all.map((_, at) => identity(String(at)))
  for (const [at, peer] of peers.entries()) {
    side.servers.onMessage(peer, servers(true, all[at] as ObjectStorageServer), '')
  }
  await side.until(() => side.answers.length === 4)
  const names = Array.from({ length: 10 }, (_, count) => `o${count}`)
  for (const [count, name] of names.entries()) {
    const content = await stored(t, all[count % 2]?.address ?? '', count)
    side.servers.claim(create(name, content))
  }
  for (const peer of peers.slice(0, 2)) side.servers.onMessage(peer, servers(true), '')
  await side.until(() => side.answers.length === 6)
  const moved = side.moves.filter(([, , to]) => to === all[3]?.address).map(([id]) => id)
  assert.deepEqual(moved.toSorted(), names)
  assert.deepEqual(side.lostObjects, [])
})

test('two servers that end while a third one starts wait for it', async (t) => {
  const [one, two, third] = [await newServer(t), await newServer(t), await newServer(t)]
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.onMessage(C, servers(true, one), '')
  side.servers.onMessage(D, servers(true, two), '')
  await side.until(() => side.answers.length === 2)
  side.servers.claim(create('o', await stored(t, one.address)))
  side.servers.claim(create('p', await stored(t, two.address)))
  side.start = () => {
    queueMicrotask(() => side.servers.open([third.address]))
    return true
  }
  side.servers.onMessage(C, servers(true), '')
  side.servers.onMessage(D, servers(true), '')
  await side.until(() => side.answers.length === 4)
  // What was moved to the second one before it wanted to end has been moved again.
  const places = new Map(side.moves.map(([id, , to]) => [id, to]))
  assert.deepEqual([...places.values()], [third.address, third.address])
})

test('a server that has ended is used again when it is back', async (t) => {
  const server = await newServer(t)
  const { address } = server
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.open([address])
  await side.until(() => side.offers.length === 1)
  side.servers.onMessage(D, servers(true, server), '')
  side.servers.onMessage(D, servers(true), '')
  await side.until(() => side.answers.length === 2)
  await server.close()
  const next = await newServer(t, address)
  await side.until(() => side.offers.length === 3)
  side.servers.onMessage(D, servers(true, next), '')
  assert.deepEqual(side.offers.at(-1), [C, [address]])
  assert.deepEqual(side.answers.at(-1), [D, [address]])
})

test('content that comes in messages all the same is a line in the log', async (t) => {
  const { address } = await newServer(t)
  const side = new Side(t)
  side.servers.offerTo(C, heartbeat())
  side.servers.onDetour(C)
  side.servers.open([address])
  await side.until(() => side.offers.length === 1)
  side.servers.onDetour(D)
  assert.deepEqual(side.warnings, [])
  side.servers.onDetour(C)
  side.servers.onDetour(C)
  assert.equal(side.warnings.length, 1)
})

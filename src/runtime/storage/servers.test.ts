// What goes to object storage servers, and in which order a scheduler learns of it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { identity, objectId, schedulerId, taskId } from '../../base/ids.js'
import { silentLogger } from '../../base/logger.js'
import { ObjectStorageServer } from '../../scheduler/object-storage-server.js'
import {
  type Message,
  type ObjectInstruction,
  type ObjectResponse,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_RESULT,
  PLAIN_TASK,
  type StorageServer,
} from '../../wire/message.js'
import { storedContentOf } from '../../wire/object-content.js'
import type { ArrivalStore } from './arrival.js'
import { ListedFiles } from './arrival.test.kit.js'
import { ObjectServers } from './servers.js'

const SIZE = 300_000

/** A server, of which the free room need not be known. */
type OfferedServer = Omit<StorageServer, 'freeBytes'> & Partial<StorageServer>

/** The side of the scheduler: what it gets, and what arrives from servers. */
class Peer {
  readonly sent: Message[] = []
  readonly received: ObjectResponse[] = []
  drains = 0
  /** `+t`: the result of task `t` waits; `-t`: it was sent. */
  readonly holds: string[] = []
  readonly servers: ObjectServers
  #onChange: () => void = () => {}

  constructor(t: TestContext, address = 'tcp://127.0.0.1:1', arrivals?: ArrivalStore) {
    this.servers = new ObjectServers({
      ...(arrivals === undefined ? {} : { arrivals }),
      address,
      logger: silentLogger,
      send: (message) => {
        this.sent.push(message)
        this.#onChange()
        return true
      },
      receive: (response) => {
        this.received.push(response)
        this.#onChange()
      },
      onHeld: (result, isHeld) => {
        this.holds.push(`${isHeld ? '+' : '-'}${result.taskId}`)
        this.#onChange()
      },
      onDrain: () => {
        this.drains += 1
        this.#onChange()
      },
    })
    t.after(() => this.servers.reset())
  }

  use(...list: readonly OfferedServer[]): void {
    const servers = list.map(({ address, instance, freeBytes = 0 }) => {
      return { address, instance, freeBytes }
    })
    this.servers.onServers({ kind: 'storageServers', servers, isServer: false })
  }

  /** Resolves once `isTrue`. */
  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => (this.#onChange = resolve))
  }

  get kinds(): readonly string[] {
    return this.sent.map(({ kind }) => kind)
  }
}

async function newServer(t: TestContext): Promise<ObjectStorageServer> {
  const address = 'tcp://127.0.0.1:0'
  const limits = { objectDirectory: '', objectMemoryLimitBytes: 2 ** 28, objectDiskLimitBytes: 0 }
  const server = await ObjectStorageServer.start({ address, logger: silentLogger, ...limits })
  t.after(() => server.close())
  return server
}

function create(id: string, size = SIZE): ObjectInstruction {
  return {
    kind: 'objectInstruction',
    instructionType: 'create',
    objectUser: identity('C'),
    objectContent: {
      objectIds: [objectId(id)],
      objectTypes: ['object'],
      objectNames: [Buffer.from(id)],
      objectBytes: [[new Uint8Array(size).fill(size % 251)]],
    },
  }
}

/** A message about a task. */
const CANCEL: Message = {
  kind: 'taskCancel',
  taskId: taskId('t'),
  count: 0,
  flags: { force: false, retrieveTaskObject: false },
}

/** A task with the object `o`. */
const TASK: Message = {
  kind: 'task',
  ...PLAIN_TASK,
  taskId: taskId('t'),
  source: identity('C'),
  metadata: Buffer.alloc(0),
  funcObjectId: objectId('f'),
  functionArgs: [{ type: 'objectID', data: Buffer.from('o') }],
}

/** The result of a task: the object `o`, or one within the message. */
function resultOf(id: string, results: readonly string[]): Message {
  return {
    kind: 'taskResult',
    taskId: taskId(id),
    status: 'success',
    metadata: Buffer.alloc(0),
    ...PLAIN_RESULT,
    results: results.map((each) => objectId(each)),
  }
}

/** Both use this server. */
function peersOf(t: TestContext, server: ObjectStorageServer): readonly [Peer, Peer] {
  const peers = [new Peer(t), new Peer(t)] as const
  for (const peer of peers) peer.use(server)
  return peers
}

const HEARTBEAT: Message = {
  kind: 'clientHeartbeat',
  resource: { cpu: 0, rss: 0 },
  latencyUS: 0,
  features: 0,
  runtime: '',
  ...PLAIN_CLIENT_HEARTBEAT,
}

/** The content of a message that was sent. */
function contentOf(message: Message | undefined): ObjectInstruction['objectContent'] {
  assert(message?.kind === 'objectInstruction')
  return message.objectContent
}

function response(message: Message | undefined): ObjectResponse {
  const objectContent = contentOf(message)
  return { kind: 'objectResponse', responseType: 'content', objectContent }
}

test('without servers, everything is sent as it is', (t) => {
  const peer = new Peer(t)
  const message = create('o')
  assert.equal(peer.servers.send(message), true)
  assert.deepEqual(peer.sent, [message])
})

test('the scheduler learns of content when it is stored, and of what follows afterwards', async (t) => {
  const peer = new Peer(t)
  peer.use(await newServer(t))
  const messages = [create('o'), TASK, CANCEL, create('small', 100), HEARTBEAT]
  for (const message of messages) peer.servers.send(message)
  // What is not about the object or the task does not wait.
  assert.deepEqual(peer.kinds, ['objectInstruction', 'clientHeartbeat'])
  await peer.servers.idle()
  assert.deepEqual(peer.kinds.slice(2), ['objectInstruction', 'task', 'taskCancel'])
  assert.deepEqual(contentOf(peer.sent[0]).objectTypes, ['object'])
  assert.deepEqual(contentOf(peer.sent[2]).objectTypes, ['stored'])
})

test('one large object holds up nothing else', async (t) => {
  const peer = new Peer(t)
  peer.use(await newServer(t))
  assert.equal(peer.servers.send(create('o', 2 ** 27)), true)
  assert.equal(peer.servers.send(CANCEL), true)
  assert.deepEqual(peer.kinds, ['taskCancel'])
  await peer.servers.idle()
})

test('content that is stored sooner does not wait for other content', async (t) => {
  const peer = new Peer(t)
  const silent = createServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const slow = { address: `tcp://127.0.0.1:${port}`, instance: schedulerId('silent') }
  peer.use(slow)
  peer.servers.send(create('slow'))
  peer.use(slow, await newServer(t))
  // Some of them go to the server that does not answer.
  for (let at = 0; at < 20; at += 1) peer.servers.send(create(`o${at}`))
  await peer.until(() => peer.sent.length > 0)
  const names = peer.sent.map((message) => contentOf(message).objectIds[0])
  assert.equal(names.includes(objectId('slow')), false)
  await peer.servers.idle(1)
})

test('after a new connection to the scheduler, nothing is stored twice', async (t) => {
  const server = await newServer(t)
  const peer = new Peer(t)
  const store = async (size?: number): Promise<string> => {
    peer.use(server)
    peer.servers.send(create('o', size))
    await peer.servers.idle()
    const [chunks = []] = contentOf(peer.sent.at(-1)).objectBytes
    return storedContentOf(chunks)?.id ?? ''
  }
  const first = await store()
  peer.servers.reset()
  assert.equal(await store(), first)
  // An object that was deleted is another one.
  const { objectContent } = create('o')
  const remove: ObjectInstruction = { ...create('o'), instructionType: 'delete', objectContent }
  peer.servers.send(remove)
  assert.notEqual(await store(), first)
})

test('what a server has lost is stored again', async (t) => {
  const [server, other] = [await newServer(t), await newServer(t)]
  const peer = new Peer(t)
  for (const one of [server, other]) {
    peer.use(one)
    peer.servers.send(create('o'))
    await peer.servers.idle()
    peer.servers.reset()
  }
  const places = peer.sent.map((message) => {
    return storedContentOf(contentOf(message).objectBytes[0] ?? [])?.address
  })
  assert.deepEqual(places, [server.address, other.address])
})

test('content on a server is fetched from there', async (t) => {
  const server = await newServer(t)
  const [one, other] = peersOf(t, server)
  one.servers.send(create('o'))
  await one.servers.idle()
  assert.equal(other.servers.incoming(response(one.sent[0])), undefined)
  await other.until(() => other.received.length === 1)
  const { objectIds, objectTypes, objectBytes } = other.received[0]?.objectContent ?? {}
  assert.deepEqual([objectIds, objectTypes], [['o'], ['object']])
  assert.deepEqual(Buffer.concat(objectBytes?.[0] ?? []), Buffer.alloc(SIZE, SIZE % 251))
})

test('a file in which content has arrived is removed if the connection has ended', async (t) => {
  if (process.platform === 'win32') return t.skip('files have other names there')
  const server = await newServer(t)
  const [one] = peersOf(t, server)
  one.servers.send(create('o'))
  await one.servers.idle()
  const files = new ListedFiles(t)
  const removed = new Promise<void>((resolve) => (files.onRemove = resolve))
  files.onFinish = () => queueMicrotask(() => other.servers.reset())
  const other = new Peer(t, undefined, files)
  other.use(server)
  other.servers.incoming(response(one.sent[0]))
  await removed
  assert.deepEqual([files.removed, other.received], [['file'], []])
})

test('content that a server does not have is requested from the scheduler', async (t) => {
  const [server, another] = [await newServer(t), await newServer(t)]
  const [one, other] = [new Peer(t), new Peer(t)]
  one.use(server)
  // The server is not among those that this peer may use.
  other.use(another)
  one.servers.send(create('o'))
  await one.servers.idle()
  other.servers.incoming(response(one.sent[0]))
  await other.until(() => other.sent.length === 3)
  assert.deepEqual(other.kinds, ['storageServers', 'objectRequest', 'storageServers'])
  const sizes = other.sent.map((message) => {
    return message.kind === 'storageServers' ? message.servers.length : -1
  })
  assert.deepEqual(sizes, [0, -1, 1])
})

test('objects of which the content is in the message do not wait', async (t) => {
  const peer = new Peer(t)
  peer.use(await newServer(t))
  peer.servers.send(create('o'))
  await peer.servers.idle()
  const stored = contentOf(peer.sent[0])
  const { objectContent } = response(create('p', 10))
  const both: ObjectResponse = {
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: [...stored.objectIds, ...objectContent.objectIds],
      objectTypes: [...stored.objectTypes, ...objectContent.objectTypes],
      objectNames: [...stored.objectNames, ...objectContent.objectNames],
      objectBytes: [...stored.objectBytes, ...objectContent.objectBytes],
    },
  }
  assert.deepEqual(peer.servers.incoming(both)?.objectContent.objectIds, ['p'])
  await peer.until(() => peer.received.length === 1)
})

test('without a server that can be reached, content is sent in messages', async (t) => {
  const peer = new Peer(t)
  const server = await ObjectStorageServer.start({
    address: 'tcp://127.0.0.1:0',
    logger: silentLogger,
  })
  await server.close()
  const { instance } = server
  peer.use(server, { address: 'no address at all', instance })
  peer.servers.send(create('o'))
  await peer.servers.idle()
  assert.deepEqual(contentOf(peer.sent[0]).objectTypes, ['object'])
})

test('a server that is not the one that the scheduler means is not used', async (t) => {
  const peer = new Peer(t)
  const { address } = await newServer(t)
  peer.use({ address, instance: schedulerId('another') })
  peer.servers.send(create('o'))
  await peer.servers.idle()
  assert.deepEqual(contentOf(peer.sent[0]).objectTypes, ['object'])
})

test('a server that is full is not the last one', async (t) => {
  const limits = { objectDirectory: '', objectMemoryLimitBytes: 2 ** 20, objectDiskLimitBytes: 0 }
  const full = await ObjectStorageServer.start({
    address: 'tcp://127.0.0.1:0',
    logger: silentLogger,
    ...limits,
  })
  t.after(() => full.close())
  const other = await newServer(t)
  const peer = new Peer(t)
  peer.use(full, other)
  for (let count = 0; count < 8; count += 1) peer.servers.send(create(`o${count}`, 2 ** 21))
  await peer.servers.idle()
  const places = peer.sent.map((message) => {
    return storedContentOf(contentOf(message).objectBytes[0] ?? [])?.address
  })
  assert.deepEqual([...new Set(places)], [other.address])
})

test('its user pauses while much is on its way', async (t) => {
  const peer = new Peer(t)
  peer.use(await newServer(t))
  const hasRoom = [1, 2, 3].map((count) => peer.servers.send(create(`o${count}`, 2 ** 25)))
  assert.deepEqual(hasRoom, [true, false, false])
  await peer.until(() => peer.drains === 1)
  await peer.servers.idle()
  assert.equal(peer.sent.length, 3)
})

test('a fetch is answered, even if its server is withdrawn in the same turn', async (t) => {
  const server = await newServer(t)
  const [one, other] = peersOf(t, server)
  one.servers.send(create('o'))
  await one.servers.idle()
  other.servers.incoming(response(one.sent[0]))
  other.use()
  await other.until(() => other.kinds.includes('objectRequest'))
  // The same for content on its way to a server that is known already.
  one.servers.send(create('p'))
  one.use()
  await one.servers.idle()
  assert.deepEqual(contentOf(one.sent[1]).objectTypes, ['object'])
})

test('its user continues, whatever it sends meanwhile', async (t) => {
  const peer = new Peer(t)
  peer.use(await newServer(t))
  const many = [1, 2, 3].map((count) => create(`o${count}`, 2 ** 25).objectContent)
  const message = create('o', 2 ** 25)
  const objectContent = {
    objectIds: many.flatMap(({ objectIds }) => objectIds),
    objectTypes: many.flatMap(({ objectTypes }) => objectTypes),
    objectNames: many.flatMap(({ objectNames }) => objectNames),
    objectBytes: many.flatMap(({ objectBytes }) => objectBytes),
  }
  assert.equal(peer.servers.send({ ...message, objectContent }), false)
  let isOver = false
  void peer.servers.idle().then(() => (isOver = true))
  while (!isOver) {
    peer.servers.send(CANCEL)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(peer.drains, 1)
})

test('what takes too long is sent in messages', async (t) => {
  const peer = new Peer(t)
  const silent = createServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  peer.use({ address: `tcp://127.0.0.1:${port}`, instance: schedulerId('silent') })
  peer.servers.send(create('o'))
  peer.servers.send(TASK)
  await peer.servers.idle(1)
  assert.deepEqual(peer.kinds, ['objectInstruction', 'task'])
  assert.deepEqual(contentOf(peer.sent[0]).objectTypes, ['object'])
})

test('with the connection to the scheduler, everything that waits is dropped', async (t) => {
  const peer = new Peer(t)
  const server = await newServer(t)
  peer.use(server)
  peer.servers.send(create('o'))
  peer.servers.send(TASK)
  peer.servers.reset()
  await peer.servers.idle()
  peer.servers.send(create('p'))
  assert.deepEqual(
    peer.sent.map((message) => contentOf(message).objectIds[0]),
    ['p'],
  )
  assert.equal(peer.servers.isUsed, false)
})

test('a server to which content was on its way when the connection ended is used again', async (t) => {
  const server = await newServer(t)
  const peer = new Peer(t)
  peer.use(server)
  const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  peer.servers.send(create('o'))
  await nextTurn()
  peer.servers.reset()
  await nextTurn()
  peer.use(server)
  peer.servers.send(create('p'))
  await peer.until(() => peer.sent.length === 1)
  const [message] = peer.sent
  assert(message?.kind === 'objectInstruction')
  assert.deepEqual(message.objectContent.objectTypes, ['stored'])
})

test('its user learns which results wait, and when they are sent', async (t) => {
  const peer = new Peer(t)
  peer.use(await newServer(t))
  const messages = [create('o'), resultOf('t', ['o']), resultOf('small', []), CANCEL]
  for (const message of messages) peer.servers.send(message)
  // Not within the call.
  assert.deepEqual(peer.holds, [])
  await peer.until(() => peer.holds.length > 0)
  assert.deepEqual(peer.holds, ['+t'])
  assert.deepEqual(peer.kinds, ['taskResult'])
  await peer.until(() => peer.holds.length > 1)
  assert.deepEqual(peer.holds, ['+t', '-t'])
  assert.deepEqual(peer.kinds.slice(1), ['objectInstruction', 'taskResult', 'taskCancel'])
})

test('its user learns nothing of an earlier connection', async (t) => {
  const peer = new Peer(t)
  const server = await newServer(t)
  peer.use(server)
  peer.servers.send(create('o'))
  peer.servers.send(resultOf('old', ['o']))
  peer.servers.reset()
  peer.use(server)
  peer.servers.send(create('p'))
  peer.servers.send(resultOf('new', ['p']))
  await peer.until(() => peer.holds.includes('-new'))
  assert.deepEqual(peer.holds, ['+new', '-new'])
})

test('the host * is the one of the scheduler', async (t) => {
  const { address, instance } = await newServer(t)
  const peer = new Peer(t, 'tcp://localhost:1')
  const name = address.replace('127.0.0.1', '*')
  peer.use({ address: name, instance })
  peer.servers.send(create('o'))
  await peer.servers.idle()
  const [chunks = []] = contentOf(peer.sent[0]).objectBytes
  assert.equal(storedContentOf(chunks)?.address, name)
})

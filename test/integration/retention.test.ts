// Objects that stay in the scheduler for a while after their last use, over real sockets.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Scheduler } from 'scaler-ts'
import { latin1ToBytes, NO_BYTES } from '#src/base/bytes.js'
import { identity, objectId } from '#src/base/ids.js'
import { DealerSocket } from '#src/transport/dealer.js'
import {
  decode,
  encode,
  type Message,
  type ObjectContent,
  PLAIN_HEARTBEAT,
} from '#src/wire/message.js'
import { until } from './condition.js'

const CLIENT = identity('1|Client|a')
const WORKER = identity('1|worker|b')
const OBJECT = objectId('an object of a client')
const IDLE = { cpu: 0, rss: 0 }

const hello: Readonly<Record<'client' | 'worker', Message>> = {
  client: {
    kind: 'clientHeartbeat',
    resource: IDLE,
    latencyUS: 0,
    features: 1,
    runtime: 'node/20.19.0',
    worker: identity(''),
    wantsReport: false,
    wantsPeers: false,
    info: [],
  },
  worker: {
    kind: 'workerHeartbeat',
    agent: IDLE,
    rssFree: 0,
    queuedTasks: 0,
    latencyUS: 0,
    taskLock: true,
    processors: [],
    features: 1,
    runtime: 'node/20.19.0',
    ...PLAIN_HEARTBEAT,
  },
}

/** A peer controlled by the test. */
class Peer implements Disposable {
  readonly #socket: DealerSocket
  readonly #heard: string[] = []

  constructor(address: string, role: 'client' | 'worker') {
    this.#socket = new DealerSocket(address, role === 'client' ? CLIENT : WORKER, {
      onMessages: (messages) => {
        for (const frame of messages) {
          const message = decode(frame as Buffer)
          if (message.kind === 'objectResponse') this.#heard.push(message.responseType)
          if (message.kind === 'objectInstruction') this.#heard.push(message.instructionType)
        }
      },
      onConnect: () => {},
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onDrain: () => {},
    })
    this.#say(hello[role])
  }

  [Symbol.dispose](): void {
    void this.#socket.close()
  }

  instruct(instructionType: 'create' | 'delete', content: Partial<ObjectContent> = {}): void {
    const nothing = { objectTypes: [], objectNames: [], objectBytes: [] }
    const objectContent = { objectIds: [OBJECT], ...nothing, ...content }
    this.#say({ kind: 'objectInstruction', instructionType, objectUser: CLIENT, objectContent })
  }

  leave(): void {
    this.#say({ kind: 'clientDisconnect', disconnectType: 'disconnect' })
  }

  /** The scheduler's answer to a request for the object: `content`, or `objectNotExist`. */
  async request(): Promise<string> {
    this.#say({ kind: 'objectRequest', requestType: 'get', objectIds: [OBJECT] })
    return this.hears()
  }

  /** The next message about objects. */
  async hears(): Promise<string> {
    await until('a word about the object', () => this.#heard.length > 0)
    return this.#heard.shift() ?? ''
  }

  #say(message: Message): void {
    this.#socket.send(encode(message))
  }
}

/** A scheduler in which a client has stored an object that a worker has fetched. */
async function withObject(
  objectRetentionMs: number,
  look: (client: Peer, worker: Peer) => Promise<void>,
): Promise<void> {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0', objectRetentionMs })
  using client = new Peer(scheduler.address, 'client')
  using worker = new Peer(scheduler.address, 'worker')
  client.instruct('create', {
    objectTypes: ['object'],
    objectNames: [NO_BYTES],
    objectBytes: [[latin1ToBytes('its content')]],
  })
  assert.equal(await client.request(), 'content')
  assert.equal(await worker.request(), 'content')
  await look(client, worker)
}

for (const objectRetentionMs of [0, 3_600_000]) {
  test(`a deleted object is freed immediately: retention of ${objectRetentionMs} ms`, async () => {
    await withObject(objectRetentionMs, async (client, worker) => {
      client.instruct('delete')
      assert.equal(await client.request(), 'objectNotExist')
      assert.equal(await worker.hears(), 'delete')
      assert.equal(await worker.request(), 'objectNotExist')
    })
  })
}

test('with retention an object can be fetched after its client has left', async () => {
  await withObject(3_600_000, async (client, worker) => {
    client.leave()
    assert.equal(await worker.request(), 'content')
  })
})

test('an object is freed when its retention is over, and workers are notified', async () => {
  await withObject(300, async (client, worker) => {
    client.leave()
    assert.equal(await worker.hears(), 'delete')
    assert.equal(await worker.request(), 'objectNotExist')
  })
})

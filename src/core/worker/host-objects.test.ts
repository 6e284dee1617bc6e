// What the workers of one agent fetch together.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_NOTES, OUR_FEATURES } from '../../base/features.js'
import { identity, objectId, schedulerId } from '../../base/ids.js'
import type { Message, ObjectContentType, ObjectRequest } from '../../wire/message.js'
import { HostObjects, type HostStore, type WorkerObjects } from './host-objects.js'

/** Larger content is in files. */
const MIN_BYTES = 10
const LARGE = 'large content'

/** Writes files when the test says so. */
class TestStore implements HostStore {
  readonly files = new Map<string, string>()
  readonly removed: string[] = []
  readonly #writes: (() => void)[] = []
  readonly #soon: (() => void)[] = []
  #count = 0
  isFull = false

  write(chunks: readonly Uint8Array[], done: (chunk: Uint8Array | undefined) => void): void {
    this.#writes.push(() => {
      if (this.isFull) return done(undefined)
      this.#count += 1
      const name = `file ${this.#count}`
      this.files.set(name, Buffer.concat(chunks).toString())
      done(Buffer.from(name))
    })
  }

  owns(chunk: Uint8Array): boolean {
    return this.files.has(Buffer.from(chunk).toString())
  }

  remove(chunk: Uint8Array): void {
    this.files.delete(Buffer.from(chunk).toString())
    this.removed.push(Buffer.from(chunk).toString())
  }

  /** Content has arrived in a file, which has this name. */
  arrived(): string {
    this.#count += 1
    const name = `arrived ${this.#count}`
    this.files.set(name, LARGE)
    return name
  }

  soon(callback: () => void): void {
    this.#soon.push(callback)
  }

  /** The oldest write ends. */
  writeOne(): void {
    this.#writes.shift()?.()
    this.settle()
  }

  settle(): void {
    for (const callback of this.#soon.splice(0)) callback()
  }
}

/** A worker, and what it has sent and received. */
class TestWorker {
  readonly objects: WorkerObjects
  readonly #agent: TestAgent
  isNear = false
  readonly #sent: string[] = []
  #received: string[] = []

  constructor(agent: TestAgent) {
    this.#agent = agent
    const isNear = (): boolean => this.isNear
    this.objects = agent.host.join({
      send: (message) => this.#sent.push(describe(message)),
      receive: (message) => this.#received.push(describe(message)),
      get isNear() {
        return isNear()
      },
    })
    this.connect()
  }

  /** A scheduler with these features has answered. */
  connect(features: number = OUR_FEATURES): void {
    this.objects.incoming({ kind: 'workerHeartbeatEcho', schedulerId: schedulerId('S'), features })
    this.#received = []
  }

  /** Its machine requests objects. Returns what is sent. */
  request(...ids: string[]): string[] {
    const request = requestOf(ids)
    const sent = this.objects.outgoing(request)
    return [...this.takeSent(), ...(sent === undefined ? [] : [describe(sent)])]
  }

  /** The scheduler sends an object. Returns what the machine gets. */
  get(id: string, content: string, type: ObjectContentType = 'object'): string[] {
    this.objects.incoming(responseOf(id, content, type))
    return this.takeReceived()
  }

  /** The scheduler sends another message. */
  incoming(message: Message): string[] {
    this.objects.incoming(message)
    return this.takeReceived()
  }

  takeReceived(): string[] {
    this.#agent.store.settle()
    return this.#received.splice(0)
  }

  takeSent(): string[] {
    return this.#sent.splice(0)
  }
}

class TestAgent {
  readonly store = new TestStore()
  readonly host = new HostObjects(this.store, MIN_BYTES)

  workers(count: number): TestWorker[] {
    return Array.from({ length: count }, () => new TestWorker(this))
  }
}

function requestOf(ids: readonly string[]): ObjectRequest {
  return { kind: 'objectRequest', requestType: 'get', objectIds: ids.map(objectId) }
}

function responseOf(id: string, content: string, type: ObjectContentType): Message {
  const objectContent = {
    objectIds: [objectId(id)],
    objectTypes: [type],
    objectNames: [Buffer.from(`name of ${id}`)],
    objectBytes: [[Buffer.from(content)]],
  }
  return { kind: 'objectResponse', responseType: 'content', objectContent }
}

const NOTHING = { objectTypes: [], objectNames: [], objectBytes: [] }

function deletionOf(id: string): Message {
  const objectContent = { objectIds: [objectId(id)], ...NOTHING }
  const objectUser = identity('W')
  return { kind: 'objectInstruction', instructionType: 'delete', objectUser, objectContent }
}

/** `get o`, `note o`, `o: content`, `o: in file 1`, `no o`, `delete o`. */
function describe(message: Message): string {
  if (message.kind === 'objectRequest') {
    return `${message.requestType} ${message.objectIds.join(' ')}`
  }
  if (message.kind === 'objectInstruction') {
    return `${message.instructionType} ${message.objectContent.objectIds.join(' ')}`
  }
  if (message.kind !== 'objectResponse') return message.kind
  const { objectIds, objectTypes, objectBytes } = message.objectContent
  if (message.responseType === 'objectNotExist') return `no ${objectIds.join(' ')}`
  const objects = objectIds.map((id, at) => {
    const content = Buffer.concat(objectBytes[at] ?? []).toString()
    return `${id}: ${objectTypes[at] === 'file' ? `in ${content}` : content}`
  })
  return objects.join(', ')
}

test('one worker requests an object, and all that need it get it', () => {
  const agent = new TestAgent()
  const [one, two, three] = agent.workers(3) as [TestWorker, TestWorker, TestWorker]
  assert.deepEqual(one.request('o', 'p'), ['get o p'])
  assert.deepEqual(two.request('o', 'q'), ['get q'])
  assert.deepEqual(three.request('o'), [])
  assert.deepEqual(one.get('o', 'small'), ['o: small'])
  for (const worker of [two, three]) {
    assert.deepEqual(worker.takeSent(), ['note o'])
    assert.deepEqual(worker.takeReceived(), ['o: small'])
  }
  // It is in no file: who needs it later requests it again.
  assert.deepEqual(three.request('o', 'p'), ['get o'])
  agent.host.checkInvariants()
})

test('large content is in one file, also for those who need it later', () => {
  const agent = new TestAgent()
  const [one, two, three] = agent.workers(3) as [TestWorker, TestWorker, TestWorker]
  one.request('o')
  two.request('o')
  assert.deepEqual(one.get('o', LARGE), [])
  agent.store.writeOne()
  assert.deepEqual(one.takeReceived(), ['o: in file 1'])
  assert.deepEqual(two.takeReceived(), ['o: in file 1'])
  assert.deepEqual(three.request('o'), ['note o'])
  assert.deepEqual(three.takeReceived(), ['o: in file 1'])
  assert.deepEqual([...agent.store.files.values()], [LARGE])
  agent.host.checkInvariants()
})

test('the file is removed when the last one does not need it any more', () => {
  const agent = new TestAgent()
  const workers = agent.workers(5) as [TestWorker, TestWorker, TestWorker, TestWorker, TestWorker]
  const [one, two, three, four, five] = workers
  for (const worker of workers) worker.request('o')
  one.get('o', LARGE)
  agent.store.writeOne()
  assert.deepEqual(one.incoming(deletionOf('o')), ['o: in file 1', 'delete o'])
  const forget = deletionOf('o')
  assert(forget.kind === 'objectInstruction')
  two.objects.onForgotten(forget)
  three.objects.onProcessorGone()
  four.objects.onLost([objectId('o')])
  assert.equal(agent.store.files.size, 1)
  five.objects.onForgotten({ ...forget, instructionType: 'clear' })
  assert.equal(agent.store.files.size, 0)
  agent.host.checkInvariants()
})

test('messages that follow large content wait for it, in order', () => {
  const agent = new TestAgent()
  const [one] = agent.workers(2) as [TestWorker]
  one.request('o', 'p')
  assert.deepEqual(one.get('o', LARGE), [])
  assert.deepEqual(one.incoming(deletionOf('q')), [])
  assert.deepEqual(one.get('p', LARGE), [])
  assert.deepEqual(one.incoming(deletionOf('o')), [])
  agent.store.writeOne()
  assert.deepEqual(one.takeReceived(), ['o: in file 1', 'delete q'])
  agent.store.writeOne()
  assert.deepEqual(one.takeReceived(), ['p: in file 2', 'delete o'])
  assert.deepEqual([...agent.store.files.keys()], ['file 2'])
})

test('without room, content is passed on as it is', () => {
  const agent = new TestAgent()
  const [one, two] = agent.workers(2) as [TestWorker, TestWorker]
  agent.store.isFull = true
  one.request('o')
  two.request('o')
  one.get('o', LARGE)
  agent.store.writeOne()
  assert.deepEqual(one.takeReceived(), [`o: ${LARGE}`])
  assert.deepEqual(two.takeReceived(), [`o: ${LARGE}`])
})

test('if the one that fetches loses its connection, the next one fetches', () => {
  const agent = new TestAgent()
  const [one, two, three] = agent.workers(3) as [TestWorker, TestWorker, TestWorker]
  for (const worker of [one, two, three]) worker.request('o')
  one.objects.onDisconnected()
  assert.deepEqual([two.takeSent(), three.takeSent()], [['get o'], []])
  two.objects.close()
  assert.deepEqual(three.takeSent(), ['get o'])
  assert.deepEqual(three.get('o', 'small'), ['o: small'])
  assert.equal(agent.host.fetches.size, 0)
  agent.host.checkInvariants()
})

test('what arrives over a lost connection is dropped', () => {
  const agent = new TestAgent()
  const [one, two] = agent.workers(2) as [TestWorker, TestWorker]
  one.request('o')
  one.get('o', LARGE)
  one.incoming(deletionOf('q'))
  one.objects.onDisconnected()
  one.connect()
  agent.store.writeOne()
  assert.deepEqual(one.takeReceived(), [])
  assert.equal(agent.store.files.size, 0)
  assert.deepEqual(two.request('o'), ['get o'])
})

test('an object that is missing, or was not stored, is requested by each of them', () => {
  const agent = new TestAgent()
  const [one, two] = agent.workers(2) as [TestWorker, TestWorker]
  one.request('o', 'p')
  two.request('o', 'p')
  const objectContent = { objectIds: [objectId('o')], ...NOTHING }
  const missing = { kind: 'objectResponse', responseType: 'objectNotExist', objectContent } as const
  assert.deepEqual(one.incoming(missing), ['no o'])
  assert.deepEqual(two.takeSent(), ['get o'])
  assert.deepEqual(one.get('p', LARGE, 'refused'), [`p: ${LARGE}`])
  assert.deepEqual(two.takeSent(), ['get p'])
  assert.deepEqual(two.takeReceived(), [])
})

test('two who write the same content end with one file', () => {
  const agent = new TestAgent()
  const [one, two] = agent.workers(2) as [TestWorker, TestWorker]
  one.get('o', LARGE)
  two.get('o', LARGE)
  agent.store.writeOne()
  agent.store.writeOne()
  assert.deepEqual(one.takeReceived(), ['o: in file 1'])
  assert.deepEqual(two.takeReceived(), ['o: in file 1'])
  assert.deepEqual([...agent.store.files.keys()], ['file 1'])
  agent.host.checkInvariants()
})

test('content that was written while it arrived is in that file', () => {
  const agent = new TestAgent()
  const [one, two, three] = agent.workers(3) as [TestWorker, TestWorker, TestWorker]
  one.request('o')
  two.request('o')
  assert.deepEqual(one.get('o', agent.store.arrived(), 'file'), ['o: in arrived 1'])
  assert.deepEqual(two.takeReceived(), ['o: in arrived 1'])
  // As before a file could be shared, or if it was requested twice.
  assert.deepEqual(three.get('o', agent.store.arrived(), 'file'), ['o: in arrived 1'])
  assert.deepEqual(one.get('o', 'arrived 1', 'file'), ['o: in arrived 1'])
  assert.deepEqual([...agent.store.files.keys()], ['arrived 1'])
  agent.host.checkInvariants()
  for (const worker of [one, two, three]) worker.objects.onProcessorGone()
  assert.equal(agent.store.files.size, 0)
})

test('a single worker removes such a file, too', () => {
  const agent = new TestAgent()
  const [one] = agent.workers(1) as [TestWorker]
  assert.deepEqual(one.get('o', agent.store.arrived(), 'file'), ['o: in arrived 1'])
  one.incoming(deletionOf('o'))
  assert.equal(agent.store.files.size, 0)
})

test('such a file whose message is dropped is removed; one of the scheduler is not', () => {
  const agent = new TestAgent()
  const [one] = agent.workers(2) as [TestWorker]
  one.get('p', LARGE)
  assert.deepEqual(one.get('o', agent.store.arrived(), 'file'), [])
  assert.deepEqual(one.get('q', 'file of another', 'file'), [])
  one.objects.onDisconnected()
  agent.store.writeOne()
  assert.deepEqual([...agent.store.files.keys(), ...agent.store.removed], ['arrived 1', 'file 2'])
})

for (const [what, change] of [
  ['the scheduler is on this machine', (worker: TestWorker) => (worker.isNear = true)],
  [
    'the scheduler knows no notes',
    (worker: TestWorker) => worker.connect(OUR_FEATURES & ~FEATURE_NOTES),
  ],
] as const) {
  test(`everyone fetches for himself if ${what}`, () => {
    const agent = new TestAgent()
    const workers = agent.workers(2)
    for (const worker of workers) change(worker)
    for (const worker of workers) assert.deepEqual(worker.request('o'), ['get o'])
    for (const worker of workers) assert.deepEqual(worker.get('o', LARGE), [`o: ${LARGE}`])
  })
}

test('who has waited gets the object even if nothing is shared any more', () => {
  const agent = new TestAgent()
  const [one, two] = agent.workers(2) as [TestWorker, TestWorker]
  one.request('o')
  two.request('o')
  one.isNear = true
  two.isNear = true
  assert.deepEqual(one.get('o', LARGE), [`o: ${LARGE}`])
  assert.deepEqual(two.takeReceived(), [`o: ${LARGE}`])
  assert.equal(agent.host.fetches.size, 0)
})

test('a single worker has nobody to share with', () => {
  const agent = new TestAgent()
  const [one] = agent.workers(1) as [TestWorker]
  assert.deepEqual(one.request('o'), ['get o'])
  assert.deepEqual(one.get('o', LARGE), [`o: ${LARGE}`])
})

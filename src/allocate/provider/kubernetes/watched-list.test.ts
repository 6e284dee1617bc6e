import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Logger, silentLogger } from '../../../base/logger.js'
import { ApiError, type Listed } from './api.js'
import type { Named } from './watch-event.js'
import { WatchedList } from './watched-list.js'

function named(name: string): Named {
  return { metadata: { name } }
}

/** A server with some objects, and the list of a reader. */
class Server {
  objects: readonly string[] = []
  lists = 0
  /** Of all watches so far; the last one may be open. */
  readonly streams: PassThrough[] = []
  readonly signals: AbortSignal[] = []
  refusal: Error | undefined
  changes = 0
  readonly warnings: string[] = []
  readonly list: WatchedList<Named>

  constructor() {
    const logger: Logger = { ...silentLogger, warn: (text) => this.warnings.push(text) }
    this.list = new WatchedList({
      api: { list: () => this.#list(), watch: (_, __, signal) => this.#watch(signal) },
      path: '/jobs',
      labelSelector: 'a=b',
      kind: 'jobs',
      logger,
      onChange: () => (this.changes += 1),
    })
  }

  /** The names of the objects, as the reader sees them. */
  async read(): Promise<readonly string[]> {
    const items = await this.list.read()
    return items.map(({ metadata }) => metadata?.name ?? '')
  }

  /** Sends an event, and waits until it has arrived. */
  async send(type: string, name: string): Promise<void> {
    const before = this.changes
    this.streams.at(-1)?.write(`${JSON.stringify({ type, object: named(name) })}\n`)
    while (this.changes === before) await setImmediate()
  }

  /** Ends the watch, and waits until that is known. */
  async end(error?: Error): Promise<void> {
    const before = this.changes
    this.streams.at(-1)?.destroy(error)
    while (this.changes === before) await setImmediate()
  }

  #list<Item>(): Promise<Listed<Item>> {
    this.lists += 1
    return Promise.resolve({ items: this.objects.map((name) => named(name) as Item), version: '7' })
  }

  #watch(signal: AbortSignal): Promise<PassThrough> {
    this.signals.push(signal)
    if (this.refusal !== undefined) return Promise.reject(this.refusal)
    const stream = new PassThrough()
    signal.addEventListener('abort', () => stream.destroy())
    this.streams.push(stream)
    return Promise.resolve(stream)
  }
}

test('the server is asked once; then events tell what there is', async () => {
  const server = new Server()
  server.objects = ['one', 'two']
  assert.deepEqual(await server.read(), ['one', 'two'])
  await server.send('ADDED', 'three')
  await server.send('DELETED', 'one')
  assert.deepEqual(await server.read(), ['two', 'three'])
  assert.deepEqual([server.lists, server.streams.length], [1, 1])
  server.list.close()
})

test('after the end of a watch, there is a list, and a watch again', async () => {
  const server = new Server()
  await server.read()
  await server.end(new Error('cut'))
  server.objects = ['one']
  assert.deepEqual(await server.read(), ['one'])
  await server.send('ADDED', 'two')
  assert.deepEqual(await server.read(), ['one', 'two'])
  assert.deepEqual([server.lists, server.streams.length, server.warnings], [2, 2, []])
  server.list.close()
})

test('what was created is in the next list: it waits for its event', async () => {
  const server = new Server()
  await server.read()
  await setImmediate()
  server.list.expect('one')
  server.list.expect('two')
  await server.send('ADDED', 'two')
  let isRead = false
  const names = server.read().finally(() => (isRead = true))
  await setImmediate()
  assert.equal(isRead, false)
  await server.send('ADDED', 'one')
  assert.deepEqual(await names, ['two', 'one'])
  assert.equal(server.lists, 1)
  server.list.close()
})

test('a watch that does not show what was created is replaced', async () => {
  const server = new Server()
  await server.read()
  await setImmediate()
  server.list.expect('one')
  server.list.expect('refused')
  server.list.forget('refused')
  server.objects = ['one']
  assert.deepEqual(await server.read(), ['one'])
  assert.deepEqual([server.lists, server.signals.map(({ aborted }) => aborted)], [2, [true, false]])
  // The one that was replaced changes nothing any more.
  server.streams[0]?.write('{"type":"DELETED","object":{"metadata":{"name":"one"}}}\n')
  await setImmediate()
  assert.deepEqual(await server.read(), ['one'])
  server.list.close()
})

test('a watch that ends while a reader waits: the reader gets a list', async () => {
  const server = new Server()
  await server.read()
  await setImmediate()
  server.list.expect('one')
  server.objects = ['one']
  const names = server.read()
  await server.end()
  assert.deepEqual(await names, ['one'])
  server.list.close()
})

test('watches that fail again and again: each read is a list, and one line is logged', async () => {
  const server = new Server()
  for (let round = 0; round < 9; round += 1) {
    await server.read()
    if (round < 2) await server.end()
    await setImmediate()
  }
  assert.deepEqual([server.lists, server.streams.length], [9, 2])
  assert.deepEqual(server.warnings, [
    'jobs cannot be watched: they are listed at each interval instead',
  ])
})

test('without the right to watch, each read is a list, and one line says so', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const server = new Server()
  const text = JSON.stringify({ reason: 'Forbidden', message: 'cannot watch jobs' })
  server.refusal = new ApiError({ status: 403, retryAfter: undefined, text }, 1)
  for (let round = 0; round < 3; round += 1) {
    await server.read()
    await setImmediate()
  }
  assert.deepEqual([server.lists, server.signals.length], [3, 1])
  // It tries again much later.
  nowMs = 300_000
  await server.read()
  await setImmediate()
  assert.deepEqual([server.lists, server.signals.length], [4, 2])
  assert.deepEqual(server.warnings, [
    'the right to watch jobs is missing: they are listed at each interval instead',
  ])
})

test('closed, it has no watch and begins none', async () => {
  const server = new Server()
  await server.read()
  await setImmediate()
  server.list.close()
  assert.equal(server.signals[0]?.aborted, true)
  await server.read()
  assert.equal(server.signals.length, 1)
})

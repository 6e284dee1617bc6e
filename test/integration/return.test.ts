// Workers that lose their scheduler for a moment: running tasks continue, and are reported, with
// real processors and real connections.

import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { FEATURE_STORAGE_ONLY, OUR_FEATURES } from '#src/base/features.js'
import { type Identity, schedulerId } from '#src/base/ids.js'
import { RouterSocket } from '#src/transport/router.js'
import {
  decode,
  encodeFrame,
  type Message,
  type SharedObject,
  type StorageServers,
} from '#src/wire/message.js'
import { until } from './condition.js'
import type { FakeScheduler, SentTask } from './fake-scheduler.js'
import { pathFor, setUp } from './worker-agent-setup.js'

/** Records its start, blocks its thread until it may continue, and records its end. */
const hold = async (path: string): Promise<string> => {
  const { appendFileSync: append, existsSync: exists } = await import('node:fs')
  append(`${path}.begun`, 'x')
  while (!exists(path));
  append(`${path}.ended`, 'x')
  return 'done'
}

/** Cuts the connection and waits until the worker is back. Returns the tasks that it reports. */
async function blink(scheduler: FakeScheduler): Promise<readonly string[]> {
  const [worker] = scheduler.workers
  assert.ok(worker !== undefined)
  const beats = scheduler.heartbeats.length
  scheduler.disconnect(worker)
  await until('the worker is back', () => scheduler.heartbeats.length > beats)
  return scheduler.heartbeats[beats]?.heartbeat.tasks ?? []
}

/** Sends a task as after the loss of a worker. */
function sendAgain(scheduler: FakeScheduler, { message }: SentTask, attempt: number): void {
  scheduler.send({ ...message, attempt })
}

function countIn(file: string): number {
  return existsSync(file) ? readFileSync(file, 'utf8').length : 0
}

test('a task that runs while the connection is lost is reported, and runs only once', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const task = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  assert.deepEqual(await blink(scheduler), [task.id])
  sendAgain(scheduler, task, 1)
  appendFileSync(path, '')
  const { value, result } = await task.outcome
  assert.equal(value, 'done')
  assert.equal(result.attempt, 1)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('a task that ends before its scheduler asks is answered without running again', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const task = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  assert.deepEqual(await blink(scheduler), [task.id])
  writeFileSync(path, '')
  await until('it has ended', () => countIn(`${path}.ended`) === 1)
  // One more that is answered: by then the first result has arrived, too.
  assert.equal((await scheduler.submit(() => 1, []).outcome).value, 1)
  assert.ok(scheduler.isOpen(task.id))
  sendAgain(scheduler, task, 2)
  const { value, result } = await task.outcome
  assert.equal(value, 'done')
  assert.equal(result.attempt, 2)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('a task that is no longer needed is stopped when the scheduler says so', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const task = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  assert.deepEqual(await blink(scheduler), [task.id])
  const next = scheduler.submit(() => 2, [])
  scheduler.cancel(task.id, true)
  assert.equal((await task.outcome).status, 'canceled')
  assert.equal((await next.outcome).value, 2)
})

test('tasks that a busy processor has not started are given back, and never run', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const quick = async (file: string, isQuick: boolean): Promise<string> => {
    if (isQuick) return 'quick'
    const { appendFileSync: append, existsSync: exists } = await import('node:fs')
    append(`${file}.begun`, 'x')
    while (!exists(file));
    return 'done'
  }
  const warm = Array.from({ length: 300 }, () => scheduler.submit(quick, [path, true]))
  await Promise.all(warm.map(({ outcome }) => outcome))
  const tasks = Array.from({ length: 20 }, () => scheduler.submit(quick, [path, false]))
  await until('the first runs', () => countIn(`${path}.begun`) === 1)
  for (const { id } of tasks.slice(1)) scheduler.cancel(id, false)
  const rest = await Promise.all(tasks.slice(1).map(({ outcome }) => outcome))
  assert.deepEqual(new Set(rest.map(({ status }) => status)), new Set(['canceled']))
  writeFileSync(path, '')
  assert.equal((await tasks[0]?.outcome)?.value, 'done')
  assert.equal((await scheduler.submit(() => 1, []).outcome).value, 1)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('an agent that leaves notifies the scheduler, gives back waiting tasks, and ends running ones', async (context) => {
  const { scheduler, agent } = await setUp(context, { drainMs: 20_000 })
  const path = pathFor(context, 'go')
  const running = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  const waiting = scheduler.submit(hold, [path])
  const stopped = agent.stop()
  assert.equal((await waiting.outcome).status, 'canceled')
  assert.equal(scheduler.heartbeats.at(-1)?.heartbeat.isLeaving, true)
  assert.equal((await scheduler.submit(() => 1, []).outcome).status, 'canceled')
  writeFileSync(path, '')
  assert.equal((await running.outcome).value, 'done')
  await stopped
  assert.equal(scheduler.disconnects.length, 1)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('an agent leaves a 1.9.9 scheduler immediately: it would continue to send tasks', async (context) => {
  const { scheduler, agent } = await setUp(context, { drainMs: 20_000 }, { features: 0 })
  const path = pathFor(context, 'go')
  const running = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  await agent.stop()
  assert.equal(scheduler.disconnects.length, 1)
  assert.ok(scheduler.isOpen(running.id))
  assert.ok(scheduler.heartbeats.every(({ heartbeat }) => !heartbeat.isLeaving))
})

/** An object storage server that does not confirm content until the test wants it. */
class SlowServer {
  /** Who waits to learn that content is stored. */
  readonly waiting: { readonly peer: Identity; readonly about: SharedObject }[] = []
  readonly #router: RouterSocket

  private constructor(router: RouterSocket) {
    this.#router = router
  }

  static async start(context: TestContext): Promise<SlowServer> {
    const router = await RouterSocket.bind('tcp://127.0.0.1:0', {
      onMessages: (peer, messages) => {
        for (const frame of messages) server.#onMessage(peer, decode(Buffer.from(frame as Buffer)))
      },
      onConnect: () => {},
      onDisconnect: () => {},
      onDrain: () => {},
      onProgress: () => {},
    })
    const server = new SlowServer(router)
    context.after(() => router.close())
    return server
  }

  /** What a scheduler tells its workers of it. */
  get offer(): StorageServers {
    const { address } = this.#router
    const servers = [{ address, instance: schedulerId('slow'), freeBytes: 0 }]
    return { kind: 'storageServers', servers, isServer: false }
  }

  /** Confirms everything that was stored. */
  confirm(): void {
    for (const { peer, about } of this.waiting.splice(0)) {
      this.#router.send(peer, encodeFrame({ ...about, bytes: undefined, type: 'published' }))
    }
  }

  #onMessage(peer: Identity, message: Message): void {
    if (message.kind === 'sharedObject') this.waiting.push({ peer, about: message })
    if (message.kind !== 'clientHeartbeat') return
    const echo = {
      kind: 'clientHeartbeatEcho',
      schedulerId: schedulerId('slow'),
      features: OUR_FEATURES | FEATURE_STORAGE_ONLY,
      reports: [],
      waiting: [],
    } as const
    this.#router.send(peer, encodeFrame(echo))
  }
}

test('echoes of heartbeats that have overtaken a large result do not confirm it', async (context) => {
  const { scheduler } = await setUp(context)
  const server = await SlowServer.start(context)
  const path = pathFor(context, 'run')
  const hasStored = (): Promise<void> => until('it stores', () => server.waiting.length > 0)
  const beat = async (): Promise<void> => {
    const count = scheduler.heartbeats.length + 3
    await until('it goes on sending heartbeats', () => scheduler.heartbeats.length >= count)
  }
  const answers = (): readonly number[] => {
    return scheduler.messages.flatMap((each) => (each.kind === 'taskResult' ? each.attempt : []))
  }
  // Results of shorter tasks are not kept.
  const work = async (file: string): Promise<Uint8Array> => {
    const { appendFileSync: append } = await import('node:fs')
    append(file, 'x')
    for (const end = performance.now() + 60; performance.now() < end;);
    return new Uint8Array(300_000)
  }
  scheduler.send(server.offer)
  scheduler.submit(work, [`${path}.first`])
  await hasStored()
  await beat()
  server.confirm()
  await until('it answers', () => answers().length > 0)
  // Heartbeats after the result do confirm it.
  await beat()
  assert.deepEqual(await blink(scheduler), [])
  scheduler.send(server.offer)
  const task = scheduler.submit(work, [path])
  await hasStored()
  await beat()
  assert.deepEqual(answers(), [0])
  assert.deepEqual(await blink(scheduler), [task.id])
  sendAgain(scheduler, task, 1)
  assert.equal((await task.outcome).result.attempt, 1)
  assert.equal(countIn(path), 1)
})

// Our client and our workers on the scheduler of Python Scaler 1.9.9, which exits after a single
// message that it does not expect.

import assert from 'node:assert/strict'
import { silentLogger } from '#src/base/logger.js'
import { lookAtCluster, watchCluster } from '#src/client/monitor/look.js'
import { Client, ProcessorDiedError, SerializeError, TaskCancelledError } from 'scaler-ts'
import { startCommand, type Program } from './program.js'
import { pythonTest, startPythonScheduler } from './python.js'

pythonTest('our client and two of our workers work on a Python scheduler', async (t) => {
  const { scheduler, address } = await startPythonScheduler(t)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '2', address])
  await using client = await Client.connect(address)

  const add = (a: number, b: number): number => a + b
  assert.equal(await client.submit(add, 1, 2), 3)

  const inputs = Array.from({ length: 1_000 }, (_, index) => index)
  const squares = await client.map((x: number) => x * x, inputs)
  assert.deepEqual(
    squares,
    inputs.map((x) => x * x),
  )

  const fail = (text: string): never => {
    throw Object.assign(new RangeError(text), { code: 7 })
  }
  await assert.rejects(client.submit(fail, 'boom'), (error: unknown) => {
    assert.ok(error instanceof RangeError)
    assert.deepEqual([error.name, error.message], ['RangeError', 'boom'])
    assert.equal((error as RangeError & { code?: number }).code, 7)
    return true
  })

  const large = await client.submit((size: number) => new Uint8Array(size).fill(7), 1 << 20)
  assert.equal(large.byteLength, 1 << 20)
  assert.ok(large.every((byte) => byte === 7))
  assert.equal(await client.submit((bytes: Uint8Array) => bytes.length, large), 1 << 20)

  const tasks = Array.from({ length: 20 }, (_, index) => client.submit(add, index, index))
  assert.deepEqual(
    await Promise.all(tasks),
    tasks.map((_, index) => 2 * index),
  )

  await client.disconnect()
  await scheduler.logged(/client .* disconnected/)
  // It still serves: another client gets its result.
  await using second = await Client.connect(address)
  assert.equal(await second.submit(add, 20, 22), 42)
  await second.disconnect()
  cluster.signal('SIGTERM')
  await scheduler.logged(/worker .* disconnected[^]*worker .* disconnected/)
  await cluster.exitCode()
  assertUnharmed(scheduler)
  // When tasks are cancelled it may log errors: it cannot tell a late result from a wrong one.
  assert.doesNotMatch(scheduler.log(), /\[(EROR|WARN)\]/)
})

pythonTest('our commands show what a Python scheduler tells, by either address', async (t) => {
  const { address, monitorAddress } = await startPythonScheduler(t)
  startCommand(t, 'scaler-cluster', ['-n', '2', address])
  await using client = await Client.connect(address)
  const pause = async (ms: number): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return ms
  }
  const setup = { address, monitorAddress, heartbeatIntervalMs: 500, logger: silentLogger }
  const seen = (async () => {
    const events = watchCluster(setup, { ended: new AbortController().signal })
    for await (const event of events) {
      if (event.type === 'task') return event
      // It listens from here on.
      if (event.type === 'sample') void client.submit(pause, 1)
    }
    return undefined
  })()
  const task = await seen
  await assert.rejects(client.submit(() => assert.fail('no')))
  assert.deepEqual([task?.status, task?.attempts, task?.client], ['success', 1, undefined])
  const info = await lookAtCluster(setup, { timeoutMs: 60_000 })
  assert.deepEqual(
    [info.scheduler.address, info.scheduler.version, info.objects.bytes, info.tasks.failed],
    [address, undefined, undefined, 1],
  )
  for (const place of [[address, '--monitor-address', monitorAddress], [monitorAddress]]) {
    const status = await outputOf(startCommand(t, 'scaler-status', place))
    assert.match(status, /^well: 2 workers on 1 host; 0 running, 0 waiting\n/)
    assert.match(status, /scaler –, up –/)
  }
  await startCommand(t, 'scaler-top', [monitorAddress]).logged(/"messages":\{"sent":\{"\w+":\d/)
  const failures = await outputOf(startCommand(t, 'scaler', ['failures', monitorAddress]))
  assert.equal(failures, '1 in all, but this scheduler does not tell which\n')
})

pythonTest(
  'our web page shows what a Python scheduler tells, and the rest as unknown',
  async (t) => {
    const { address, monitorAddress } = await startPythonScheduler(t)
    startCommand(t, 'scaler-cluster', ['-n', '2', address])
    await using client = await Client.connect(address)
    const place = [address, '--monitor-address', monitorAddress, '--port', '0']
    const ui = startCommand(t, 'scaler-ui', place)
    const [, url = ''] = await ui.logged(/the page is at (http:[^"\s]+)/)
    type Answer = Readonly<Record<string, unknown>> & { readonly rows: readonly unknown[] }
    const get = async (path: string): Promise<Answer> => {
      return (await (await fetch(new URL(`/api/${path}`, url))).json()) as Answer
    }
    const until = async (path: string, isThere: (answer: Answer) => boolean): Promise<Answer> => {
      for (;;) {
        const answer = await get(path)
        if (isThere(answer)) return answer
      }
    }
    // It watches from the first report on.
    await until('overview', ({ stale, workers }) => {
      return stale === false && (workers as Readonly<Record<string, number>>)['idle'] === 2
    })
    await client.submit(function price(years: number) {
      return years * 2
    }, 3)
    await assert.rejects(client.submit(() => assert.fail('no')))
    await until('tasks', ({ total }) => total === 2)
    const overview = await until('overview', ({ tasks }) => {
      return (tasks as Readonly<Record<string, number>>)['failed'] === 1
    })
    assert.deepEqual([overview['graphs'], overview['lost']], [null, null])
    const { version, uptimeS } = overview['scheduler'] as Readonly<Record<string, unknown>>
    assert.deepEqual([version, uptimeS], [null, null])
    assert.match(JSON.stringify(overview['health']), /2 workers on 1 host/)
    const { series } = overview['history'] as { series: Record<string, readonly unknown[]> }
    assert.ok(series['waiting:all-busy']?.every((value) => value === null))
    assert.deepEqual((await get('failures')).rows, [])
    assert.deepEqual((await get('graphs')).rows, [])
    const [function_] = (await get('functions?filter=function=price')).rows
    assert.equal((function_ as { readonly count: number }).count, 1)
    const log = JSON.stringify((await get('log')).rows)
    assert.match(log, /the scheduler at tcp:[^"]* reports"/)
    const metrics = await (await fetch(new URL('/metrics', url))).text()
    assert.match(metrics, /^scaler_up 1$/m)
    assert.doesNotMatch(metrics, /scaler_workers_missing|scaler_graphs/)
  },
)

pythonTest('what goes wrong at our end does not harm a Python scheduler', async (t) => {
  const { scheduler, address } = await startPythonScheduler(t)
  // Its object storage server notices that it is of no use there.
  const agent = startCommand(t, 'scaler-cluster', ['-n', '2', '--object-storage', address])
  await agent.logged(/the scheduler does not use object storage servers/)
  await using client = await Client.connect(address)

  const sleep = async (ms: number): Promise<number> =>
    new Promise((resolve) => setTimeout(resolve, ms, ms))
  const futures = Array.from({ length: 20 }, () => client.submit(sleep, 50))
  for (const future of futures) future.cancel()
  for (const future of futures) await assert.rejects(future, TaskCancelledError)

  const exit = (): never => process.exit(3)
  await assert.rejects(client.submit(exit), (error: unknown) => {
    assert.ok(error instanceof ProcessorDiedError, String(error))
    assert.equal(error.exitCode, 3)
    return true
  })
  const notSerializable = (): unknown => ({ inner: [new WeakRef({})] })
  await assert.rejects(client.submit(notSerializable), SerializeError)
  await assert.rejects(client.map(notSerializable, [1, 2, 3]), SerializeError)

  assert.equal(await client.submit((x: number) => x + 1, 41), 42)
  await client.disconnect()
  await scheduler.logged(/client .* disconnected/)
  assertUnharmed(scheduler)
})

/** It keeps running and nothing has failed inside it. */
function assertUnharmed(scheduler: Program): void {
  assert.ok(scheduler.isRunning())
  assert.doesNotMatch(scheduler.log(), /\[CTIC\]|Traceback/)
}

pythonTest('graphs, references, futures and nested tasks work on a Python scheduler', async (t) => {
  const { scheduler, address } = await startPythonScheduler(t)
  startCommand(t, 'scaler-cluster', ['-n', '1', address])
  await using client = await Client.connect(address)
  const inc = (x: number): number => x + 1
  const add = (a: number, b: number): number => a + b
  const fail = (): never => {
    throw new RangeError('node')
  }

  const reference = client.sendObject([1, 2, 3])
  const sizeOf = (list: { readonly length: number }): number => list.length
  assert.equal(await client.submit(sizeOf, reference), 3)

  const make = (size: number): Uint8Array => new Uint8Array(size)
  assert.equal(await client.submit(sizeOf, client.submit(make, 1 << 20)), 1 << 20)

  const graph = { a: 1, b: [inc, 'a'], c: [add, 'b', 'b'], bad: [fail], worse: [inc, 'bad'] }
  assert.deepEqual(await client.get(graph, ['c', 'a']), { c: 4, a: 1 })
  const run = client.get(graph, ['c', 'worse'])
  assert.equal(await run.futures.c, 4)
  await assert.rejects(run, RangeError)

  const fibonacci = async (client: Client, n: number): Promise<number> => {
    if (n < 2) return n
    const [a, b] = [
      client.submit(fibonacci, client, n - 1),
      client.submit(fibonacci, client, n - 2),
    ]
    return (await a) + (await b)
  }
  assert.equal(await client.submit(fibonacci, client, 7), 13)
  assertUnharmed(scheduler)
})

async function outputOf(program: Program): Promise<string> {
  await program.exitCode()
  return program.log()
}

// Our clients and the service of this package: closures run in processors next to services of
// Symphony, as far as the stand-in for IBM's library (symphony/soamapi.py) goes.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  Client,
  currentClient,
  currentTask,
  ProcessorDiedError,
  TaskCancelledError,
  TaskTimeoutError,
} from 'scaler-ts'
import { isAlive, until } from '../integration/condition.js'
import { type Program, startCommand } from './program.js'
import { pythonTest, startScript } from './python.js'
import {
  bridgesOf,
  DOCUMENTS_SERVICE,
  OUR_SERVICE,
  startScheduler,
  startSharedInstance,
  startSymphonyCluster,
  type SymphonySetup,
  temporaryFolder,
} from './symphony.js'

interface Cluster {
  readonly scheduler: Program
  readonly workers: Program
  readonly address: string
  readonly client: Client
}

async function startCluster(
  t: TestContext,
  setup: Omit<SymphonySetup, 'address'> = {},
): Promise<Cluster> {
  const { scheduler, address } = await startScheduler(t)
  const all = { serviceFile: OUR_SERVICE, args: ['--runtimes', 'node'], ...setup, address }
  const workers = startSymphonyCluster(t, all)
  const client = new Client(address)
  t.after(() => client.close())
  return { scheduler, address, workers, client }
}

const slowly = async (number: number): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, 5))
  return 2 * number
}

const fibonacci = async (client: Client, n: number): Promise<number> =>
  n < 2
    ? n
    : (await client.submit(fibonacci, client, n - 1)) +
      (await client.submit(fibonacci, client, n - 2))

const waitFor = async (file: string): Promise<void> => {
  const { existsSync: exists } = await import('node:fs')
  while (!exists(file)) await new Promise((resolve) => setTimeout(resolve, 5))
}

const markAndWait = async (mark: string, file: string): Promise<void> => {
  await writeFile(mark, '')
  await waitFor(file)
}

pythonTest('closures, errors, large values and a map of 1,000 work', async (t) => {
  const { client } = await startCluster(t, { baseConcurrency: 4 })
  const factor = 3
  const times = (number: number): number => number * factor
  assert.equal(await client.submit(times, 14), 42)
  const inputs = Array.from({ length: 1_000 }, (_, n) => n)
  assert.deepEqual(await client.map(times, inputs), inputs.map(times))
  const fail = (): never => {
    throw new RangeError('boom', { cause: 'test' })
  }
  await assert.rejects(client.submit(fail), (error) => {
    assert.ok(error instanceof RangeError)
    assert.deepEqual([error.message, error.cause], ['boom', 'test'])
    assert.match(error.stack ?? '', /on the worker[^]*python-symphony-node\.test/)
    return true
  })
  const bytes = new Uint8Array(3_000_000).fill(7)
  const result = await client.submit((input) => input.map((byte) => byte + 1), bytes)
  assert.deepEqual([result.length, result[0], result.at(-1)], [3_000_000, 8, 8])
})

pythonTest('nested tasks end with a base concurrency of 1', async (t) => {
  const { client, workers } = await startCluster(t, { instances: 6 })
  assert.equal(await client.submit(fibonacci, client, 5), 5)
  assert.match(workers.log(), /children exceed the limit/)
})

pythonTest('cancelled tasks, time limits and retries are as on other workers', async (t) => {
  const { client } = await startCluster(t)
  const folder = temporaryFolder(t)
  const at = (name: string): string => join(folder, name)
  const running = client.submit(markAndWait, at('started'), at('go'))
  await until('it runs', () => existsSync(at('started')))
  const queued = client.submit(writeFile, at('queued'), '')
  assert.equal(queued.cancel(), true)
  await assert.rejects(queued, TaskCancelledError)
  assert.equal(running.cancel(), true)
  await assert.rejects(running, TaskCancelledError)
  assert.equal(await client.submit(() => 'next'), 'next')
  // Its answer, which comes late, is nobody's.
  writeFileSync(at('go'), '')
  assert.equal(await client.submit(() => 'after that'), 'after that')
  assert.equal(existsSync(at('queued')), false)
  const limited = client.with({ timeoutMs: 300 }).submit(waitFor, at('never'))
  await assert.rejects(limited, TaskTimeoutError)
  const second = (): number => {
    const { attempt } = currentTask() ?? { attempt: 0 }
    if (attempt < 2) throw new Error(`attempt ${attempt}`)
    return attempt
  }
  assert.equal(await client.with({ retries: 1 }).submit(second), 2)
})

pythonTest('a task that exceeds its time limit does not hold its instance', async (t) => {
  const { client } = await startCluster(t, { instances: 1 })
  const loop = (): void => {
    for (;;);
  }
  await assert.rejects(client.with({ timeoutMs: 300 }).submit(loop), TaskTimeoutError)
  assert.equal(await client.submit(slowly, 1), 2)
})

pythonTest('a function that ends its process fails, and nothing else', async (t) => {
  const { client } = await startCluster(t, { baseConcurrency: 2 })
  const exit = (): never => {
    console.error('last words')
    process.exit(3)
  }
  await assert.rejects(client.submit(exit), (error) => {
    assert.ok(error instanceof ProcessorDiedError)
    assert.equal(error.exitCode, 3)
    assert.match(error.message, /the process that ran it exited with code 3$/)
    return true
  })
  const kill = (): boolean => process.kill(process.pid, 'SIGKILL')
  await assert.rejects(client.submit(kill), { signal: 'SIGKILL' })
  assert.equal(await client.submit(() => 'next'), 'next')
})

pythonTest('what tasks print, log and report arrives when they end', async (t) => {
  const { client, workers } = await startCluster(t)
  const print = (): void => {
    console.log('one\ntwo')
    currentTask()?.log.warn('three', { four: 5 })
    for (const done of [1, 2]) currentTask()?.setProgress(done, 2)
  }
  const future = client.submit(print)
  await future
  assert.deepEqual(future.progress, { done: 2, total: 2 })
  await workers.logged(/"level":"info","message":"two","worker"/)
  await workers.logged(/"level":"warn","message":"three",.*"four":5/)
})

pythonTest('no future is lost if bridges are killed and the session is lost', async (t) => {
  const faults = { loseSessionAfter: 60, lostSessions: 1 }
  const { client, workers } = await startCluster(t, { baseConcurrency: 3, faults })
  const inputs = Array.from({ length: 300 }, (_, n) => n)
  const done = client.map(slowly, inputs)
  for (const count of [1, 2, 3]) {
    await until('a bridge', () => bridgesOf(workers).length >= count)
    process.kill(bridgesOf(workers).at(-1) as number, 'SIGKILL')
  }
  assert.deepEqual(
    await done,
    inputs.map((number) => 2 * number),
  )
})

pythonTest('while Symphony is out of order, other workers run the tasks', async (t) => {
  const config = join(temporaryFolder(t), 'soamapi.json')
  const service = { file: OUR_SERVICE, isProgram: true }
  const good = JSON.stringify({ services: { ScalerService: service } })
  writeFileSync(config, good)
  const env = { SOAMAPI_CONFIG: config }
  const { client, address, workers } = await startCluster(t, { baseConcurrency: 2, env })
  assert.equal(await client.submit(slowly, 1), 2)
  writeFileSync(config, '{}')
  process.kill(bridgesOf(workers).at(-1) as number, 'SIGKILL')
  await workers.logged(/cannot open a session/)
  const waiting = client.map(slowly, [1, 2])
  const others = startCommand(t, 'scaler-cluster', ['-n', '1', address])
  assert.deepEqual(await waiting, [2, 4])
  assert.match(workers.log(), /there is no bridge to Symphony for some time/)
  others.signal('SIGTERM')
  assert.equal(await others.exitCode(), 143)
  writeFileSync(config, good)
  assert.equal(await client.submit(() => 'again'), 'again')
  assert.equal(bridgesOf(workers).length, 2)
})

pythonTest('no future is lost if the scheduler is killed and restarted', async (t) => {
  const { client, scheduler, address, workers } = await startCluster(t, { baseConcurrency: 3 })
  const inputs = Array.from({ length: 400 }, (_, n) => n)
  const done = client.map(slowly, inputs)
  await until('some are done', async () => (await client.submit(slowly, 1)) === 2)
  scheduler.signal('SIGKILL')
  await workers.logged(/lost the connection to the scheduler/)
  await startScheduler(t, address)
  assert.deepEqual(
    await done,
    inputs.map((number) => 2 * number),
  )
  assert.equal(bridgesOf(workers).length, 1)
})

pythonTest('workers of both runtimes share the base concurrency', async (t) => {
  const args = ['--runtimes', 'python,node']
  const { client, address, workers } = await startCluster(t, { baseConcurrency: 1, args })
  const folder = temporaryFolder(t)
  const at = (name: string): string => join(folder, name)
  const running = client.submit(markAndWait, at('started'), at('go'))
  await until('it runs', () => existsSync(at('started')))
  const many = startScript(t, 'client_many.py', address, '20')
  await many.logged(/submitted/)
  assert.doesNotMatch(many.log(), /session/)
  writeFileSync(at('go'), '')
  await running
  await many.logged(/session \{"squares": true\}/)
  assert.equal(await many.exitCode(), 0)
  assert.equal(await client.submit(() => 'next'), 'next')
  assert.equal(bridgesOf(workers).length, 2)
})

pythonTest('tasks of two schedulers, and of both runtimes, share one instance', async (t) => {
  const socket = await startSharedInstance(t)
  const args = ['--runtimes', 'python,node']
  const clusters = await Promise.all(
    [0, 1].map(() => startCluster(t, { baseConcurrency: 2, socket, args })),
  )
  const inputs = Array.from({ length: 20 }, (_, n) => n)
  const addressOf = (): string | undefined => currentClient()?.address
  const done = clusters.map(async ({ client, address }) => {
    const python = startScript(t, 'client_many.py', address, '20')
    const doubled = await client.map(slowly, inputs)
    assert.equal(await client.submit(addressOf), address)
    await python.logged(/session \{"squares": true\}/)
    return doubled
  })
  for (const doubled of await Promise.all(done)) {
    assert.deepEqual(
      doubled,
      inputs.map((number) => 2 * number),
    )
  }
})

pythonTest('instances that leave their session and enter it again go on', async (t) => {
  const faults = { leaveSessionAfter: 5 }
  const { client } = await startCluster(t, { faults, instances: 1 })
  const inputs = Array.from({ length: 12 }, (_, n) => n)
  const pids = await client.map(() => process.pid, inputs)
  assert.equal(new Set(pids).size, 3)
  await until('the first processors are gone', () =>
    pids.slice(0, 10).every((pid) => !isAlive(pid)),
  )
  assert.ok(pids.slice(10).every(isAlive))
})

pythonTest('nothing is left behind', async (t) => {
  const { client, workers } = await startCluster(t, { baseConcurrency: 2 })
  const folder = temporaryFolder(t)
  const pids = [await client.submit(() => process.pid)]
  void client.submit(markAndWait, join(folder, 'started'), join(folder, 'never')).catch(() => {})
  await until('it runs', () => existsSync(join(folder, 'started')))
  pids.push(...bridgesOf(workers))
  workers.signal('SIGKILL')
  await workers.exitCode()
  await until('all processes are gone', () => !pids.some(isAlive))
})

pythonTest('a host with another version of the package says so', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'service'))
  const serviceFile = join(folder, 'service/symphony_service.py')
  copyFileSync(OUR_SERVICE, serviceFile)
  writeFileSync(join(folder, 'package.json'), '{ "version": "0.0.1" }')
  const { client } = await startCluster(t, { serviceFile })
  await assert.rejects(client.submit(slowly, 1), {
    name: 'ProcessorDiedError',
    message:
      /failed in Symphony: RuntimeError: scaler-ts 0\.0\.1 is installed here, but the workers/,
  })
})

pythonTest('a host without Node says so', async (t) => {
  const { client } = await startCluster(t, { env: { SCALER_SERVICE_NODE: '/no/such/node' } })
  await assert.rejects(client.submit(slowly, 1), {
    message: /failed in Symphony: RuntimeError: cannot start \/no\/such\/node/,
  })
})

pythonTest('the service of the documents does not run closures, and that is said', async (t) => {
  const { client } = await startCluster(t, { serviceFile: DOCUMENTS_SERVICE })
  await assert.rejects(client.submit(slowly, 1), { message: /failed in Symphony: / })
})

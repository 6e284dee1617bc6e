// The effect of the commands' options when they are given in code.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client, Cluster, ConfigError, Scheduler, SchedulerClusterCombo } from 'scaler-ts'
import { until } from './condition.js'
import { childProcesses, LineLogger } from './worker-agent-setup.js'

const skip = process.platform === 'linux' ? false : 'reads /proc'

/** A folder that is removed with the test. */
function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'scaler-combo-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The content of a log file: JSON lines. */
function textsIn(path: string): string[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => Object.values(JSON.parse(line) as Record<string, unknown>).join(' '))
}

test('processors get the configured environment, working directory and Node options', async (context) => {
  const folder = folderFor(context)
  await using client = await Client.local({
    workers: 1,
    env: { GREETING: 'hello' },
    cwd: folder,
    execArgv: ['--stack-trace-limit=7'],
    workerNames: ['only'],
  })
  const facts = await client.submit(() => ({
    greeting: process.env['GREETING'],
    path: process.env['PATH'],
    depth: process.env['SCALER_EMBEDDED_DEPTH'],
    folder: process.cwd(),
    execArgv: process.execArgv,
  }))
  const execArgv = ['--stack-trace-limit=7']
  const expected = { greeting: 'hello', path: undefined, depth: '1', folder, execArgv }
  assert.deepEqual(facts, expected)
  await client.close()
})

test('a combo can do without an address for monitors, with any kind of workers', async () => {
  for (const workers of [1, { max: 1 }]) {
    await using cluster = await SchedulerClusterCombo.start({ workers, monitorAddress: '' })
    assert.equal(cluster.monitorAddress, '')
    await using client = await Client.connect(cluster.address)
    assert.equal(await client.submit(Math.sqrt, 16), 4)
  }
})

test('a combo that listens on all addresses can be reached on this machine', async () => {
  await using cluster = await SchedulerClusterCombo.start({ workers: 1, address: 'tcp://*:0' })
  const [port, monitorPort] = [cluster.address, cluster.monitorAddress].map((address) => {
    assert.match(address, /^tcp:\/\/127\.0\.0\.1:\d+$/)
    return Number(address.split(':').at(-1))
  })
  assert.ok(port !== undefined && port > 0 && monitorPort !== port)
  await using client = await Client.connect(cluster.address)
  assert.equal(await client.submit(Math.sqrt, 16), 4)
})

test('logging options create a log of all parts, down to the chosen level', async (context) => {
  const folder = folderFor(context)
  const [loud, quiet] = [join(folder, 'loud.log'), join(folder, 'quiet.log')]
  for (const [path, loggingLevel] of [
    [loud, 'debug'],
    [quiet, 'ERROR'],
  ] as const) {
    const cluster = await SchedulerClusterCombo.start({
      workers: 1,
      loggingPaths: [path],
      loggingLevel,
      ioThreads: 2,
      garbageCollectIntervalMs: 1,
    })
    const client = await Client.connect(cluster.address, { output: 'log' })
    await client.submit(() => console.log('said by a task'))
    if (path === loud) {
      await until('a line of the level debug', () => {
        return textsIn(path).some((text) => text.includes('collected garbage'))
      })
    }
    await client.close()
    await cluster.shutdown()
  }
  const texts = textsIn(loud)
  for (const words of ['logging to', 'ioThreads 2 is unnecessary', 'worker connected']) {
    assert.ok(
      texts.some((text) => text.includes(words)),
      `${words}:\n${texts.join('\n')}`,
    )
  }
  assert.ok(
    texts.some((text) => text.includes('Worker[0] started')),
    texts.join('\n'),
  )
  assert.equal(readFileSync(quiet, 'utf8'), '')
})

test('a scheduler and a cluster in this process have logs of their own', async (context) => {
  const folder = folderFor(context)
  const [one, other] = [join(folder, 'scheduler.log'), join(folder, 'cluster.log')]
  const scheduler = await Scheduler.start({
    address: 'tcp://127.0.0.1:0',
    loggingPaths: [one],
    eventLoop: 'uvloop',
  })
  const { address } = scheduler
  const cluster = await Cluster.start({ address, workers: 1, loggingPaths: [other] })
  await cluster.shutdown()
  await scheduler.close()
  assert.ok(textsIn(one).some((text) => text.includes('eventLoop "uvloop" is unnecessary')))
  assert.ok(textsIn(one).some((text) => text.includes('worker connected')))
  assert.ok(textsIn(other).some((text) => text.includes('Worker[0] started')))
  assert.ok(!textsIn(other).some((text) => text.includes('worker connected')))
})

test('with drainMs, tasks that run when the cluster is stopped still deliver their results', async (context) => {
  const cluster = await SchedulerClusterCombo.start({ workers: 1, drainMs: 60_000 })
  const client = await Client.connect(cluster.address)
  const lines: string[] = []
  const path = join(folderFor(context), 'begun')
  const task = client.submit(async (file: string) => {
    const { writeFileSync } = await import('node:fs')
    writeFileSync(file, '')
    await new Promise((resolve) => setTimeout(resolve, 300))
    return 'whole'
  }, path)
  await until('it runs', () => existsSync(path))
  const end = cluster.shutdown().then(() => lines.push('ended'))
  lines.push(await task)
  await end
  assert.deepEqual(lines, ['whole', 'ended'])
  await client.close()
})

test('without drainMs, running tasks are not awaited', async (context) => {
  const cluster = await SchedulerClusterCombo.start({ workers: 1 })
  const client = await Client.connect(cluster.address, { reconnect: false })
  const path = join(folderFor(context), 'begun')
  const task = client.submit(async (file: string) => {
    const { writeFileSync } = await import('node:fs')
    writeFileSync(file, '')
    await new Promise(() => {})
  }, path)
  task.catch(() => {})
  await until('it runs', () => existsSync(path))
  await cluster.shutdown()
  await assert.rejects(task)
  await client.close()
})

test(
  'options that Node does not know are reported immediately, and nothing is left',
  { skip },
  async () => {
    const options = { workers: 2, execArgv: ['--no-such-option'] }
    const message = /Node cannot start a processor: .*bad option: --no-such-option/
    await assert.rejects(SchedulerClusterCombo.start(options), { message })
    await until('no process is left', () => childProcesses().length === 0)
    // The client may still be connecting, and does not wait for an answer.
    await assert.rejects(Client.local({ ...options, timeoutMs: 2 ** 31 - 1 }), { message })
    await until('no process is left', () => childProcesses().length === 0)
  },
)

test('processors that have not begun yet end with a scheduler that cannot start', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const execArgv = ['--inspect-brk=0']
  const { address } = scheduler
  // That they have ended is checked at the end of all tests: they are no children of this process.
  await assert.rejects(SchedulerClusterCombo.start({ address, workers: 2, execArgv }), /EADDRINUSE/)
  await assert.rejects(Client.local({ address, workers: 2, execArgv }), /EADDRINUSE/)
})

test('names apply to all workers, or to none', async () => {
  const wrong = { workers: 2, workerNames: ['a', 'b', 'c'] }
  await assert.rejects(SchedulerClusterCombo.start(wrong), {
    code: 'ERR_SCALER_CONFIG',
    message: /^option workerNames: .*3 names for 2 workers$/,
  })
  await assert.rejects(Client.local(wrong), ConfigError)
  await assert.rejects(Cluster.start({ address: 'tcp://127.0.0.1:1', ...wrong }), ConfigError)
})

/** Addresses on which listening is impossible, and their errors. */
async function badPlaces(context: TestContext): Promise<readonly (readonly [string, RegExp])[]> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  context.after(() => void server.close())
  const { port } = server.address() as AddressInfo
  const taken = `tcp://127.0.0.1:${port}`
  return [
    [taken, new RegExp(`^cannot listen on ${taken}: EADDRINUSE: address already in use`)],
    ['tcp://192.0.2.1:0', /^cannot listen on tcp:\/\/192\.0\.2\.1:0: EADDRNOTAVAIL/],
    [
      'tcp://no-such-host.invalid:0',
      /^cannot listen on tcp:\/\/no-such-host\.invalid:0: .*(ENOTFOUND|EAI_AGAIN)/,
    ],
    [`ipc://${folderFor(context)}/no/folder`, /^cannot listen on ipc:.*(?:EACCES|does not exist)/],
  ]
}

/** The part that has the address, if it is not the main one. */
const MONITORS = /^option monitorAddress: /

test(
  'an address on which listening is impossible gives a one-line error, and nothing is left',
  { skip },
  async (context) => {
    const places = await badPlaces(context)
    for (const [address, message] of places) {
      for (const options of [
        { address },
        { address: 'tcp://127.0.0.1:0', monitorAddress: address },
      ]) {
        await assert.rejects(Scheduler.start(options), (error: Error) => {
          assert.match(error.message.replace(MONITORS, ''), message)
          assert.ok(!error.message.includes('\n'))
          return true
        })
        await assert.rejects(
          SchedulerClusterCombo.start({ workers: 1, ...options }),
          (error: Error) => {
            assert.match(error.message.replace(MONITORS, ''), message)
            const { code } = error.cause as NodeJS.ErrnoException
            const isSaid = error.message.includes(code ?? '?')
            assert.ok(isSaid || error.message.includes('does not exist'), error.message)
            return true
          },
        )
        await until('no process is left', () => childProcesses().length === 0)
      }
    }
  },
)

test('a scheduler that cannot listen for monitors does not keep its other port', async (context) => {
  const [[taken] = ['']] = await badPlaces(context)
  const probe = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = probe
  await probe.close()
  await assert.rejects(Scheduler.start({ address, monitorAddress: taken }))
  const again = await Scheduler.start({ address })
  assert.equal(again.address, address)
  await again.close()
})

test('an unwritable log is reported before anything starts', { skip }, async (context) => {
  const path = join(folderFor(context), 'no', 'folder.log')
  for (const start of [
    () => SchedulerClusterCombo.start({ workers: 1, loggingPaths: [path] }),
    () => Scheduler.start({ address: 'tcp://127.0.0.1:0', loggingPaths: [path] }),
    () => Cluster.start({ address: 'tcp://127.0.0.1:1', workers: 1, loggingPaths: [path] }),
  ]) {
    await assert.rejects(start, (error: Error) => error.message.includes(path))
    assert.deepEqual(childProcesses(), [])
  }
})

test('a cluster that has not found its scheduler says why', async () => {
  const log = new LineLogger()
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const address = `tcp://127.0.0.1:${port}`
  const start = Cluster.start({ address, workers: 1, deathTimeoutMs: 1_000, logger: log })
  await assert.rejects(start, (error: Error) => {
    assert.match(error.message, /received nothing from the scheduler for 1000 ms/)
    assert.match(error.message, /ECONNREFUSED/)
    return true
  })
})

test('after its lifetime, a cluster has no workers; what waits is told why', async () => {
  await using client = await Client.local({ workers: 1, lifetimeMs: 1_500, drainMs: 0 })
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  try {
    await until('its worker has left', async () => (await client.info()).hosts.length === 0)
    const future = client.submit(Math.sqrt, 16)
    const about =
      'the workers of the cluster in this program have ended: lifetimeMs (1500) has passed'
    await until('it is explained', async () => (await future.explain()).text === about)
    await until('the program is warned', () => warnings.some((text) => text.includes(about)))
    assert.ok(warnings.every((text) => !text.includes('scaler_cluster')))
    future.cancel()
    await assert.rejects(future)
  } finally {
    process.off('warning', onWarning)
  }
})

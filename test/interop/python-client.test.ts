// Python clients and workers of 1.9.9 on our scheduler: they must not notice the difference.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { SubSocket } from '#src/transport/sub.js'
import { decode, type StateScheduler } from '#src/wire/message.js'
import { until } from '../integration/condition.js'
import { startCommand, type Program } from './program.js'
import { pythonTest, startPythonCluster, startScript } from './python.js'

/** Our scheduler as a command, and its address. */
interface OurScheduler {
  readonly scheduler: Program
  readonly address: string
  readonly monitorAddress: string
}

async function startOurScheduler(t: TestContext): Promise<OurScheduler> {
  const scheduler = startCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0'])
  const [, address = ''] = await scheduler.logged(/"address":"([^"]+)"/)
  const [, monitorAddress = ''] = await scheduler.logged(/"monitorAddress":"([^"]+)"/)
  return { scheduler, address, monitorAddress }
}

/** The output of a session that works as on a Python scheduler. */
const EXPECTED = {
  submit: 4,
  submit_by_value: true,
  map: true,
  error: ['ValueError', 'boom 7'],
  big: [1_048_576, 1_048_576],
  futures: true,
  profiled: true,
  after_error: 2,
}

/** Runs a script as a client to its end and returns its output. */
async function session(t: TestContext, address: string, script: string): Promise<unknown> {
  const client = startScript(t, script, address)
  const [, text = ''] = await client.logged(/session (.*)\n/)
  assert.equal(await client.exitCode(), 0)
  return JSON.parse(text)
}

/** The next status of the scheduler that matches. */
async function status(
  t: TestContext,
  monitorAddress: string,
  isWanted: (status: StateScheduler) => boolean,
): Promise<StateScheduler> {
  let newest: StateScheduler | undefined
  const monitor = new SubSocket(monitorAddress, {
    onMessages: (messages) => {
      for (const bytes of messages) {
        const message = decode(bytes as Buffer)
        if (message.kind === 'stateScheduler' && isWanted(message)) newest = message
      }
    },
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  })
  t.after(() => monitor.close())
  monitor.subscribe('')
  await until('a status as wanted', () => newest !== undefined)
  await monitor.close()
  return newest as unknown as StateScheduler
}

pythonTest('a Python client and two Python workers work on our scheduler', async (t) => {
  const { scheduler, address, monitorAddress } = await startOurScheduler(t)
  startPythonCluster(t, address, 2)
  assert.deepEqual(await session(t, address, 'client_session.py'), EXPECTED)
  // The first client has left; a second one is served as well.
  assert.deepEqual(await session(t, address, 'client_session.py'), EXPECTED)
  const idle = await status(t, monitorAddress, ({ clientManager, workerManager }) => {
    const { workers } = workerManager
    const areIdle = workers.every(({ queued, sent }) => queued === 0 && sent === 0)
    return clientManager.clientToNumOfTask.length === 0 && workers.length === 2 && areIdle
  })
  assert.equal(idle.objectManager.numberOfObjects, 0)
  assert.ok(scheduler.isRunning())
  // On a slow machine, tasks come long before the workers.
  const lines = scheduler.log().split('\n')
  const troubles = lines.filter((line) => /"level":"(warn|error)"/.test(line))
  assert.deepEqual(
    troubles.filter((line) => !line.includes('"reason":"no-worker"')),
    [],
  )
})

pythonTest('cancelled, dying and nested tasks end on our scheduler as on theirs', async (t) => {
  const { scheduler, address } = await startOurScheduler(t)
  startPythonCluster(t, address, 2)
  assert.deepEqual(await session(t, address, 'client_trouble.py'), {
    cancelled: true,
    died: 'ProcessorDiedError',
    nested: 5,
    after_clear: 2,
  })
  assert.ok(scheduler.isRunning())
})

pythonTest('graphs of a Python client run on our scheduler', async (t) => {
  const { scheduler, address, monitorAddress } = await startOurScheduler(t)
  startPythonCluster(t, address, 2)
  const error = ['ValueError', 'failed at 1']
  assert.deepEqual(await session(t, address, 'client_graph.py'), {
    get: { e: 1, a: 2, d: 4 },
    twice: { c: 4 },
    data_only: { a: 2, b: 2 },
    reference: { m: 100_001 },
    large: 50_000,
    chain: { n300: 300, n7: 7 },
    // Unlike on their own scheduler, a failure fails its dependants and nothing else.
    failing: { b: error, c: error, d: error, s: 1, good: 2 },
    after: 2,
  })
  const idle = await status(t, monitorAddress, ({ objectManager, clientManager }) => {
    return objectManager.numberOfObjects === 0 && clientManager.clientToNumOfTask.length === 0
  })
  assert.equal(idle.taskManager.unassigned, 0)
  assert.ok(scheduler.isRunning())
})

pythonTest(
  'a Python client that is put aside while it sends a graph gets its results',
  async (t) => {
    const { address } = await startOurScheduler(t)
    startPythonCluster(t, address, 1)
    assert.deepEqual(await session(t, address, 'client_late.py'), {
      warm: 2,
      seen: Array.from({ length: 20 }, (_, index) => index + 1),
    })
  },
)

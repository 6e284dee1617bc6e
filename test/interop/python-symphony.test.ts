// Python clients of 1.9.9, unmodified, and the service of the documents, unmodified: our scheduler
// and our workers for Symphony are between them.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { isAlive, until } from '../integration/condition.js'
import { type Program, ROOT } from './program.js'
import { pythonTest, startPythonScheduler, startScript } from './python.js'
import {
  bridgesOf,
  startScheduler,
  startSymphonyCluster,
  type SymphonySetup,
  temporaryFolder,
} from './symphony.js'

interface Cluster {
  readonly scheduler: Program
  readonly workers: Program
  readonly address: string
}

async function startCluster(
  t: TestContext,
  setup: Omit<SymphonySetup, 'address'> = {},
): Promise<Cluster> {
  const { scheduler, address } = await startScheduler(t)
  return { scheduler, address, workers: startSymphonyCluster(t, { address, ...setup }) }
}

async function sessionOf(client: Program): Promise<unknown> {
  const [, text = ''] = await client.logged(/session (.*)\n/)
  assert.equal(await client.exitCode(), 0)
  return JSON.parse(text)
}

/** What client_symphony.py has seen. Cancels must arrive before the running task ends. */
async function symphonySession(
  t: TestContext,
  address: string,
  workers: Program,
): Promise<Readonly<Record<string, unknown>>> {
  const folder = temporaryFolder(t)
  const client = startScript(t, 'client_symphony.py', address, folder)
  // The client submits it after the cancels.
  await workers.logged(/task waits for its turn.*"name":"round"/)
  writeFileSync(join(folder, 'go'), '')
  return (await sessionOf(client)) as Readonly<Record<string, unknown>>
}

/** Each step of each task is logged. */
const DEBUG = ['--logging-level', 'DEBUG']

function warningsOf({ workers }: Cluster): readonly string[] {
  return workers.log().match(/"level":"(?:warn|error)".*/g) ?? []
}

pythonTest('a Python client works with the service of the documents', async (t) => {
  const cluster = await startCluster(t, { baseConcurrency: 4 })
  assert.deepEqual(await sessionOf(startScript(t, 'client_session.py', cluster.address)), {
    submit: 4,
    submit_by_value: true,
    map: true,
    error: ['ValueError', 'boom 7'],
    big: [1_048_576, 1_048_576],
    futures: true,
    profiled: true,
    after_error: 2,
  })
  assert.deepEqual(warningsOf(cluster), [])
  const bridges = bridgesOf(cluster.workers)
  cluster.workers.signal('SIGTERM')
  assert.equal(await cluster.workers.exitCode(), 143)
  assert.equal(bridges.length, 1)
  await until('the bridge is gone', () => !bridges.some(isAlive))
})

pythonTest('exceptions, cancelled and nested tasks are as on workers of theirs', async (t) => {
  const { address, workers } = await startCluster(t, { instances: 6, args: DEBUG })
  assert.deepEqual(await symphonySession(t, address, workers), {
    error: ['ValueError', ['boom'], 'fail', null],
    chain: ['OwnError', ['chained', '1'], 'fail_in_chain', 'ValueError'],
    unpicklable: ['RuntimeError', ["KeyError, which cannot be pickled: 'lock'"]],
    same_argument: 27,
    cancelled_queued: true,
    cancelled_running: true,
    after_cancel: 2,
    queued_ran: false,
    nested: 5,
    own_serializer: [
      'RuntimeError',
      [
        'this client has a serializer of its own, but services of Symphony read only what ' +
          'cloudpickle has written: use the default serializer, or workers of Python Scaler',
      ],
    ],
  })
  assert.match(workers.log(), /children exceed the limit/)
})

/** What goes wrong, and what must be in the log of the workers then. */
const FAULTS: readonly (readonly [string, NonNullable<SymphonySetup['faults']>, RegExp?])[] = [
  ['every answer arrives twice', { doubleAnswers: true }],
  ['answers arrive before their task has an id', { answerOnSend: true }],
  ['answers are late', { delayMs: 20 }],
  ['the session is lost twice', { loseSessionAfter: 40, lostSessions: 2 }, /has ended the session/],
  ['connections fail', { connectFailures: 2 }, /cannot open a session .*; trying again/],
  ['inputs are refused', { sendFailures: 2 }, /did not accept a task/],
]

for (const [name, faults, line] of FAULTS) {
  pythonTest(`no task is lost if ${name}`, async (t) => {
    const cluster = await startCluster(t, { baseConcurrency: 3, faults })
    const client = startScript(t, 'client_many.py', cluster.address, '150')
    assert.deepEqual(await sessionOf(client), { squares: true })
    if (line === undefined) assert.deepEqual(warningsOf(cluster), [])
    else assert.match(cluster.workers.log(), line)
  })
}

pythonTest('no task is lost if the bridge is killed', async (t) => {
  const { address, workers } = await startCluster(t, { baseConcurrency: 3 })
  const client = startScript(t, 'client_many.py', address, '300')
  await client.logged(/submitted/)
  for (const count of [1, 2]) {
    await until('a bridge', () => bridgesOf(workers).length >= count)
    process.kill(bridgesOf(workers).at(-1) as number, 'SIGKILL')
  }
  assert.deepEqual(await sessionOf(client), { squares: true })
  assert.match(workers.log(), /the bridge to Symphony was killed by SIGKILL/)
})

pythonTest('a Python that a script starts, which prints, is a bridge like others', async (t) => {
  const python = join(temporaryFolder(t), 'python')
  const script = `#!/bin/sh\necho welcome\n${join(ROOT, '.venv-interop/bin/python')} "$@"\n`
  writeFileSync(python, script, { mode: 0o755 })
  const cluster = await startCluster(t, { args: ['--python', python] })
  const client = startScript(t, 'client_many.py', cluster.address, '20')
  assert.deepEqual(await sessionOf(client), { squares: true })
  assert.equal(warningsOf(cluster).length, 1)
  assert.match(cluster.workers.log(), /"level":"warn","message":"welcome"/)
  const [bridge = 0] = bridgesOf(cluster.workers)
  cluster.workers.signal('SIGKILL')
  await until('the bridge is gone', () => !isAlive(bridge))
})

pythonTest('exceptions that contain others are looked into', async (t) => {
  const faults = { wrapExceptions: true }
  const { address, workers } = await startCluster(t, { instances: 6, faults, args: DEBUG })
  const { error, chain } = await symphonySession(t, address, workers)
  assert.deepEqual(error, ['ValueError', ['boom'], 'fail', null])
  assert.deepEqual(chain, ['OwnError', ['chained', '1'], 'fail_in_chain', 'ValueError'])
})

pythonTest('a task that Symphony fails, or that ends its process, fails', async (t) => {
  const { address } = await startCluster(t, { faults: { failedTasks: 1 } })
  const { died } = (await sessionOf(startScript(t, 'client_died.py', address))) as {
    readonly died: readonly string[]
  }
  assert.equal(died.length, 2)
  assert.match(died[0] ?? '', /^ProcessorDiedError: .*failed in Symphony.*the host of the task/)
  assert.match(died[1] ?? '', /^ProcessorDiedError: .*failed in Symphony.*has exited: 3/)
})

pythonTest('the workers return to a scheduler that was killed and restarted', async (t) => {
  const { scheduler, address, workers } = await startCluster(t, { baseConcurrency: 2 })
  await workers.logged(/connected to the scheduler/)
  const first = startScript(t, 'client_many.py', address, '1000')
  await first.logged(/submitted/)
  scheduler.signal('SIGKILL')
  await workers.logged(/lost the connection to the scheduler/)
  await startScheduler(t, address)
  const client = startScript(t, 'client_many.py', address, '50')
  assert.deepEqual(await sessionOf(client), { squares: true })
  assert.equal(bridgesOf(workers).length, 1)
})

pythonTest('the workers work on a scheduler of 1.9.9', async (t) => {
  const { address } = await startPythonScheduler(t)
  const workers = startSymphonyCluster(t, { address, instances: 6, args: DEBUG })
  const seen = await symphonySession(t, address, workers)
  assert.deepEqual(seen['error'], ['ValueError', ['boom'], 'fail', null])
  assert.deepEqual([seen['queued_ran'], seen['after_cancel'], seen['nested']], [false, 2, 5])
  workers.signal('SIGTERM')
  assert.equal(await workers.exitCode(), 143)
})

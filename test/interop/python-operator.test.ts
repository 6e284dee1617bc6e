// Operators of our scheduler, with Python clients and workers of 1.9.9.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { until } from '../integration/condition.js'
import { startCommand } from './program.js'
import { pythonTest, startPythonCluster, startScript } from './python.js'

interface Row {
  readonly task: string
  readonly name: string
  readonly state: string
  readonly seconds: number
  readonly worker: string
  readonly host: string
}

/** What a command of ours prints, and its exit code. */
async function run(t: TestContext, ...args: readonly string[]): Promise<[string, number]> {
  const command = startCommand(t, 'scaler', args)
  const code = await command.exitCode()
  return [command.log(), code ?? -1]
}

/** The tasks that `scaler tasks` says are running. */
async function runningTasks(t: TestContext, address: string): Promise<readonly Row[]> {
  const [text] = await run(t, 'tasks', address, '--json', '--filter', 'state=running')
  return JSON.parse(text) as readonly Row[]
}

pythonTest('operators see and cancel what a Python worker runs', async (t) => {
  const scheduler = startCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0'])
  const [, address = ''] = await scheduler.logged(/"address":"([^"]+)"/)
  startPythonCluster(t, address, 1)
  const client = startScript(t, 'client_operated.py', address)
  await client.logged(/submitted/)
  let rows: readonly Row[] = []
  await until('a running task', async () => {
    rows = await runningTasks(t, address)
    return rows.length > 0
  })
  const [row] = rows
  assert.deepEqual(
    rows.map(({ name, state }) => [name, state]),
    [['hold', 'running']],
  )
  assert.ok(row !== undefined && row.seconds >= 0)
  const [workers] = await run(t, 'workers', address, '--json')
  const [worker] = JSON.parse(workers) as [{ running: readonly Row[] }]
  assert.deepEqual(
    worker.running.map(({ task }) => task),
    [row.task],
  )
  const [pid, name = ''] = row.worker.split('|')
  for (const [command, what] of [
    ['logs', 'the output of its scaler_cluster'],
    ['stack', 'py-spy dump --pid '],
    ['drain', `SIGINT to its process ${pid} `],
  ] as const) {
    const [said, code] = await run(t, command, name, '--address', address)
    assert.ok(code === 1 && said.includes(what), said)
  }
  assert.match((await run(t, 'cancel', row.task, '--address', address))[0], /^cancelled .*hold/)
  const [, text = ''] = await client.logged(/session (.*)\n/)
  assert.deepEqual(JSON.parse(text), {
    // That is what a Python client makes of a TaskResult `canceled`.
    held: 'DisconnectedError',
    waiting: 2,
    own: 'CancelledError',
    after: 3,
    had_to_wait: true,
    failed: 'ValueError',
  })
  assert.equal(await client.exitCode(), 0)
  // Its worker does not tell the error.
  assert.match((await run(t, 'failures', address))[0], /\nfail\(\) – /)
  // What `drain` says ends the worker properly.
  process.kill(Number(pid), 'SIGINT')
  await until('no worker', async () => {
    return (await run(t, 'workers', address))[0] === 'no workers\n'
  })
})

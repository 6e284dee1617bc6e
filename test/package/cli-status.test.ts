// `scaler status`: the state of a cluster on a terminal, for programs, and again and again.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { Client, Cluster, type ClusterInfo, Scheduler } from 'scaler-ts'
import { runCommand, startCommand } from './command.js'

type Outcome = Awaited<ReturnType<typeof runCommand>>

function status(t: TestContext, ...args: readonly string[]): Promise<Outcome> {
  return runCommand(t, 'scaler', ['status', ...args])
}

test('a cluster that works is shown with its workers', async (t) => {
  await using client = await Client.local({ workers: 2 })
  await client.submit(function price(): number {
    return 1
  })
  const { code, stdout, stderr } = await status(t, client.address)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^well: 2 workers on 1 host; 0 running, 0 waiting\n/)
  assert.match(stdout, /^price\(\) +1 +0 /m)
  assert.match(stdout, /^tasks +0 waiting, 0 running\n +1 succeeded, 0 failed, 0 cancelled$/m)
  for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line)
  assert.doesNotMatch(stdout, /\u001b/)
})

test('what is wrong comes first, with what to do', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  const lonely = await status(t, address)
  assert.deepEqual([lonely.code, lonely.stderr], [0, ''])
  assert.match(
    lonely.stdout,
    /^attention: there are no workers; start JavaScript workers: scaler_cluster\s+tcp:/,
  )
  await using _cluster = await Cluster.start({ address, workers: 1 })
  await using client = await Client.connect(address)
  const waiting = client.with({ capabilities: { gpu: 1 } }).submit(function price() {})
  // The answer shows that the scheduler has the task.
  assert.equal((await waiting.explain()).reason, 'no-capability')
  const { stdout } = await status(t, address)
  assert.match(stdout, /^attention: 1 task of price\(\) waits: no worker offers gpu=1;\s+start one/)
  waiting.cancel()
})

test('--json prints what client.info() returns', async (t) => {
  await using client = await Client.local({ workers: 1 })
  const { code, stdout } = await status(t, client.address, '--json')
  assert.equal(code, 0)
  const printed = JSON.parse(stdout) as Record<keyof ClusterInfo, unknown>
  const info = JSON.parse(JSON.stringify(await client.info())) as Record<string, unknown>
  assert.deepEqual(Object.keys(printed), Object.keys(info))
  assert.equal((printed.hosts as ClusterInfo['hosts'])[0]?.workers.length, 1)
})

test('--watch prints it once per second until it is stopped', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const command = startCommand(t, 'scaler', ['status', scheduler.address, '--watch', '--json'])
  await command.line(({ tasks }) => tasks !== undefined)
  const lines = (): number => command.stdout().split('\n').length
  const before = lines()
  while (lines() < before + 2)
    await new Promise((resolve) => command.child.stdout?.once('data', resolve))
  command.child.kill('SIGINT')
  const end = await command.ended
  assert.deepEqual([end.code, end.stderr], [130, ''])
})

test('--watch survives that its scheduler is away', async (t) => {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  const flags = ['--watch', '--json', '--timeout-seconds', '0.5']
  const command = startCommand(t, 'scaler', ['status', address, ...flags])
  await command.line(({ tasks }) => tasks !== undefined)
  const told = once(command.child.stderr ?? command.child, 'data')
  await scheduler.close()
  await told
  const before = command.stdout().length
  await using _again = await Scheduler.start({ address })
  while (command.stdout().length === before)
    await once(command.child.stdout ?? command.child, 'data')
  command.child.kill('SIGINT')
  const end = await command.ended
  assert.equal(end.code, 130)
  assert.match(end.stderr, /^scaler status: [^\n]+; trying again\n$/)
})

test('--watch ends when nothing reads its output any more', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const command = startCommand(t, 'scaler', ['status', '--address', scheduler.address, '--watch'])
  command.child.stdout?.once('data', () => command.child.stdout?.destroy())
  const end = await command.ended
  assert.deepEqual([end.code, end.stderr], [0, ''])
})

test('an address without a scheduler is one line and exit code 1', async (t) => {
  const end = await status(t, 'tcp://127.0.0.1:1', '--timeout-seconds', '0.5')
  assert.deepEqual([end.code, end.stdout], [1, ''])
  assert.match(end.stderr, /^scaler status: no scheduler at tcp:\/\/127\.0\.0\.1:1 [^\n]+\n$/)
})

for (const args of [
  [],
  ['tcp://127.0.0.1:1', '--timeout-seconds', '0'],
  ['tcp://127.0.0.1:1', '--wach'],
]) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ')}`, async (t) => {
    const end = await runCommand(t, 'scaler', ['status', ...args], { SCALER_ADDRESS: '' })
    assert.deepEqual([end.code, end.stdout], [2, ''])
    assert.match(end.stderr, /^scaler status: [^\n]+\n$/)
  })
}

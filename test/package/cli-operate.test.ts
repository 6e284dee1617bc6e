// `scaler explain` and `scaler cancel` on a real cluster.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, Cluster, Scheduler, TaskCancelledError } from 'scaler-ts'
import { until } from '../integration/condition.js'
import { runCommand } from './command.js'

const price = (x: number): number => {
  if (x < 0) throw new RangeError(`no price for ${x}`)
  return x
}

const endless = async (): Promise<void> => {
  await new Promise(() => setInterval(() => {}, 1_000))
}

/** Runs a command and returns its exit code and output. */
async function run(t: TestContext, ...args: readonly string[]): Promise<readonly unknown[]> {
  const { code, stdout, stderr } = await runCommand(t, 'scaler', args)
  return [code, stdout, stderr]
}

test('explain: a waiting, a running and a failed task, and unknown ids', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 1 })
  await using client = new Client(address)
  const failed = client.submit(price, -1)
  await assert.rejects(failed, RangeError)
  const waiting = client.with({ capabilities: { gpu: 1 } }).submit(price, 1)
  const forever = client.submit(endless)
  await until('the task runs', () => forever.state === 'running', 60_000)
  const explain = (id: string, ...more: string[]): Promise<readonly unknown[]> =>
    run(t, 'explain', id, '--address', address, ...more)

  const [, text] = await explain(waiting.id)
  assert.match(
    String(text),
    /^[0-9a-f]{32} \(price\(\)\): waiting for .+\n {2}reason {3}no-capability: .+gpu=1\n/,
  )
  const [code, json] = await explain(forever.id.slice(0, 8), '--json')
  const { task, state, attempts } = JSON.parse(String(json)) as Record<string, unknown>
  assert.deepEqual([code, task, state], [0, forever.id, 'running'])
  assert.equal((attempts as { outcome: string }[])[0]?.outcome, 'running')
  const [, story] = await explain(failed.id)
  assert.match(
    String(story),
    /: failed .+ ago\n(.*\n)* {2}attempt {2}failed, .+\n {2}error {4}RangeError: no price for -1\n/,
  )
  assert.deepEqual(await explain('abcdef0123'), [
    1,
    '',
    'scaler explain: task abcdef0123 is unknown: the scheduler knows unfinished tasks and the last 1,000 failed ones\n',
  ])
  const [tooShort, , why] = await explain('a')
  assert.deepEqual([tooShort, /at least 4 digits/.test(String(why))], [1, true])
})

test('cancel: tasks of another client; a protected scheduler refuses', async (t) => {
  for (const isProtected of [false, true]) {
    await using scheduler = await Scheduler.start({
      address: 'tcp://127.0.0.1:0',
      protected: isProtected,
    })
    const { address } = scheduler
    await using client = new Client(address)
    const future = client.submit(price, 1)
    const outcome = future.then(
      () => 'done',
      (error: unknown) => error,
    )
    await until('it is queued', () => future.state === 'queued', 60_000)
    const result = await run(t, 'cancel', future.id, 'abcdef0123', '--address', address)
    if (isProtected) {
      assert.deepEqual(result.slice(0, 2), [1, ''])
      assert.match(String(result[2]), /protected mode/)
      assert.equal(future.state, 'queued')
      future.cancel()
      await outcome
    } else {
      assert.deepEqual(result.slice(0, 2), [1, `cancelled ${future.id} (price())\n`])
      assert.match(String(result[2]), /^scaler cancel: task abcdef0123 is unknown/)
      const error = await outcome
      assert.ok(error instanceof TaskCancelledError)
      assert.match(error.message, /cancelled by an operator/)
    }
  }
})

// `scaler workers`, `tasks`, `clients`, `objects` and `failures` on a real cluster.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, Cluster, Scheduler } from 'scaler-ts'
import { until } from '../integration/condition.js'
import { runCommand } from './command.js'

test('lists show what runs, waits and has failed, sorted and filtered', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 2, heartbeatIntervalMs: 100 })
  await using client = new Client(address, { name: 'lister' })
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(t, 'scaler', args)
    assert.deepEqual([code, stderr], [0, ''])
    for (const line of stdout.split('\n')) {
      if (!args.includes('--json')) assert.ok(line.length <= 80, line)
    }
    return stdout
  }
  assert.equal(await run('tasks', address), 'no tasks\n')
  assert.equal(await run('failures', scheduler.monitorAddress, '--json'), '[]\n')
  const price = (x: number): number => {
    if (x < 0) throw new RangeError(`no price for ${x}`)
    return x
  }
  for (const x of [-1, -2]) await assert.rejects(client.submit(price, x))
  const waiting = client.with({ capabilities: { gpu: 1 } }).submit(price, 1)
  const forever = client.submit(async function endless() {
    await new Promise(() => setInterval(() => {}, 1_000))
  })
  const isShown = async (): Promise<boolean> => {
    return (await client.info()).hosts.some(({ workers }) => {
      return workers.some(({ running }) => running.length > 0)
    })
  }
  await until('the task runs', isShown, 60_000)

  const workers = await run('workers', address, '--filter', 'state=busy')
  assert.match(workers, /^worker +state +queued +cpu +memory +lag( +running)?\n\d+\|.+ busy +0 /)
  assert.equal(workers.split('\n').length, 3)
  const tasks = await run('tasks', address, '--sort', '-state')
  assert.match(tasks, /^name +state +count +for +task( .*)?\nendless\(\) +running +1 /)
  assert.match(tasks, /^price\(\) +no-capability +1 /m)
  const [row] = JSON.parse(await run('tasks', address, '--json', '--filter=name=price')) as [object]
  assert.deepEqual(
    { ...row, seconds: 0 },
    {
      task: null,
      name: 'price',
      state: 'no-capability',
      requirement: 'gpu=1',
      count: 1,
      seconds: 0,
      worker: null,
      host: null,
      client: null,
      clientName: null,
    },
  )
  assert.match(tasks, /\n.*: --waiting 20\n$/)
  const oldest = ['--waiting', '5', '--filter', 'state=no-capability']
  const [one, ...more] = JSON.parse(await run('tasks', address, '--json', ...oldest)) as [object]
  assert.deepEqual(
    [{ ...one, seconds: 0, client: '' }, more],
    [
      {
        task: waiting.id,
        name: 'price',
        state: 'no-capability',
        requirement: 'gpu=1',
        count: 1,
        seconds: 0,
        worker: null,
        host: null,
        client: '',
        clientName: 'lister',
      },
      [],
    ],
  )
  const listed = await run('tasks', address, '-w', '5')
  assert.match(listed, new RegExp(`^price\\(\\) .* ${waiting.id.slice(0, 8)} +gpu=1 +lister$`, 'm'))
  assert.match(listed, /^endless\(\) +running /m)
  assert.match(await run('clients', address), /^client .*\nlister \(\d+\) /)
  const table = client.sendObject(new Uint8Array(2_000_000), { name: 'table' })
  await client.with({ name: 'user' }).submit((bytes: Uint8Array) => bytes.length, table)
  const objects = await run('objects', address, '--filter', 'size>1MB')
  assert.match(objects, /^object +name +size .*\n[\da-f]{8} +table +2.0 MB .* 1 +lister/)
  const [stored] = JSON.parse(await run('objects', address, '--json', '-n', '1')) as [object]
  const [told] = await client.objects()
  assert.ok(told !== undefined)
  assert.deepEqual({ ...stored, ageMs: 0 }, { ...told, ageMs: 0, ownerName: 'lister' })
  const failures = await run('failures', address, '--limit', '1')
  assert.match(failures, /^failure .*\nprice\(\) RangeError: no price for -2 .*\n… 1 more/)
  const filters = ['--filter', 'message~-1', '--filter', 'error=rangeerror']
  const [failure, ...others] = JSON.parse(
    await run('failures', address, '--json', ...filters),
  ) as readonly { readonly message: string }[]
  assert.deepEqual([failure?.message, others], ['no price for -1', []])
  assert.equal(await run('failures', address, '-f', 'name=x'), 'no failures that match\n')
  waiting.cancel()
  forever.cancel()
  await assert.rejects(forever)
})

for (const [args, message] of [
  [['--sort', 'size'], /^scaler workers: --sort: unknown column "size"; there are worker, state/],
  [['--filter', 'state is'], /^scaler workers: --filter: expected COLUMN=VALUE/],
  [['--filter', 'lag>x'], /^scaler workers: --filter: expected a number after lag>/],
  [['--filter', 'cpu=abc'], /^scaler workers: --filter: expected a number after cpu=/],
  [['--sort', '-'], /^scaler workers: --sort: expected a column after -/],
  [['--sort'], /^scaler workers: --sort.*: expected a value/],
] as const) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ')}`, async (t) => {
    const end = await runCommand(t, 'scaler', ['workers', 'tcp://127.0.0.1:1', ...args])
    assert.deepEqual([end.code, end.stdout], [2, ''])
    assert.match(end.stderr, message)
    assert.equal(end.stderr.split('\n').length, 2)
  })
}

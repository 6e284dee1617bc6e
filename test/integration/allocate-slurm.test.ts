// An allocator with a real Slurm.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { allLeft, allocate, decisions, record, runTasks, workersOf } from './allocation.js'
import { until } from './condition.js'
import { NO_SLURM as skip, Slurm } from './slurm.js'

test('a real Slurm', { skip }, async (t) => {
  const slurm = await Slurm.start(t)
  const env = slurm.env
  const output = ['--output-directory', slurm.folder]

  await t.test('from an empty queue to an empty queue, more jobs than fit', async (t2) => {
    const cluster = await TestCluster.start(t2, { agents: [], env })
    const limits = ['--max-workers', '6', '--backlog-seconds', '5']
    const allocator = allocate(cluster, 'slurm', [...limits, ...output])
    const seen = watchQueue(t2, slurm)
    const ran = await runTasks(cluster, 2_000)
    // 30 seconds after `--idle-seconds`.
    await until('the queue is empty', () => slurm.jobs().length === 0, 32_000)
    assert.deepEqual([ran.length, new Set(ran).size], [2_000, 2_000])
    assert.ok(seen.size > 4, `only ${seen.size} jobs`)
    assert.ok(decisions(allocator, 'start').length > 0)
    await allLeft(cluster)
  })

  await t.test('a job that is cancelled in the middle loses nothing', async (t2) => {
    const cluster = await TestCluster.start(t2, { agents: [], env })
    allocate(cluster, 'slurm', ['--max-workers', '2', '--backlog-seconds', '1', ...output])
    const client = cluster.client()
    const path = join(cluster.folder, 'runs')
    const inputs = Array.from({ length: 300 }, (_, at) => [path, at] as const)
    const results = client.starmap(record, inputs)
    await until('tasks run', () => existsSync(path))
    slurm.cancelJobs()
    assert.equal((await results).length, 300)
    const ran = readFileSync(path, 'utf8').trim().split('\n')
    assert.equal(new Set(ran).size, 300)
    await cluster.removeFile('runs')
    await until('the queue is empty', () => slurm.jobs().length === 0, 40_000)
  })

  await t.test('a restart of its slurmctld neither ends workers nor asks twice', async (t2) => {
    const cluster = await TestCluster.start(t2, { agents: [], env })
    const client = cluster.client()
    const allocator = allocate(cluster, 'slurm', ['--min-workers', '1', ...output])
    await until('a worker', async () => (await workersOf(client)) === 1, 40_000)
    await slurm.stop('ctld')
    await allocator.line(({ message }) => message === 'the provider could not list its units')
    slurm.startCtld()
    const listed = (): boolean => slurm.jobs().length === 1
    await until('the job is still there', listed, 40_000)
    assert.equal(await workersOf(client), 1)
    assert.equal(decisions(allocator, 'start').length, 1)
    await allocator.kill()
    await emptied(slurm)
  })

  await t.test('an allocator that starts again with a full queue asks for nothing', async (t2) => {
    const cluster = await TestCluster.start(t2, { agents: [], env })
    const client = cluster.client()
    const args = ['--min-workers', '5', ...output]
    const first = allocate(cluster, 'slurm', args)
    await until('four workers', async () => (await workersOf(client)) === 4, 60_000)
    const jobs = slurm.jobs()
    assert.equal(jobs.length, 5)
    await first.kill()
    const second = allocate(cluster, 'slurm', args)
    await second.line(({ message }) => message === 'wait: no work waits')
    assert.deepEqual(slurm.jobs(), jobs)
    assert.equal(decisions(second, 'start').length, 0)
    await second.kill()
    await emptied(slurm)
  })
})

test('time limits', { skip, concurrency: 3 }, async (t) => {
  const slurm = await Slurm.start(t)

  /** Runs tasks in jobs for one worker each, and returns the state in which the first job ended. */
  const stateOfFirst = async (
    t2: TestContext,
    name: string,
    { tasks, args }: { readonly tasks: number; readonly args: readonly string[] },
  ): Promise<string> => {
    const cluster = await TestCluster.start(t2, { agents: [], env: slurm.env })
    const common = ['--name', name, '--max-workers', '1', '--output-directory', slurm.folder]
    allocate(cluster, 'slurm', [...common, ...args])
    const seen = watchQueue(t2, slurm, `scaler-${name}`)
    const ran = await runTasks(cluster, tasks)
    assert.deepEqual([ran.length, new Set(ran).size], [tasks, tasks])
    await allLeft(cluster)
    assert.ok(seen.size > 1, 'one job has done everything')
    return slurm.field([...seen][0] ?? '', 'JobState')
  }

  await Promise.all([
    t.test('workers end before the limit of their job, which they know', async (t2) => {
      const args = ['--sbatch-args=--time=1']
      assert.equal(await stateOfFirst(t2, 'known', { tasks: 1_300, args }), 'COMPLETED')
    }),
    t.test('the limit ends a job whose workers do not know it', async (t2) => {
      const args = ['--sbatch-args=--time=1', '--preamble', 'unset SLURM_JOB_END_TIME']
      assert.equal(await stateOfFirst(t2, 'unknown', { tasks: 2_200, args }), 'TIMEOUT')
    }),
    t.test('workers end on their own', async (t2) => {
      const args = ['--lifetime-seconds', '30']
      assert.equal(await stateOfFirst(t2, 'own', { tasks: 700, args }), 'COMPLETED')
    }),
  ])
})

/** The jobs that are ever in the queue, in their order. */
function watchQueue(t: TestContext, slurm: Slurm, name = ''): ReadonlySet<string> {
  const seen = new Set<string>()
  const timer = setInterval(() => {
    for (const job of slurm.jobs(name)) seen.add(job)
  }, 1_000)
  t.after(() => clearInterval(timer))
  return seen
}

async function emptied(slurm: Slurm): Promise<void> {
  slurm.cancelJobs()
  await until('the queue is empty', () => slurm.jobs().length === 0, 40_000)
}

// Tasks of a Python client bring Python workers, which leave once they are idle.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import type { Program } from '../chaos/program.js'
import { allLeft, allocate, decisions, filesGone } from '../integration/allocation.js'
import { until } from '../integration/condition.js'
import { NO_SLURM, Slurm } from '../integration/slurm.js'
import { BIN, pythonTest, startScript } from './python.js'

const WORKERS = `${join(BIN, 'scaler_cluster')} -n {workers} -wn {names} {address}`
const FLAGS = ['--worker-command', WORKERS, '--worker-runtime', 'python', '--workers-per-unit', '2']

/** A session of a Python client, whose tasks run on two workers that an allocator starts. */
async function session(
  t: TestContext,
  provider: string,
  { args = [], env = {} }: { readonly args?: readonly string[]; readonly env?: Slurm['env'] },
): Promise<{ readonly cluster: TestCluster; readonly allocator: Program }> {
  const cluster = await TestCluster.start(t, { agents: [], env })
  const allocator = allocate(cluster, provider, [...FLAGS, '--max-workers', '2', ...args])
  const script = startScript(t, 'client_session.py', cluster.address)
  const [, text = ''] = await script.logged(/session (.*)\n/)
  const seen = JSON.parse(text) as Readonly<Record<string, unknown>>
  assert.deepEqual([seen['submit'], seen['map'], seen['after_error']], [4, true, 2])
  assert.equal(await script.exitCode(), 0)
  await allLeft(cluster)
  const [start, ...others] = decisions(allocator, 'start')
  assert.match(String(start?.['message']), /^start 1 unit: /)
  assert.deepEqual(others, [])
  return { cluster, allocator }
}

pythonTest('processes here', async (t) => {
  const { cluster } = await session(t, 'local', {})
  await filesGone(cluster)
})

pythonTest('jobs of Slurm', async (t) => {
  if (NO_SLURM !== false) return t.skip(NO_SLURM)
  const slurm = await Slurm.start(t)
  const args = ['--output-directory', slurm.folder]
  const { allocator } = await session(t, 'slurm', { env: slurm.env, args })
  await until('the queue is empty', () => slurm.jobs().length === 0, 32_000)
  // It waits for a last list: without its controller, that would take long.
  allocator.signal('SIGTERM')
  await allocator.ended
})

// Allocators as commands: workers come when there is work and leave when there is none, whatever
// starts them; nothing is asked for twice.

import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import {
  allocate,
  decisions,
  filesGone,
  record,
  runAndLeave,
  SCALER,
  workersOf,
} from './allocation.js'
import { until } from './condition.js'

test('from nothing, tasks bring local workers; each runs once; the workers leave', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const allocator = allocate(cluster, 'local', ['--max-workers', '3', '--backlog-seconds', '1'])
  const lines = await runAndLeave(cluster, 200)
  assert.equal(new Set(lines).size, 200)
  assert.equal(lines.length, 200)
  assert.ok(decisions(allocator, 'start').length > 0)
  assert.ok(decisions(allocator, 'drain').length > 0)
  await filesGone(cluster)
})

test('an allocator that is killed and started again asks for nothing twice', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const client = cluster.client()
  const first = allocate(cluster, 'local', ['--min-workers', '2'])
  await until('two workers', async () => (await workersOf(client)) === 2)
  await first.kill()
  const second = allocate(cluster, 'local', ['--min-workers', '2'])
  await second.line(({ message }) => message === 'wait: no work waits')
  assert.equal(decisions(second, 'start').length, 0)
  assert.equal(await workersOf(client), 2)
  await second.kill()
  const third = allocate(cluster, 'local', [])
  await third.line(({ message }) => String(message).startsWith('drain 2 units'))
  await until('all workers have left', async () => (await workersOf(client)) === 0)
  await filesGone(cluster)
})

test('an allocator says why it cannot connect, and goes on when the scheduler is back', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const allocator = allocate(cluster, 'local', ['--max-workers', '1', '--backlog-seconds', '1'])
  await allocator.line(({ message }) => String(message).startsWith('wait: '))
  await cluster.scheduler.kill()
  const told = await allocator.line(({ message }) => {
    return message === 'cannot connect to the scheduler; trying again'
  })
  assert.match(String(told['reason']), /ECONNREFUSED/)
  assert.equal(told['address'], cluster.address)
  await cluster.restartScheduler()
  assert.equal((await runAndLeave(cluster, 20)).length, 20)
  await filesGone(cluster)
})

test('without its allocator, a worker leaves on its own', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const client = cluster.client()
  // Idle for longer than the allocator lives.
  const args = ['--min-workers', '1', '--idle-seconds', '60']
  const own = '--death-timeout-seconds 5 --spare-processors 0 --idle-timeout-seconds 3'
  const allocator = allocate(cluster, 'local', [...args, `--worker-args=${own}`])
  await until('a worker', async () => (await workersOf(client)) === 1)
  await allocator.kill()
  await until('it has left', async () => (await workersOf(client)) === 0)
  const last = allocate(cluster, 'local', [])
  await last.line(({ message }) => String(message).startsWith('wait: '))
  await filesGone(cluster)
})

test('a dry run prints decisions as JSON and starts nothing', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const client = cluster.client()
  void client
    .submit(record, '/nowhere', 1)
    .result()
    .catch(() => {})
  const allocator = allocate(cluster, 'local', ['--dry-run', '--json'])
  const { time, ...line } = await allocator.line(({ action }) => action === 'start')
  assert.ok(!Number.isNaN(Date.parse(String(time))))
  assert.deepEqual(line, {
    provider: 'local',
    action: 'start',
    units: 1,
    reason: '1 task waits: 1 worker needed, 1 missing',
    waitingTasks: 1,
    waitingSeconds: 0,
    workers: 0,
    pending: 1,
  })
  assert.equal(await workersOf(client), 0)
  await client.clear()
})

test('operators list, pause and resume allocators; a protected scheduler refuses', async (t) => {
  for (const isProtected of [false, true]) {
    const args = isProtected ? ['--protected'] : []
    const cluster = await TestCluster.start(t, { agents: [], schedulerArgs: args })
    const client = cluster.client()
    allocate(cluster, 'local', ['--name', 'night', '--max-workers', '1'])
    const found = async (): Promise<unknown> => (await client.info()).allocators?.[0]?.paused
    await until('it is announced', async () => (await found()) === false)
    const order = async (what: string): Promise<number | null> => {
      const words = [SCALER, 'allocate', what, cluster.address, 'night', '--json']
      return (await cluster.run(what, words).ended).code
    }
    assert.equal(await order('pause'), isProtected ? 1 : 0)
    await until('it is paused', async () => (await found()) === !isProtected)
    if (isProtected) continue
    const path = join(cluster.folder, 'runs')
    const future = client.submit(record, path, 1)
    assert.equal(await order('resume'), 0)
    assert.equal(await future, 1)
    await cluster.removeFile('runs')
    await until('all workers have left', async () => (await workersOf(client)) === 0)
    await filesGone(cluster)
  }
})

/** Shell scripts that stand in for commands of a system, found first in PATH. */
function standIns(t: TestContext, scripts: Readonly<Record<string, string>>): string {
  const folder = join(process.env['TMPDIR'] ?? '/tmp', `stand-in-${process.pid}`)
  mkdirSync(join(folder, 'jobs'), { recursive: true })
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\ncd ${folder}/jobs || exit 1\n${text}`)
    chmodSync(join(folder, name), 0o700)
  }
  return folder
}

/** Whether a process runs; a zombie does not. */
const IS_RUNNING = '[ -n "$(tr -d "\\0" 2>/dev/null < /proc/$p/cmdline)" ]'

const SLURM = {
  sbatch: `
cat > script
n=$(cat count 2>/dev/null || echo 100); n=$((n + 1)); echo $n > count; mv script $n.sh
k=1; last=\${2#--array=1-}
while [ $k -le $last ]; do
  SLURM_ARRAY_JOB_ID=$n SLURM_ARRAY_TASK_ID=$k setsid sh $n.sh > $n.out 2>&1 < /dev/null &
  echo $! > $n.$k.pid; k=$((k + 1))
done
echo "$n;cluster"`,
  squeue: `
for f in *.pid; do
  [ -f "$f" ] || continue
  p=$(cat $f); id=\${f%.pid}
  if ${IS_RUNNING}; then echo "\${id%.*}_\${id#*.}|R"; else rm $f; fi
done`,
  scancel: `for id in "$@"; do kill -TERM $(cat \${id%_*}.\${id#*_}.pid); done`,
}

test('jobs of Slurm, by the commands that stand in for it', async (t) => {
  const folder = standIns(t, SLURM)
  const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}` }
  const cluster = await TestCluster.start(t, { agents: [], env })
  const limits = ['--max-workers', '4', '--workers-per-unit', '2', '--backlog-seconds', '1']
  const allocator = allocate(cluster, 'slurm', limits)
  const lines = await runAndLeave(cluster, 200)
  assert.deepEqual([lines.length, new Set(lines).size], [200, 200])
  const script = readFileSync(join(folder, 'jobs', '101.sh'), 'utf8')
  assert.match(script, /^#!\/bin\/sh\n#SBATCH --job-name=scaler-slurm\n/)
  assert.match(script, /\n#SBATCH --cpus-per-task=2\n/)
  assert.ok(decisions(allocator, 'start').length > 0)
})

test('units by commands of the user', async (t) => {
  const folder = standIns(t, {
    submit: `
cp "$1" $2.sh; setsid sh $2.sh > $2.out 2>&1 < /dev/null &
echo $! > $2.pid; echo "submitted $2"`,
    list: `
for f in $1*.pid; do
  [ -f "$f" ] || continue
  p=$(cat $f); if ${IS_RUNNING}; then echo "\${f%.pid} \${f%.pid} R"; else rm $f; fi
done`,
    cancel: `kill -TERM $(cat $1.pid)`,
  })
  const cluster = await TestCluster.start(t, { agents: [] })
  const commands = {
    submit: '{script} {name}',
    list: '{name}',
    cancel: '{id}',
  }
  const flags = Object.entries(commands).flatMap(([name, words]) => {
    return [`--${name}-command`, `${folder}/${name} ${words}`]
  })
  const allocator = allocate(cluster, 'command', ['--max-workers', '2', ...flags])
  const lines = await runAndLeave(cluster, 60)
  assert.deepEqual([lines.length, new Set(lines).size], [60, 60])
  assert.ok(decisions(allocator, 'start').length > 0)
})

test('a provider that fails is reported, with its output, and asked less often', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const client = cluster.client()
  void client
    .submit(record, '/nowhere', 1)
    .result()
    .catch(() => {})
  const command = ['--worker-command', `sh -c 'echo no licence for "$0"' {allocation}`]
  const allocator = allocate(cluster, 'local', command)
  const line = await allocator.line(({ message }) => String(message).startsWith('back-off: '))
  assert.match(String(line['message']), /^back-off: 1 failed start: [\da-f]{8}: it ended without/)
  const problem = async (): Promise<string> => (await client.info()).allocators?.[0]?.problem ?? ''
  await until('it is announced', async () => (await problem()).includes('no licence for local/'))
  await client.clear()
  await allocator.kill()
})

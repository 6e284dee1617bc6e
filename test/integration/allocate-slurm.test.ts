// An allocator with a real Slurm: one slurmctld and one node on loopback, as root.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { allocate, decisions, record, runAndLeave, workersOf } from './allocation.js'
import { until } from './condition.js'

const PROGRAMS = ['slurmctld', 'slurmd', 'sbatch', 'munged']
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`
const missing = PROGRAMS.filter(
  (name) => !PATH.split(':').some((dir) => existsSync(join(dir, name))),
)
const isRoot = process.getuid?.() === 0
const skip = missing.length > 0 ? `no ${missing.join(', ')}` : isRoot ? false : 'needs root'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A Slurm of its own. */
class Slurm {
  readonly folder = mkdtempSync(join(tmpdir(), 'slurm-'))
  readonly env: Readonly<Record<string, string>> = {
    SLURM_CONF: join(this.folder, 'slurm.conf'),
    PATH,
  }

  static async start(t: TestContext): Promise<Slurm> {
    const slurm = new Slurm()
    t.after(() => slurm.#end())
    for (const name of ['state', 'spool']) mkdirSync(join(slurm.folder, name))
    const ports = [await freePort(), await freePort()] as const
    writeFileSync(join(slurm.folder, 'slurm.conf'), slurm.#config(...ports))
    slurm.#startMunge()
    slurm.startCtld()
    slurm.run('slurmd', '-f', join(slurm.folder, 'slurm.conf'))
    await until(
      'the node is idle',
      () => slurm.run('sinfo', '-h', '-o', '%t').trim() === 'idle',
      60_000,
    )
    return slurm
  }

  /** Runs one of its commands, and returns what it prints. */
  run(name: string, ...args: readonly string[]): string {
    const env = { ...process.env, ...this.env }
    return execFileSync(name, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }

  jobs(): readonly string[] {
    return this.run('squeue', '-r', '-h', '-o', '%i').split('\n').filter(Boolean)
  }

  startCtld(): void {
    this.run('slurmctld', '-f', join(this.folder, 'slurm.conf'))
  }

  async stop(name: 'ctld' | 'd'): Promise<void> {
    const file = join(this.folder, `${name}.pid`)
    if (!existsSync(file)) return
    const pid = Number(readFileSync(file, 'utf8'))
    process.kill(pid, 'SIGTERM')
    await until(`${name} has ended`, () => !isRunning(pid))
  }

  #startMunge(): void {
    mkdirSync('/run/munge', { recursive: true })
    const socket = join(this.folder, 'munge.socket')
    const files = ['pid-file', 'log-file', 'seed-file'].map((kind) => {
      return `--${kind}=${join(this.folder, kind)}`
    })
    const started = spawnSync('munged', ['--force', `--socket=${socket}`, ...files], {
      env: { PATH },
    })
    assert.equal(started.status, 0, started.stderr.toString())
  }

  async #end(): Promise<void> {
    await this.stop('ctld')
    await this.stop('d')
    const munge = Number(readFileSync(join(this.folder, 'pid-file'), 'utf8'))
    process.kill(munge, 'SIGTERM')
    await until('munged has ended', () => !isRunning(munge))
    rmSync(this.folder, { recursive: true, force: true })
  }

  #config(ctldPort: number, nodePort: number): string {
    const { folder } = this
    const host = hostname()
    const settings = {
      ClusterName: 'test',
      SlurmctldHost: `${host}(127.0.0.1)`,
      AuthType: 'auth/munge',
      AuthInfo: `socket=${folder}/munge.socket`,
      SlurmUser: 'root',
      SlurmdUser: 'root',
      StateSaveLocation: `${folder}/state`,
      SlurmdSpoolDir: `${folder}/spool`,
      SlurmctldPidFile: `${folder}/ctld.pid`,
      SlurmdPidFile: `${folder}/d.pid`,
      SlurmctldLogFile: `${folder}/ctld.log`,
      SlurmdLogFile: `${folder}/d.log`,
      SlurmctldPort: ctldPort,
      SlurmdPort: nodePort,
      ProctrackType: 'proctrack/linuxproc',
      TaskPlugin: 'task/none',
      SelectType: 'select/cons_tres',
      SelectTypeParameters: 'CR_Core',
      ReturnToService: 2,
      MpiDefault: 'none',
      JobAcctGatherType: 'jobacct_gather/none',
      AccountingStorageType: 'accounting_storage/none',
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
    const node = `NodeName=${host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN`
    const partition = `PartitionName=main Nodes=${host} Default=YES MaxTime=INFINITE State=UP`
    return [...lines, node, partition, ''].join('\n')
  }
}

/** Whether a process runs; a zombie does not. */
function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

test('a real Slurm', { skip }, async (t) => {
  const slurm = await Slurm.start(t)
  const env = slurm.env
  const output = ['--output-directory', slurm.folder]

  await t.test('from an empty queue to an empty queue, more jobs than fit', async (t2) => {
    const cluster = await TestCluster.start(t2, { agents: [], env })
    const allocator = allocate(cluster, 'slurm', [
      '--max-workers',
      '4',
      '--backlog-seconds',
      '1',
      ...output,
    ])
    const lines = await runAndLeave(cluster, 400)
    assert.deepEqual([lines.length, new Set(lines).size], [400, 400])
    await until('the queue is empty', () => slurm.jobs().length === 0, 40_000)
    assert.ok(decisions(allocator, 'start').length > 0)
  })

  await t.test('a job that is cancelled in the middle loses nothing', async (t2) => {
    const cluster = await TestCluster.start(t2, { agents: [], env })
    allocate(cluster, 'slurm', ['--max-workers', '2', '--backlog-seconds', '1', ...output])
    const client = cluster.client()
    const path = join(cluster.folder, 'runs')
    const inputs = Array.from({ length: 300 }, (_, at) => [path, at] as const)
    const results = client.starmap(record, inputs)
    await until('tasks run', () => existsSync(path))
    slurm.run('scancel', ...slurm.jobs())
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
    slurm.run('scancel', ...slurm.jobs())
    await until('the queue is empty', () => slurm.jobs().length === 0, 40_000)
  })
})

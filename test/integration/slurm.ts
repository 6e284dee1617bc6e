// A real Slurm for tests: one slurmctld and one node on loopback, as root.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until } from './condition.js'

const PROGRAMS = ['slurmctld', 'slurmd', 'sbatch', 'munged']
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`
const missing = PROGRAMS.filter(
  (name) => !PATH.split(':').some((dir) => existsSync(join(dir, name))),
)
const isRoot = process.getuid?.() === 0
/** Why there can be no Slurm here, or false. */
export const NO_SLURM: string | false =
  missing.length > 0 ? `no ${missing.join(', ')}` : isRoot ? false : 'needs root'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A Slurm of its own: a controller and a node, which believes that it has four cores. */
export class Slurm {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'slurm-'))
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

  /** The ids of the jobs that wait or run; `name`: only of those with this name. */
  jobs(name = ''): readonly string[] {
    const lines = this.run('squeue', '-r', '-h', '-S', 'i', '-o', '%i %j').split('\n')
    const jobs = lines.filter((line) => line.endsWith(` ${name}`) || (name === '' && line !== ''))
    return jobs.map((line) => line.split(' ')[0] ?? '')
  }

  /** Cancels all jobs; those that end meanwhile are no error. */
  cancelJobs(...args: readonly string[]): void {
    const jobs = this.jobs()
    if (jobs.length === 0) return
    try {
      this.run('scancel', ...args, ...jobs)
    } catch (error) {
      const left = this.jobs()
      if (jobs.every((job) => left.includes(job))) throw error
    }
  }

  /** What Slurm says about a job: `JobState`, `EndTime`, … */
  field(job: string, name: string): string {
    const pattern = new RegExp(`\\b${name}=(\\S*)`)
    return pattern.exec(this.run('scontrol', 'show', 'job', job))?.[1] ?? ''
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
    try {
      await this.#endJobs()
    } finally {
      await this.#endProcesses()
    }
  }

  async #endProcesses(): Promise<void> {
    await this.stop('ctld')
    await this.stop('d')
    const munge = Number(readFileSync(join(this.folder, 'pid-file'), 'utf8'))
    process.kill(munge, 'SIGTERM')
    await until('munged has ended', () => !isRunning(munge))
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** After a test that has failed: what is left of a job waits for its controller. */
  async #endJobs(): Promise<void> {
    this.cancelJobs('--signal=KILL')
    await until('all jobs have ended', () => this.jobs().length === 0, 60_000)
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
      SlurmdParameters: 'config_overrides',
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
    const node = `NodeName=${host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN`
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

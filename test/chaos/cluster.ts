// A cluster of real commands for tests that break them: a scheduler, which can be restarted on the
// same address, and agents. It ends with its test, which fails if anything is left of it.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client, type ClientOptions } from 'scaler-ts'
import { until } from '../integration/condition.js'
import { Monitor } from './monitor.js'
import { MARK, NO_PROCESS_TABLE, markedProcesses } from './process-table.js'
import { Program, commandPath } from './program.js'

/** How the commands are started. */
export interface ClusterSetup {
  /** Workers of each agent, one number per agent: `[2, 2]`. Default: `[2]`. */
  readonly agents?: readonly number[]
  /** Default: `tcp`. */
  readonly scheme?: 'tcp' | 'tls'
  readonly schedulerArgs?: readonly string[]
  readonly agentArgs?: readonly string[]
  /** Options of Node for all of them. */
  readonly nodeArgs?: readonly string[]
  /** More of their environment. */
  readonly env?: Readonly<Record<string, string>>
  /** A folder that they write into, which is removed when they have ended. */
  readonly dataFolder?: string
}

/** Quick heartbeats: in a test everything is close. */
const AGENT_ARGS = ['--heartbeat-interval', '0.2', '--spare-processors', '0']

/** A scheduler, its agents, and clients in this process. */
export class TestCluster {
  /** Nothing listens here: a restarted scheduler can only know what others tell it. */
  readonly folder: string
  readonly address: string
  readonly monitorAddress: string
  readonly agents: Program[] = []
  scheduler: Program
  readonly #setup: ClusterSetup
  readonly #clients: Client[] = []
  readonly #programs: Program[] = []
  #monitor: Monitor | undefined

  private constructor(folder: string, setup: ClusterSetup, scheduler: Program, at: Addresses) {
    this.folder = folder
    this.#setup = setup
    this.scheduler = scheduler
    this.address = at.address
    this.monitorAddress = at.monitorAddress
    this.#programs.push(scheduler)
  }

  /** Starts everything; resolves when all workers are ready. */
  static async start(t: TestContext, setup: ClusterSetup = {}): Promise<TestCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'sc-'))
    const scheduler = startScheduler(folder, setup, [`${setup.scheme ?? 'tcp'}://127.0.0.1:0`])
    const cluster = new TestCluster(folder, setup, scheduler, await addressesOf(scheduler))
    t.after(() => cluster.#end())
    await Promise.all((setup.agents ?? [2]).map((workers) => cluster.startAgent(workers)))
    return cluster
  }

  /** The environment of everything that belongs to this cluster. */
  get env(): Readonly<Record<string, string>> {
    return { ...this.#setup.env, ...environment(this.folder) }
  }

  /** Another agent; resolves when its workers are ready. */
  async startAgent(workers: number, args: readonly string[] = []): Promise<Program> {
    const agent = this.startAgentInBackground(workers, args)
    await agent.line((line) => String(line['message']).endsWith(' ready'))
    return agent
  }

  /** The same, without waiting for it; `address` may be that of a proxy. */
  startAgentInBackground(
    workers: number,
    args: readonly string[] = [],
    address: string = this.address,
  ): Program {
    const { nodeArgs = [], agentArgs = [] } = this.#setup
    const command = [...nodeArgs, commandPath('scaler-cluster'), '-n', String(workers)]
    const all = [...command, ...AGENT_ARGS, ...agentArgs, ...args, address]
    const agent = this.run(`agent ${this.agents.length}`, all)
    this.agents.push(agent)
    return agent
  }

  /**
   * An object storage server, of which the scheduler learns from it, unless `address` is given;
   * resolves when it can be used.
   */
  async startServer(args: readonly string[] = [], address?: string): Promise<Program> {
    const own = `${this.#setup.scheme ?? 'tcp'}://127.0.0.1:0`
    const where = address === undefined ? [own, '--scheduler', this.address] : [address]
    const command = [...(this.#setup.nodeArgs ?? []), commandPath('scaler-object-storage-server')]
    const server = this.run('server', [...command, ...args, ...where])
    const line = await server.line((each) => 'address' in each)
    const name = String(line['address'])
    await this.scheduler.line(
      ({ message }) => message === `using the object storage server ${name}`,
    )
    return server
  }

  /** Any other program, which ends with the cluster. */
  run(name: string, args: readonly string[]): Program {
    const program = new Program(name, args, this.env)
    this.#programs.push(program)
    return program
  }

  /** A client in this process, which is closed with the cluster. */
  client(options: ClientOptions = {}, address: string = this.address): Client {
    const client = new Client(address, { heartbeatIntervalMs: 200, ...options })
    this.#clients.push(client)
    return client
  }

  /** The scheduler's monitor; one for all. */
  get monitor(): Monitor {
    this.#monitor ??= new Monitor(this.monitorAddress)
    return this.#monitor
  }

  /** A new scheduler on the old address; resolves when it listens. The old one must have ended. */
  async restartScheduler(): Promise<void> {
    const { monitorAddress, address } = this
    const where = ['--monitor-address', monitorAddress, address]
    // An old connection may have the port for a moment.
    for (let round = 0; ; round += 1) {
      this.scheduler = startScheduler(this.folder, this.#setup, where)
      this.#programs.push(this.scheduler)
      try {
        await addressesOf(this.scheduler)
        return
      } catch (error) {
        if (round === 20) throw error
      }
    }
  }

  /** Removes what tasks have left in the folder on purpose. */
  async removeFile(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => rm(join(this.folder, name))))
  }

  /** Ends everything by force, and checks that nothing is left. */
  async #end(): Promise<void> {
    for (const program of this.#programs) program.thaw()
    await Promise.all(this.#clients.map((client) => client.disconnect()))
    await this.#monitor?.close()
    await Promise.all(this.#programs.map((program) => program.kill()))
    try {
      await nothingLeft(this.folder)
    } finally {
      for (const { pid } of leftProcesses(this.folder)) process.kill(pid, 'SIGKILL')
      const { dataFolder = this.folder } = this.#setup
      for (const each of [this.folder, dataFolder]) rmSync(each, { recursive: true, force: true })
    }
  }
}

/**
 * Resolves when no process of a run is left and its folder is empty; rejects if that takes too
 * long.
 */
export async function nothingLeft(folder: string): Promise<void> {
  try {
    await until('the end of all processes', () => leftProcesses(folder).length === 0)
  } catch (error) {
    const commands = leftProcesses(folder).map(({ pid, command }) => `${pid} ${command}`)
    throw new Error(`processes were left: ${commands.join('; ')}`, { cause: error })
  }
  const files = readdirSync(folder)
  if (files.length > 0) throw new Error(`files were left: ${files.join(', ')}`)
}

/** Marks the processes of a run, and makes them put their temporary files into its folder. */
export function environment(folder: string): Readonly<Record<string, string>> {
  return { [MARK]: folder, TMPDIR: folder, TEMP: folder, TMP: folder }
}

function leftProcesses(folder: string): ReturnType<typeof markedProcesses> {
  return NO_PROCESS_TABLE === false ? markedProcesses(folder) : []
}

interface Addresses {
  readonly address: string
  readonly monitorAddress: string
}

function startScheduler(folder: string, setup: ClusterSetup, where: readonly string[]): Program {
  return new Program(
    'scheduler',
    [
      ...(setup.nodeArgs ?? []),
      commandPath('scaler-scheduler'),
      ...(setup.schedulerArgs ?? []),
      ...where,
    ],
    { ...setup.env, ...environment(folder) },
  )
}

async function addressesOf(scheduler: Program): Promise<Addresses> {
  const { monitorAddress } = await scheduler.line((line) => 'monitorAddress' in line)
  const { address } = await scheduler.line((line) => 'address' in line)
  return { address: String(address), monitorAddress: String(monitorAddress) }
}

// The processes of the chaos: a scheduler command, agents and client programs, some of them behind
// proxies. Starts and ends them, knows which exits are expected, and reports all others.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from '../integration/condition.js'
import { environment } from './cluster.js'
import type { Journal } from './journal.js'
import { Monitor } from './monitor.js'
import { Program, commandPath, type Line, type ProgramEnd } from './program.js'
import type { Random } from './random.js'
import type { ClientReport, Tally } from './tally.js'
import { TcpProxy } from './tcp-proxy.js'
import { ALLOCATOR, type Unit, unitsOf } from './unit.js'

const CLIENT = fileURLToPath(new URL('./program/chaos-client.js', import.meta.url))

/** The processes to start. */
export interface StageOptions {
  readonly folder: string
  readonly agents: number
  readonly workersPerAgent: number
  /** Whether an allocator starts the agents, as many as the work needs. */
  readonly isAllocated: boolean
  readonly clients: number
  /** The kinds of work of the clients; none: all. */
  readonly work: readonly string[]
  readonly random: Random
  readonly journal: Journal
  readonly tally: Tally
}

/** Timeouts in the chaos are shorter than the defaults, so that more happens per minute. */
const SCHEDULER_ARGS = ['--protected', '--worker-timeout-seconds=6', '--client-timeout-seconds=20']
const AGENT_ARGS = [
  '--heartbeat-interval=0.5',
  '--death-timeout-seconds=120',
  '--capabilities=gpu=2,linux',
]
const ALLOCATOR_ARGS = [
  '--capabilities=gpu=2,linux',
  '--backlog-seconds=1',
  '--idle-seconds=2',
  '--list-interval-seconds=0.5',
  '--start-timeout-seconds=30',
  '--worker-args=--heartbeat-interval 0.5 --death-timeout-seconds 120',
]
/** The time in which an allocator ends all units, one of which may just have been asked to. */
const LEAVE_MS = 100_000
/** This share of the connections does not use a proxy. */
const DIRECT = 0.3
/** This share of the agents has an object storage server beside the workers. */
const WITH_SERVER = 0.4
/** The time that a program has to shut down gracefully. */
const END_MS = 30_000

/** All running processes. */
export class Stage {
  readonly agents: Set<Program> = new Set()
  readonly clients: Set<Program> = new Set()
  /** At most one. */
  readonly allocators: Set<Program> = new Set()
  /** Object storage servers. */
  readonly servers: Set<Program> = new Set()
  readonly #options: StageOptions
  readonly #proxies: TcpProxy[]
  readonly #expectedEnds = new WeakSet<Program>()
  readonly monitor: Monitor
  readonly #address: string
  readonly #monitorAddress: string
  #scheduler: Program
  #number = 0

  private constructor(options: StageOptions, scheduler: Program, at: Place) {
    this.#options = options
    this.#scheduler = scheduler
    this.#address = at.address
    this.#monitorAddress = at.monitorAddress
    this.#proxies = [...at.proxies]
    this.monitor = new Monitor(at.monitorAddress)
    this.#watch(scheduler)
  }

  /** Starts everything; resolves when the workers are ready. */
  static async start(options: StageOptions): Promise<Stage> {
    const scheduler = newScheduler(options.folder, ['tcp://127.0.0.1:0'])
    const { monitorAddress } = await scheduler.line((line) => 'monitorAddress' in line)
    const address = String((await scheduler.line((line) => 'address' in line))['address'])
    const proxies = [await TcpProxy.start(address), await TcpProxy.start(address)]
    const at = { address, monitorAddress: String(monitorAddress), proxies }
    const stage = new Stage(options, scheduler, at)
    stage.startServer()
    const count = options.isAllocated ? 0 : options.agents
    const agents = Array.from({ length: count }, () => stage.startAgent())
    if (options.isAllocated) stage.startAllocator()
    await Promise.all(
      agents.map((agent) => agent.line((line) => String(line['message']).endsWith(' ready'))),
    )
    for (let index = 0; index < options.clients; index += 1) stage.startClient()
    return stage
  }

  get scheduler(): Program {
    return this.#scheduler
  }

  get proxies(): readonly TcpProxy[] {
    return this.#proxies
  }

  /** One more agent. */
  startAgent(): Program {
    const { random, workersPerAgent, folder } = this.#options
    const files = ['--object-storage', `--object-directory=${folder}`]
    const agent = this.#start('agent', [
      commandPath('scaler-cluster'),
      `--num-of-workers=${workersPerAgent}`,
      ...AGENT_ARGS,
      ...(random.chance(WITH_SERVER) ? files : []),
      this.#someAddress(),
    ])
    this.agents.add(agent)
    void agent.ended.then(() => this.agents.delete(agent))
    return agent
  }

  get isAllocated(): boolean {
    return this.#options.isAllocated
  }

  /** The agents that the allocator has started. */
  units(): readonly Unit[] {
    return unitsOf(this.#options.folder)
  }

  /** The allocator, which finds the units of the one before by its name and its address. */
  startAllocator(): Program {
    const { agents, workersPerAgent } = this.#options
    const [proxy] = this.#proxies
    const allocator = this.#start('allocator', [
      commandPath('scaler'),
      'allocate',
      'local',
      proxy?.address ?? this.#address,
      `--name=${ALLOCATOR}`,
      `--workers-per-unit=${workersPerAgent}`,
      `--max-workers=${agents * workersPerAgent}`,
      ...ALLOCATOR_ARGS,
      `--worker-address=${this.#someAddress()}`,
    ])
    this.allocators.add(allocator)
    void allocator.ended.then(() => this.allocators.delete(allocator))
    return allocator
  }

  /** Ends the allocator once it has ended all units; what is left is a finding. */
  async endAllocator(): Promise<void> {
    const directory = join(this.#options.folder, `scaler-allocate-${process.getuid?.() ?? 0}`)
    const isLeft = (): boolean => this.units().length > 0 || existsSync(directory)
    try {
      await until('the allocator has ended all units', () => !isLeft(), LEAVE_MS)
    } catch (error) {
      this.#options.tally.find(String(error))
      for (const unit of this.units()) unit.signal('SIGKILL')
    }
    for (const allocator of this.allocators) {
      this.end(allocator, 'SIGTERM')
      await this.ended(allocator, ({ code }) => code === 143)
    }
  }

  /** One more object storage server, which shares files with the others, or does not. */
  startServer(): Program {
    const { random, folder } = this.#options
    const files = random.pick([folder, ''])
    const [memory, disk] = [random.pick([2 ** 20, 2 ** 30]), random.pick([2 ** 20, 2 ** 30])]
    const server = this.#start('server', [
      commandPath('scaler-object-storage-server'),
      '--port=0',
      `--scheduler=${this.#address}`,
      `--spill-directory=${folder}`,
      `--object-directory=${files}`,
      `--memory-limit-bytes=${memory}`,
      `--disk-limit-bytes=${disk}`,
    ])
    this.servers.add(server)
    void server.ended.then(() => this.servers.delete(server))
    return server
  }

  /** The files with content of objects. */
  files(): readonly string[] {
    const { folder } = this.#options
    const places = readdirSync(folder).filter((name) => /^scaler-ts-[\da-f]{32}$/.test(name))
    return places.flatMap((place) => filesIn(join(folder, place)))
  }

  /** One more client. */
  startClient(): Program {
    const seed = String(this.#options.random.below(2 ** 31))
    const client = this.#start('client', [CLIENT, this.#someAddress(), seed, ...this.#options.work])
    this.clients.add(client)
    client.onLine((line) => {
      this.#options.tally.report(client.name, line as unknown as ClientReport)
    })
    void client.ended.then(() => this.clients.delete(client))
    return client
  }

  /** Sends a signal that ends a program, which is expected from now on. */
  end(program: Program, signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): void {
    this.#expectedEnds.add(program)
    this.#options.journal.add(`${program.name} gets ${signal}`)
    program.signal(signal)
  }

  /** A program has finished; its exit with code 0 is expected. */
  release(program: Program): void {
    this.#expectedEnds.add(program)
  }

  /** Ends the scheduler, and restarts it after some time. */
  async restartScheduler(signal: 'SIGKILL' | 'SIGTERM', pauseMs: number): Promise<void> {
    this.end(this.#scheduler, signal)
    await this.#scheduler.ended
    await delay(pauseMs)
    const where = ['--monitor-address', this.#monitorAddress, this.#address]
    for (let round = 0; ; round += 1) {
      const scheduler = newScheduler(this.#options.folder, where)
      try {
        await scheduler.line((line) => 'monitorAddress' in line)
        this.#scheduler = scheduler
        this.#watch(scheduler)
        this.#options.journal.add(`the scheduler is back as ${scheduler.pid}`)
        return
      } catch (error) {
        // An old connection may have the port for a moment.
        if (round === 50) throw error
      }
    }
  }

  /** Waits for the exit of a program that was asked to end, and reports one that does not. */
  async ended(program: Program, isRight: (end: ProgramEnd) => boolean): Promise<void> {
    const timer = setTimeout(() => {
      this.#options.tally.find(`${program.name} has not ended within ${END_MS} ms`)
      program.signal('SIGKILL')
    }, END_MS)
    const end = await program.ended
    clearTimeout(timer)
    // A program without any output has not installed signal handlers yet either.
    const isEarly = program.lines.length === 0 && end.signal !== null
    if (!isEarly && !isRight(end))
      this.#options.tally.find(`${describeEnd(program, end)}, when told to end`)
  }

  /** Ends everything by force. */
  async close(): Promise<void> {
    const others = [...this.allocators, ...this.agents, ...this.clients]
    const programs = [this.#scheduler, ...this.servers, ...others]
    for (const program of programs) {
      this.#expectedEnds.add(program)
      program.thaw()
    }
    // In order, so that everything that it leaves is a finding.
    this.end(this.#scheduler, 'SIGTERM')
    await this.ended(this.#scheduler, ({ code }) => code === 143)
    for (const server of this.servers) {
      this.end(server, 'SIGTERM')
      await this.ended(server, ({ code }) => code === 143)
    }
    await Promise.all(programs.map((program) => program.kill()))
    await Promise.all([this.monitor.close(), ...this.#proxies.map((proxy) => proxy.close())])
  }

  #start(kind: string, args: readonly string[]): Program {
    this.#number += 1
    const name = `${kind} ${this.#number}`
    const program = new Program(name, args, environment(this.#options.folder))
    this.#options.journal.add(`${name} starts as ${program.pid}`)
    this.#watch(program)
    return program
  }

  #watch(program: Program): void {
    const { journal, tally } = this.#options
    program.onLine((line) => {
      if (line['event'] === 'progress') return
      journal.add(`${program.name}: ${describeLine(line)}`)
      if (/\bbug\b/.test(String(line['message']))) {
        tally.find(`${program.name}: ${JSON.stringify(line)}`)
      }
    })
    void program.ended.then((end) => {
      journal.add(describeEnd(program, end))
      if (!this.#expectedEnds.has(program)) tally.find(`${describeEnd(program, end)}, by itself`)
    })
  }

  #someAddress(): string {
    const { random } = this.#options
    return random.chance(DIRECT) ? this.#address : random.pick(this.#proxies).address
  }
}

function filesIn(directory: string): readonly string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => join(directory, name))
  } catch {
    // Its process has ended.
    return []
  }
}

interface Place {
  readonly address: string
  readonly monitorAddress: string
  readonly proxies: readonly TcpProxy[]
}

function newScheduler(folder: string, where: readonly string[]): Program {
  // What it leaves there is found at the end.
  const files = ['--object-directory', folder]
  const args = [commandPath('scaler-scheduler'), ...SCHEDULER_ARGS, ...files, ...where]
  return new Program('scheduler', args, environment(folder))
}

function describeEnd(program: Program, { code, signal }: ProgramEnd): string {
  const words = program.stderr === '' ? '' : `: ${program.stderr.trim()}`
  return `${program.name} ended with ${signal ?? code}${words}`
}

function describeLine(line: Line): string {
  return JSON.stringify({ ...line, time: undefined }).slice(0, 400)
}

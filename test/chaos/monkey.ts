// Causes faults from a seed, one after the other, until it is stopped.

import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf, trySignal } from './process-table.js'
import type { Journal } from './journal.js'
import type { Program } from './program.js'
import type { Random } from './random.js'
import type { Stage } from './stage.js'
import type { Unit } from './unit.js'

/** All faults, each with its frequency. */
export const DEEDS = {
  'kill agent': 6,
  'kill processor': 5,
  'drain agent': 5,
  'freeze agent': 5,
  'kill scheduler': 5,
  'stop scheduler': 2,
  'freeze scheduler': 4,
  'kill client': 3,
  'interrupt client': 3,
  'freeze client': 4,
  'kill allocator': 4,
  'stop allocator': 2,
  'freeze allocator': 3,
  'kill server': 4,
  'freeze server': 2,
  'remove file': 3,
  'cut link': 8,
  'cut all links': 3,
  'cut at byte': 6,
  'delay link': 5,
  'throttle link': 3,
  'dead link': 4,
  'dead network': 3,
} as const
export type Deed = keyof typeof DEEDS

/** Those that need an allocator. */
export const ALLOCATOR_DEEDS: readonly Deed[] = [
  'kill allocator',
  'stop allocator',
  'freeze allocator',
]

/** The options of a monkey. */
export interface MonkeyOptions {
  readonly stage: Stage
  readonly random: Random
  readonly journal: Journal
  /** The average time between two faults. */
  readonly paceMs: number
  /** The faults, each with its frequency; missing ones have 0. */
  readonly weights: Readonly<Record<Deed, number>>
}

/** Causes faults. */
export class Monkey {
  readonly #options: MonkeyOptions
  readonly #underWay = new Set<Promise<void>>()
  readonly done: Map<Deed, number> = new Map()
  /** Only one at a time: kill it, freeze it, let it come back. */
  #isSchedulerInUse = false

  constructor(options: MonkeyOptions) {
    this.#options = options
  }

  /** Causes faults until the time is over, then undoes all that last. */
  async play(untilMs: number, withoutScheduler: boolean): Promise<void> {
    const { random, paceMs, weights } = this.#options
    while (performance.now() < untilMs) {
      await delay(Math.min(paceMs * 2 * random.next(), untilMs - performance.now()))
      const deed = random.weighted(weights)
      if (withoutScheduler && (deed === 'kill scheduler' || deed === 'stop scheduler')) continue
      this.done.set(deed, (this.done.get(deed) ?? 0) + 1)
      const running = this.#perform(deed).finally(() => this.#underWay.delete(running))
      this.#underWay.add(running)
    }
    await Promise.all(this.#underWay)
    for (const proxy of this.#options.stage.proxies) proxy.heal()
  }

  async #perform(deed: Deed): Promise<void> {
    const { stage, random } = this.#options
    switch (deed) {
      case 'kill agent':
        return this.#endAgent('SIGKILL')
      case 'drain agent':
        return this.#endAgent('SIGTERM')
      case 'kill processor':
        return this.#killProcessor()
      case 'freeze agent':
        return this.#freeze(this.#someAgent(), 500 + random.below(9_000))
      case 'freeze client':
        return this.#freeze(this.#some(stage.clients), 200 + random.below(5_000))
      case 'kill scheduler':
        return this.#useScheduler(() => stage.restartScheduler('SIGKILL', random.below(2_000)))
      case 'stop scheduler':
        return this.#useScheduler(() => stage.restartScheduler('SIGTERM', random.below(2_000)))
      case 'freeze scheduler':
        return this.#useScheduler(() => this.#freeze(stage.scheduler, 100 + random.below(3_000)))
      case 'kill allocator':
        return this.#replaceAllocator('SIGKILL')
      case 'stop allocator':
        return this.#replaceAllocator('SIGTERM')
      case 'freeze allocator':
        return this.#freeze(this.#some(stage.allocators), 500 + random.below(15_000))
      case 'kill server':
        return this.#replaceServer()
      case 'freeze server':
        return this.#freeze(this.#some(stage.servers), 500 + random.below(15_000))
      case 'remove file':
        return this.#removeFile()
      case 'kill client':
        return this.#replaceClient('SIGKILL')
      case 'interrupt client':
        return this.#replaceClient('SIGINT')
      default:
        return this.#breakLink(deed)
    }
  }

  async #breakLink(deed: Deed): Promise<void> {
    const { random, stage } = this.#options
    const proxy = random.pick(stage.proxies)
    const [index, side] = [random.below(stage.proxies.length), random.pick(['up', 'down'] as const)]
    const link = proxy.links.length === 0 ? undefined : random.pick(proxy.links)
    const forMs = 200 + random.below(4_000)
    this.#note(`${deed}, ${index} ${side}, ${forMs} ms`)
    switch (deed) {
      case 'cut link':
        return link?.cut(random.pick(['reset', 'end']))
      case 'cut all links':
        return proxy.cut()
      case 'cut at byte':
        return link?.disturb({ cutAtByte: link.passed(side) + random.below(3_000) }, side)
      case 'delay link':
        link?.disturb({ delayMs: random.below(150) }, side)
        await delay(forMs)
        return link?.disturb({ delayMs: 0 })
      case 'throttle link':
        link?.disturb({ bytesPerSecond: 20_000 + random.below(500_000) }, side)
        await delay(forMs)
        return link?.disturb({ bytesPerSecond: Infinity })
      case 'dead link':
        // Often permanently: no end of the connection ever arrives.
        link?.stop(random.chance(0.5) ? side : undefined)
        await delay(forMs)
        return random.chance(0.4) ? link?.heal() : undefined
      default:
        proxy.stop()
        await delay(forMs)
        proxy.heal()
    }
  }

  /** An allocator replaces its units itself. */
  async #endAgent(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { stage } = this.#options
    if (!stage.isAllocated) return this.#replaceAgent(signal)
    const unit = this.#someAgent()
    if (unit === undefined) return
    this.#note(`${unit.name} gets ${signal}`)
    unit.signal(signal)
  }

  #someAgent(): Program | Unit | undefined {
    const { stage, random } = this.#options
    const units = stage.isAllocated ? stage.units() : [...stage.agents]
    return units.length === 0 ? undefined : random.pick<Program | Unit>(units)
  }

  async #replaceAllocator(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { stage, random } = this.#options
    const allocator = this.#some(stage.allocators)
    if (allocator === undefined) return
    stage.end(allocator, signal)
    stage.allocators.delete(allocator)
    await stage.ended(allocator, ({ code }) => code === (signal === 'SIGTERM' ? 143 : null))
    await delay(random.below(3_000))
    stage.startAllocator()
  }

  async #replaceAgent(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { stage, random } = this.#options
    const agent = this.#some(stage.agents)
    if (agent === undefined) return
    stage.end(agent, signal)
    stage.agents.delete(agent)
    await delay(random.below(1_500))
    stage.startAgent()
    // A frozen process receives the signal when it is resumed.
    const codes: readonly (number | null)[] = signal === 'SIGTERM' ? [143] : [null]
    await stage.ended(agent, (end) => codes.includes(end.code))
  }

  async #killProcessor(): Promise<void> {
    const agent = this.#someAgent()
    const pids = agent === undefined ? [] : descendantsOf(agent.pid)
    if (pids.length === 0) return
    const pid = this.#options.random.pick(pids)
    this.#note(`processor ${pid} of ${agent?.name} gets SIGKILL`)
    trySignal(pid, 'SIGKILL')
  }

  async #replaceClient(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    const { stage, random } = this.#options
    const client = this.#some(stage.clients)
    if (client === undefined) return
    stage.end(client, signal)
    stage.clients.delete(client)
    await delay(random.below(1_000))
    stage.startClient()
    await stage.ended(client, (end) => end.signal === signal)
  }

  async #replaceServer(): Promise<void> {
    const { stage, random } = this.#options
    const server = this.#some(stage.servers)
    if (server === undefined) return
    stage.end(server, 'SIGKILL')
    stage.servers.delete(server)
    await delay(random.below(4_000))
    stage.startServer()
  }

  /** Content in a file of a scheduler, server or agent is gone, on disk or in shared memory. */
  #removeFile(): void {
    const { stage, random } = this.#options
    const files = stage.files()
    if (files.length === 0) return
    const file = random.pick(files)
    this.#note(`${file} is removed`)
    rmSync(file, { force: true })
  }

  async #freeze(program: Program | Unit | undefined, forMs: number): Promise<void> {
    if (program === undefined || program.isFrozen) return
    this.#note(`${program.name} stands still for ${forMs} ms`)
    program.freeze()
    await delay(forMs)
    program.thaw()
    this.#note(`${program.name} goes on`)
  }

  async #useScheduler(deed: () => Promise<void>): Promise<void> {
    if (this.#isSchedulerInUse) return
    this.#isSchedulerInUse = true
    try {
      await deed()
    } finally {
      this.#isSchedulerInUse = false
    }
  }

  #some(programs: ReadonlySet<Program>): Program | undefined {
    return programs.size === 0 ? undefined : this.#options.random.pick([...programs])
  }

  #note(text: string): void {
    this.#options.journal.add(text)
  }
}

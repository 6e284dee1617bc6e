// One run of the chaos, from the first start to the last check for leftovers.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nothingLeft } from './cluster.js'
import { Journal, seconds } from './journal.js'
import { describeState, isIdle } from './monitor.js'
import { ALLOCATOR_DEEDS, DEEDS, Monkey, type Deed } from './monkey.js'
import { residentBytes } from './process-table.js'
import type { Program } from './program.js'
import { Random } from './random.js'
import { Stage } from './stage.js'
import { startAndStop } from './start-stop.js'
import { Tally, type ClientReport, type Finding, type KindCount } from './tally.js'

/** The options of a run. */
export interface ChaosOptions {
  /** The duration of the faults. */
  readonly stormMs: number
  readonly seed: number
  /** Of all agents together. */
  readonly workers: number
  /** Whether the agents come from an allocator. */
  readonly isAllocated: boolean
  /** Starts and stops after the storm. */
  readonly starts: number
  /** Faults that are left out. */
  readonly without: readonly Deed[]
  /** The kinds of work of the clients; none: all. */
  readonly work: readonly string[]
  /** Called with the progress from time to time. */
  readonly onProgress: (text: string) => void
}

/** The outcome. */
export interface ChaosOutcome {
  readonly findings: readonly Finding[]
  readonly counts: ReadonlyMap<string, KindCount>
  readonly deeds: ReadonlyMap<Deed, number>
  /** From the last fault to the end of the last piece of work. */
  readonly recoveryMs: number
  /** The memory of the scheduler, after some time and at the end, in bytes. */
  readonly memory: { readonly base: number; readonly end: number }
  /** The last 100 seconds before the end, or before the first finding. */
  readonly journal: readonly string[]
}

const AGENTS = 3
const CLIENTS = 3
const PACE_MS = 800
/** This part of the storm spares the scheduler, so that its memory can be measured. */
const CALM_PART = 0.4
/** Work that has not ended this long after the last fault is lost. */
const RECOVERY_MS = 90_000
/** A heap may have grown by this amount without any of it being retained. */
const SLACK_BYTES = 64 * 1024 * 1024
const PROGRESS_MS = 10_000
/** An allocator takes longer to replace what is lost, and may have to be restarted before. */
const RARER: Partial<Record<Deed, number>> = {
  'kill agent': 2,
  'drain agent': 2,
  'freeze agent': 2,
  'kill scheduler': 2,
}

/** Runs it. Every violation is a finding; it rejects only if it cannot start. */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'sc-'))
  try {
    return await new ChaosRun(folder, options).perform()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

class ChaosRun {
  readonly #options: ChaosOptions
  readonly #folder: string
  readonly #random: Random
  readonly #begun = performance.now()
  readonly #journal = new Journal(() => performance.now() - this.#begun)
  /** How many findings were printed. */
  #told = 0
  readonly #tally = new Tally(() => performance.now() - this.#begun)
  #firstFinding: readonly string[] | undefined

  constructor(folder: string, options: ChaosOptions) {
    this.#folder = folder
    this.#options = options
    this.#random = new Random(options.seed)
  }

  async perform(): Promise<ChaosOutcome> {
    const { seed, workers, isAllocated } = this.#options
    const stage = await Stage.start({
      folder: this.#folder,
      agents: AGENTS,
      workersPerAgent: Math.max(1, Math.round(workers / AGENTS)),
      clients: CLIENTS,
      isAllocated,
      work: this.#options.work,
      random: this.#random,
      journal: this.#journal,
      tally: this.#tally,
    })
    const random = new Random(seed + 1)
    const monkey = new Monkey({
      stage,
      random,
      journal: this.#journal,
      paceMs: PACE_MS,
      weights: this.#weights(),
    })
    const watch = setInterval(() => this.#progress(stage), PROGRESS_MS)
    const keep = setInterval(() => this.#keepFirst(), 500)
    let memory = { base: 0, end: 0 }
    let recoveryMs = 0
    try {
      const base = await this.#storm(monkey, stage)
      recoveryMs = await this.#recover(stage)
      await this.#leave(stage)
      memory = { base, end: residentBytes(stage.scheduler.pid) }
      this.#compare(memory)
    } finally {
      clearInterval(watch)
      clearInterval(keep)
      await stage.close()
    }
    await this.#lookForRest()
    this.#keepFirst()
    return {
      findings: this.#tally.findings,
      counts: this.#tally.sums(),
      deeds: monkey.done,
      recoveryMs,
      memory,
      journal: this.#firstFinding ?? this.#journal.lines(),
    }
  }

  #weights(): Record<Deed, number> {
    const rarer = this.#options.isAllocated ? RARER : {}
    const weights: Record<Deed, number> = { ...DEEDS, ...rarer }
    const impossible = this.#options.isAllocated ? [] : ALLOCATOR_DEEDS
    for (const deed of [...this.#options.without, ...impossible]) weights[deed] = 0
    return weights
  }

  /** Causes faults; returns the scheduler's memory after it has run for a while. */
  async #storm(monkey: Monkey, stage: Stage): Promise<number> {
    const { stormMs } = this.#options
    const calmFrom = performance.now() + stormMs * (1 - CALM_PART)
    await monkey.play(calmFrom, false)
    await monkey.play(calmFrom + (stormMs * CALM_PART) / 3, true)
    const base = residentBytes(stage.scheduler.pid)
    await monkey.play(calmFrom + stormMs * CALM_PART, true)
    return base
  }

  /** No more faults: all work of the clients must end. Returns how long that took. */
  async #recover(stage: Stage): Promise<number> {
    const begun = performance.now()
    this.#journal.add('all is healed; clients finish')
    const clients = [...stage.clients]
    for (const client of clients) {
      stage.release(client)
      client.tell('finish')
    }
    await Promise.all(clients.map((client) => this.#finish(client)))
    return performance.now() - begun
  }

  async #finish(client: Program): Promise<void> {
    const timer = setTimeout(() => client.tell('unfinished'), RECOVERY_MS)
    const lost = client.line((line) => line['event'] === 'unfinished').catch(() => undefined)
    const end = await Promise.race([client.ended, lost])
    clearTimeout(timer)
    if (end === undefined) return
    if ('event' in end) {
      const { what } = end as unknown as Extract<ClientReport, { event: 'unfinished' }>
      this.#tally.find(`${client.name} has lost: ${what.join('; ')}`)
      client.signal('SIGKILL')
    } else if (end.code !== 0) {
      this.#tally.find(`${client.name} ended with ${String(end.signal ?? end.code)}`)
    }
  }

  /** The agents shut down gracefully; then the scheduler must have nothing left. */
  async #leave(stage: Stage): Promise<void> {
    if (stage.isAllocated) await stage.endAllocator()
    for (const agent of stage.agents) {
      stage.end(agent, 'SIGTERM')
      await stage.ended(agent, ({ code }) => code === 143)
    }
    const isEmpty = stage.monitor.until(
      'empty tables',
      (state) => isIdle(state) && state.workerManager.workers.length === 0,
    )
    await isEmpty.catch(() => {
      const state = describeState(stage.monitor.last)
      this.#tally.find(`the scheduler still has something of others: ${state}`)
    })
  }

  #compare({ base, end }: { readonly base: number; readonly end: number }): void {
    if (end <= base + SLACK_BYTES) return
    this.#tally.find(
      `the scheduler's memory has grown from ${megabytes(base)} to ${megabytes(end)}`,
    )
  }

  /** Nothing is left, not even after many starts and stops. */
  async #lookForRest(): Promise<void> {
    const { starts, seed } = this.#options
    try {
      await nothingLeft(this.#folder)
      await startAndStop({ rounds: starts, seed, folder: this.#folder })
    } catch (error) {
      this.#tally.find(String(error))
    }
  }

  #progress(stage: Stage): void {
    const all = this.#tally.sums().get('all')
    const state = describeState(stage.monitor.last)
    this.#options.onProgress(
      `${seconds(performance.now() - this.#begun)} s: ${all?.ended ?? 0} pieces of work, ` +
        `${this.#tally.findings.length} findings; ${state}`,
    )
  }

  #keepFirst(): void {
    const { findings } = this.#tally
    if (findings.length === 0) return
    this.#firstFinding ??= this.#journal.lines()
    for (const { atMs, text } of findings.slice(this.#told)) {
      this.#options.onProgress(`found after ${seconds(atMs)} s: ${text}`)
    }
    this.#told = findings.length
  }
}

/** `12 MB`. */
export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MB`
}

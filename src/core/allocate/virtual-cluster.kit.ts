// For tests: allocators on a virtual cluster. Tasks of one length, workers that run them, a
// provider that takes its time and sometimes fails, and a scheduler that passes on what allocators
// announce, each of which sees the cluster at its own moment of every second.

import { AllocatorMachine } from './allocator-machine.js'
import type {
  AllocatorAction,
  AllocatorCoreOptions,
  Announcement,
  Decision,
  ListedUnit,
} from './events.js'

/** A cluster to simulate. Times in milliseconds. */
export interface VirtualSetup {
  readonly seed: number
  readonly bootMs: number
  /** The share of starts that fail. */
  readonly failing: number
  readonly taskMs: number
  readonly allocators: readonly (Partial<AllocatorCoreOptions> & { readonly name: string })[]
}

const DEFAULTS: Omit<AllocatorCoreOptions, 'name'> = {
  provider: 'virtual',
  offers: new Map(),
  runtime: 'javascript',
  minWorkers: 0,
  maxWorkers: 200,
  workersPerUnit: 1,
  backlogMs: 30_000,
  idleMs: 60_000,
  maxQueuedUnits: 1_000,
  startTimeoutMs: 600_000,
  isDryRun: false,
}

const STEP_MS = 100
const VIEW_MS = 1_000

interface VirtualUnit extends ListedUnit {
  readonly name: string
  readonly fails: boolean
  readonly readyAt: number
  busyUntil: number
  isDraining: boolean
}

interface VirtualAllocator {
  readonly name: string
  readonly options: AllocatorCoreOptions
  machine: AllocatorMachine
  /** Of each second. */
  readonly phaseMs: number
  announced: Announcement | undefined
}

/** Random numbers from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Some allocators, their units, and the tasks. */
export class VirtualCluster {
  readonly #setup: VirtualSetup
  readonly #random: () => number
  readonly #allocators: VirtualAllocator[]
  now = 0
  waiting = 0
  finished = 0
  /** How many units were started, and how many of them have failed. */
  started = 0
  failed = 0
  /** The most workers, and of those on their way, at any time. */
  peak = 0
  units: VirtualUnit[] = []
  readonly decisions: (Decision & { readonly name: string; readonly at: number })[] = []

  constructor(setup: VirtualSetup) {
    this.#setup = setup
    this.#random = randomOf(setup.seed)
    this.#allocators = setup.allocators.map((given) => {
      const options = { ...DEFAULTS, ...given }
      const machine = new AllocatorMachine(options)
      const phaseMs = Math.floor(this.#random() * (VIEW_MS / STEP_MS)) * STEP_MS
      return { name: given.name, options, machine, phaseMs, announced: undefined }
    })
  }

  /** Workers that run, or will once their unit has started. */
  get size(): number {
    return this.units.filter(({ fails }) => !fails).length
  }

  submit(tasks: number): void {
    this.waiting += tasks
  }

  /** An allocator is killed, and started again: it knows nothing of what it did. */
  restart(name: string): void {
    const found = this.#allocators.find((allocator) => allocator.name === name)
    if (found === undefined) throw new Error(`no allocator ${name}`)
    found.machine = new AllocatorMachine(found.options)
    found.announced = undefined
  }

  /** Whoever uses the provider cancels the first unit that runs: its task runs again. */
  cancelOne(): void {
    const unit = this.units.find(({ readyAt }) => readyAt <= this.now)
    if (unit === undefined) return
    this.units = this.units.filter((each) => each !== unit)
    if (unit.busyUntil > this.now) this.waiting += 1
  }

  /** Lets time pass. */
  run(seconds: number): void {
    const end = this.now + seconds * 1_000
    while (this.now < end) {
      this.now += STEP_MS
      this.#work()
      for (const allocator of this.#allocators) {
        if (this.now % VIEW_MS === allocator.phaseMs) this.#show(allocator)
      }
      this.peak = Math.max(this.peak, this.size)
    }
  }

  #runningMs({ busyUntil }: VirtualUnit): number {
    return busyUntil === 0 ? 0 : this.now - (busyUntil - this.#setup.taskMs)
  }

  #work(): void {
    this.units = this.units.filter((unit) => {
      const isDone = unit.busyUntil <= this.now
      if (isDone && unit.busyUntil > 0) {
        this.finished += 1
        unit.busyUntil = 0
      }
      return !(unit.fails && unit.readyAt <= this.now) && !(unit.isDraining && isDone)
    })
    for (const unit of this.units) {
      if (unit.readyAt > this.now || unit.busyUntil > 0 || unit.isDraining) continue
      if (this.waiting === 0) break
      this.waiting -= 1
      unit.busyUntil = this.now + this.#setup.taskMs
    }
  }

  #show(allocator: VirtualAllocator): void {
    const own = this.units.filter(({ name }) => name === allocator.name)
    const units = own.map(({ id, key, readyAt }): ListedUnit => {
      return { id, key, state: readyAt <= this.now ? 'running' : 'queued' }
    })
    this.#tell(allocator, { type: 'listed', units, begunAt: this.now })
    const ready = this.units.filter(({ readyAt }) => readyAt <= this.now)
    const seconds = this.finished > 0 ? this.#setup.taskMs / 1_000 : undefined
    const longestMs = Math.max(0, ...this.units.map((unit) => this.#runningMs(unit)))
    const runningSeconds = longestMs / 1_000
    const times = { seconds, runningSeconds, waitedSeconds: 0 }
    const work = { needs: '', runtime: 'javascript', ...times } as const
    this.#tell(allocator, {
      type: 'viewed',
      view: {
        waiting: this.waiting === 0 ? [] : [{ ...work, tasks: this.waiting }],
        workers: ready.map(({ id, name, key, busyUntil, isDraining }) => ({
          id,
          allocation: `${name}/${key}`,
          runtime: 'javascript' as const,
          isIdle: busyUntil === 0,
          isLeaving: isDraining,
          offers: new Map(),
          endsInMs: Infinity,
        })),
        allocators: this.#allocators.flatMap(({ announced }) => announced ?? []),
      },
    })
  }

  #tell(allocator: VirtualAllocator, event: Parameters<AllocatorMachine['handle']>[0]): void {
    const actions: AllocatorAction[] = []
    allocator.machine.handle(event, this.now, (action) => actions.push(action))
    for (const action of actions) this.#perform(allocator, action)
  }

  #perform(allocator: VirtualAllocator, action: AllocatorAction): void {
    const { name } = allocator
    switch (action.type) {
      case 'start': {
        const units = Array.from({ length: action.units }, () => this.#start(name))
        const asked = action.units
        return this.#tell(allocator, { type: 'started', asked, units, problem: '' })
      }
      case 'drain':
        for (const unit of this.units) if (unit.key === action.unit.key) unit.isDraining = true
        return
      case 'cancel': {
        const keys = new Set(action.units.map(({ key }) => key))
        this.units = this.units.filter(({ key }) => !keys.has(key))
        return
      }
      case 'inspect':
        return this.#tell(allocator, { type: 'inspected', key: action.unit.key, output: 'no disk' })
      case 'announce':
        allocator.announced = action.report
        return
      case 'decided':
        this.decisions.push({ ...action.decision, name, at: this.now })
        break
      case 'log':
        break
    }
  }

  #start(name: string): ListedUnit {
    this.started += 1
    const fails = this.#random() < this.#setup.failing
    if (fails) this.failed += 1
    const spread = 0.8 + 0.4 * this.#random()
    const key = String(this.started)
    const unit = { id: `u${key}`, key, state: 'queued' } as const
    const readyAt = this.now + this.#setup.bootMs * spread
    this.units.push({ ...unit, name, fails, readyAt, busyUntil: 0, isDraining: false })
    return unit
  }
}

// How many workers the waiting work needs, and how many there are. Only arithmetic on one view of
// the cluster; units.ts knows what this allocator has asked for.

import type { Announcement, ClusterView, SeenWorker, WaitingWork } from './events.js'

/** What an allocator can start, for comparisons with others. */
type Offering = Pick<Announcement, 'name' | 'offers' | 'runtime'>

/** The settings that matter here. Times in seconds. */
export interface DemandRules {
  readonly own: Offering
  /** How long the waiting work may take. */
  readonly backlogSeconds: number
  /** From asking for a unit to its first worker, as learnt so far; 0: unknown. */
  readonly bootSeconds: number
  readonly workersPerUnit: number
  /** How long workers live; Infinity: without a limit. */
  readonly lifetimeSeconds: number
  /** For how long tasks have waited although `isEnough` was true, in seconds. */
  readonly enoughSeconds: number
  /** Workers that do not count, because they are about to leave. */
  readonly leaving: ReadonlySet<string>
}

/** The work for this allocator, and the workers for it. */
export interface Demand {
  readonly waitingTasks: number
  readonly waitingSeconds: number
  /** More tasks, which take longer than workers live: none is given to one. */
  readonly tooLong: number
  /** How many workers there should be, the busy ones included. */
  readonly target: number
  /** Workers of whatever origin that can run some of the work and will still be there. */
  readonly workers: number
  /** Whether these finish the waiting work in time, if they get to it. */
  readonly isEnough: boolean
  /** Workers that others have asked for, */
  readonly othersPending: number
  /** and the other allocators that could start workers for this work. */
  readonly rivals: readonly Announcement[]
}

/** What the work in a view demands of one allocator. */
export function demandOf(view: ClusterView, rules: DemandRules): Demand {
  const { own, backlogSeconds, bootSeconds } = rules
  const others = view.allocators.filter(({ name }) => name !== own.name)
  const all = view.waiting.filter((work) => isMine(work, own, others))
  const rows = all.filter(({ seconds = 0 }) => seconds <= rules.lifetimeSeconds)
  const bootMs = bootSeconds * 1_000
  // Without work, those count that offer what this allocator's workers do.
  const kinds = rows.length > 0 ? kindsOf(rows) : [{ ...own, needs: needsFor(own) }]
  // Those that end before others could come must be replaced now.
  const lasting = view.workers.filter((worker) => {
    const isStaying = !worker.isLeaving && worker.endsInMs > bootMs
    return isStaying && !rules.leaving.has(worker.id) && canServe(worker, kinds)
  })
  const busy = lasting.reduce((sum, { isIdle }) => (isIdle ? sum : sum + 1), 0)
  const rivals = others.filter((other) => rows.some((work) => serves(other, work)))
  const pendings = others.filter((other) => {
    return rows.length === 0 ? other.runtime === own.runtime : rivals.includes(other)
  })
  const othersPending = pendings.reduce((sum, { pending }) => sum + pending, 0)
  const [isServed, isExpected] = [
    servedBy(lasting),
    servedBy(pendings.filter(({ pending }) => pending > 0)),
  ]
  const served = sumsOf(rows.filter(isServed))
  const rest = rows.filter((work) => !isServed(work))
  const isEnough = served.seconds <= lasting.length * backlogSeconds
  let target = targetFor(served, { ...rules, workers: lasting.length, busy, isEnough })
  // What none of them can run needs workers beside all of them, whatever they will have finished,
  // and also if they idle. The same holds for workers that others have asked for.
  for (const [work, workers] of [
    [rest.filter(isExpected), lasting.length],
    [rest.filter((each) => !isExpected(each)), lasting.length + othersPending],
  ] as const) {
    const sums = sumsOf(work)
    const none = { ...rules, workers: 0, busy: 0, isEnough: sums.seconds === 0 }
    const more = targetFor(sums, none)
    if (more > 0) target = Math.max(target, workers) + more
  }
  const { tasks, seconds } = sumsOf(rows)
  return {
    waitingTasks: tasks,
    waitingSeconds: seconds,
    target,
    tooLong: sumsOf(all).tasks - tasks,
    workers: lasting.length,
    isEnough,
    othersPending,
    rivals,
  }
}

/** A worker, or an allocator that starts such workers. */
type Runner = Pick<SeenWorker, 'offers' | 'runtime'>

/** Whether one of these can run some work; looked up once for each requirement. */
function servedBy(workers: readonly Runner[]): (work: WaitingWork) => boolean {
  const known = new Map<string, boolean>()
  return (work) => {
    const key = keyOf(work)
    let isServed = known.get(key)
    if (isServed === undefined) {
      const kinds = kindsOf([work])
      isServed = workers.some((worker) => canServe(worker, kinds))
      known.set(key, isServed)
    }
    return isServed
  }
}

interface Sums {
  readonly tasks: number
  /** One after the other, as far as that is known. */
  readonly seconds: number
  readonly unmeasured: number
  readonly waitedSeconds: number
}

function sumsOf(rows: readonly WaitingWork[]): Sums {
  let [tasks, seconds, unmeasured, waitedSeconds] = [0, 0, 0, 0]
  for (const row of rows) {
    tasks += row.tasks
    if (row.seconds === undefined) unmeasured += row.tasks
    // One that has not ended yet shows how long the others take at least.
    seconds += row.tasks * (row.seconds ?? row.runningSeconds)
    waitedSeconds = Math.max(waitedSeconds, row.waitedSeconds)
  }
  return { tasks, seconds, unmeasured, waitedSeconds }
}

interface Supply extends DemandRules {
  readonly workers: number
  readonly busy: number
  readonly isEnough: boolean
}

/**
 * The number of workers that finish the work in time. Those that are there work while others start.
 * More workers than tasks are of no use. Of a function that was never measured, one unit finds out
 * how long it takes. Work that waits for too long although it is little shows that the busy workers
 * do not get to it.
 */
function targetFor(sums: Sums, supply: Supply): number {
  const { tasks, seconds, unmeasured, waitedSeconds } = sums
  const { workers, busy, isEnough, backlogSeconds, bootSeconds, workersPerUnit } = supply
  if (tasks === 0) return busy
  const probe = Math.max(workers === 0 ? 1 : 0, Math.min(unmeasured, workersPerUnit))
  const left = isEnough ? seconds : Math.max(0, seconds - workers * bootSeconds)
  const needed = Math.ceil(left / backlogSeconds)
  const waited = Math.min(waitedSeconds - bootSeconds, supply.enoughSeconds)
  const isStuck = isEnough && waited > backlogSeconds
  // Measured work needs a known number of workers; for other work, their number doubles.
  const beside = isStuck ? busy + Math.max(probe, needed, Math.min(unmeasured, busy)) : 0
  return Math.min(tasks + busy, Math.max(busy, probe, needed, beside))
}

/**
 * Whether an allocator starts workers for this work: it can, and none that has room and can as well
 * offers fewer capabilities. Machines with rare capabilities are for the tasks that need them.
 */
function isMine(work: WaitingWork, own: Offering, others: readonly Announcement[]): boolean {
  if (!serves(own, work)) return false
  return !others.some((other) => {
    const isPlainer = other.offers.size < own.offers.size
    return isPlainer && !other.isPaused && other.room > 0 && serves(other, work)
  })
}

function serves({ offers, runtime }: Omit<Offering, 'name'>, work: WaitingWork): boolean {
  return runtime === work.runtime && needsOf(work.needs).every((need) => isMet(offers, need))
}

/** What some of the work requires of a worker. */
interface Kind {
  readonly runtime: WaitingWork['runtime']
  readonly needs: readonly Need[]
}

/** Read once, not for each worker. */
function kindsOf(rows: readonly WaitingWork[]): readonly Kind[] {
  const kinds = new Map<string, Kind>()
  for (const work of rows) {
    const { runtime, needs } = work
    const key = keyOf(work)
    if (!kinds.has(key)) kinds.set(key, { runtime, needs: needsOf(needs) })
  }
  return [...kinds.values()]
}

function keyOf({ runtime, needs }: WaitingWork): string {
  return `${runtime} ${needs}`
}

function needsFor({ offers }: Offering): readonly Need[] {
  return [...offers.keys()].map((name) => ({ name, units: 0 }))
}

function canServe({ runtime, offers }: Runner, kinds: readonly Kind[]): boolean {
  return kinds.some((kind) => {
    return kind.runtime === runtime && kind.needs.every((need) => isMet(offers, need))
  })
}

interface Need {
  readonly name: string
  readonly units: number
}

function isMet(offers: ReadonlyMap<string, number>, { name, units }: Need): boolean {
  const offered = offers.get(name)
  return offered !== undefined && (offered < 0 || offered >= units)
}

/** A name, in quotes if it has unusual characters, with the units that a task needs. */
const NEED = /(?:"((?:[^"\\]|\\.)*)"|([^\s,="]+))(?:=(\d+))?(?:, |$)/gy

/** The needs in a text such as `gpu=1, linux`, as a scheduler writes it. */
export function needsOf(text: string): readonly Need[] {
  return [...text.matchAll(NEED)].map(([, quoted, plain = '', units = '0']) => ({
    name: quoted === undefined ? plain : (JSON.parse(`"${quoted}"`) as string),
    units: Number(units),
  }))
}

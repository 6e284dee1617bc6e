// Why tasks wait, and how long that has been the reason: reported to clients in echoes, and logged.
// docs/protocol.md#waiting

import type { InstantMs } from '../../../base/machine.js'
import type { WaitingReason } from '../../../base/waiting-reason.js'
import type { WaitingCount, WaitingTasks, WaitReason } from '../../../wire/message.js'
import { waitReasonOf } from '../../../wire/wait-reason.js'
import type { ClientEntry, Runtime, TaskEntry } from '../entries.js'
import type { NodeKind } from '../graph/kinds.js'
import type { SchedulerState } from '../state.js'
import { taskFields } from '../task/extra.js'
import type { TaskQueue, WaitingGroup } from '../task/queue.js'
import type { Lane } from '../worker/lanes.js'
import type { Deadlock, Requirement } from '../worker/capabilities.js'
import type { WorkerPool } from '../worker/pool.js'

/** How long tasks wait for a worker that could run them before that is logged. */
const PATIENCE_MS = 5_000

/** Minimum interval between log lines about the same condition. */
const LINE_INTERVAL_MS = 60_000

/** Clients are notified once this fraction of the capacity is free, not for each task. */
const FREE_SHARE = 8

/** Maximum log lines at a time about requirements that no worker meets; more follow later. */
const MAX_LINES = 10

/** Maximum number of such requirements in a report to a client. */
const MAX_LACKING = 20

/** How long tasks wait for units that their ancestors hold before that is logged. */
const FAMILY_PATIENCE_MS = 3_000

const UNSERVED = 'tasks wait: no connected worker can run them'
const DEADLOCK = 'tasks wait for units that are held by waiting parent tasks'
const NONE: readonly WaitingTasks[] = []

/** The minimum room at which clients that hold tasks back are notified. */
export function leastRoom({ options }: SchedulerState, pool: WorkerPool): number {
  const capacity = options.maxNumberOfTasksWaiting + pool.capacity
  return Math.max(1, Math.floor(capacity / FREE_SHARE))
}

function elapsed({ turn }: SchedulerState, since: InstantMs | undefined): number {
  return since === undefined ? 0 : Math.min(Math.floor(turn.now - since), MAX_MS)
}

/** The requirement of a lane's tasks, as readable text. */
function needsOf({ requirement, isServed }: Lane): string {
  return isServed ? `${requirement.key}, besides what waiting parents hold` : requirement.key
}

/** A condition that lasts for a while and is logged once. */
class Spell {
  /** Undefined while the condition is false. */
  since: InstantMs | undefined
  #isTold = false
  #toldAt: InstantMs | undefined

  /** Sets whether the condition holds now. */
  update(isSo: boolean, now: InstantMs): void {
    if (isSo) this.since ??= now
    else {
      this.since = undefined
      this.#isTold = false
    }
  }

  /** Whether a log line is due; if so, it counts as written. */
  isDue(now: InstantMs, patienceMs: number): boolean {
    if (this.since === undefined || this.#isTold || now - this.since < patienceMs) return false
    if (this.#toldAt !== undefined && now - this.#toldAt < LINE_INTERVAL_MS) return false
    this.#isTold = true
    this.#toldAt = now
    return true
  }
}

/** Why a task waits. */
export interface WaitingWhy {
  readonly reason: WaitReason
  /** What it requires and no worker offers; otherwise empty. */
  readonly needs: string
}

/** Tracks why tasks wait. */
export class Waiting {
  /** Clients that hold tasks back until they are granted room, in order of waiting. */
  readonly holdingBack: Set<ClientEntry> = new Set()
  readonly #unserved: Readonly<Record<Runtime, Spell>> = {
    javascript: new Spell(),
    python: new Spell(),
  }
  readonly #full: Readonly<Record<Runtime, Spell>> = {
    javascript: new Spell(),
    python: new Spell(),
  }

  readonly #lanes = new WeakMap<Lane, Spell>()
  readonly #state: SchedulerState

  constructor(state: SchedulerState) {
    this.#state = state
  }

  /** Updates the conditions. Called after each event. */
  update(): void {
    this.#updateRuntime('javascript')
    this.#updateRuntime('python')
  }

  /** Records that there was no room for a task. */
  noteFull(runtime: Runtime): void {
    const spell = this.#full[runtime]
    spell.update(true, this.#state.turn.now)
    if (!spell.isDue(this.#state.turn.now, 0)) return
    const { maxNumberOfTasksWaiting: limit } = this.#state.options
    const fields = { reason: 'limit', limit, runtime, tasks: this.#state.pools[runtime].waiting }
    this.#state.turn.log('warn', 'the queue is full: no further tasks are accepted for now', fields)
  }

  /** Logs conditions that have lasted too long. Called about once a second. */
  tell(): void {
    for (const runtime of ['javascript', 'python'] as const) {
      this.#tellLanes(runtime)
      const tasks = this.#state.pools[runtime].waiting
      if (tasks === 0 || !this.#unserved[runtime].isDue(this.#state.turn.now, PATIENCE_MS)) continue
      const fields = { reason: reasonFor(this.#state, runtime), runtime, tasks }
      this.#state.turn.log('warn', UNSERVED, fields)
    }
  }

  /** Why tasks of a client wait in the scheduler, or are held back for lack of room. */
  of(client: ClientEntry): readonly WaitingTasks[] {
    const { runtime } = client
    const all = this.#state.pools[runtime].waitingOf(client)
    if (all === 0 && !this.holdingBack.has(client)) return NONE
    const reason = reasonFor(this.#state, runtime)
    const lacking = reason === 'all-busy' ? this.#lacking(client) : NONE
    const tasks = lacking.reduce((left, each) => left - each.tasks, all)
    if (tasks === 0 && reason === 'all-busy') return lacking
    const { since } = this.#unserved[runtime]
    const forMS = since === undefined ? 0 : elapsed(this.#state, this.#sinceOf(client, since))
    const rest = { reason: waitReasonOf(reason), tasks, forMS, needs: '', isDeadlocked: false }
    return [...lacking, rest]
  }

  /** Why a task in the queue waits. */
  reasonOf({ runtime, requirement }: Pick<TaskEntry, 'runtime' | 'requirement'>): WaitingWhy {
    const reason = reasonFor(this.#state, runtime)
    if (reason !== 'all-busy' || requirement === undefined) {
      return { reason: waitReasonOf(reason), needs: '' }
    }
    const lanes = this.lackingLanes(runtime)
    const lane = lanes.find((each) => each.requirement === requirement)
    return lane === undefined
      ? { reason: 'allBusy', needs: '' }
      : { reason: 'noCapability', needs: needsOf(lane) }
  }

  /**
   * Since when tasks of a client wait for a reason that began at `since`. Those of others may have
   * waited for longer: the client would warn its user at once.
   */
  #sinceOf(client: ClientEntry, since: InstantMs): InstantMs {
    const { queue, held } = this.#state.pools[client.runtime]
    let first = Math.min(queue.plain.sinceOf(client), held.sinceOf(client))
    for (const lane of queue.all) first = Math.min(first, lane.queue.sinceOf(client))
    // Those that it holds back have not arrived.
    return first === Infinity ? since : Math.max(since, first)
  }

  /** Tasks of a client with requirements that no worker meets, longest waiting first. */
  #lacking(client: ClientEntry): readonly WaitingTasks[] {
    const found: WaitingTasks[] = []
    for (const [lane, spell] of this.#lackingLanes(client.runtime)) {
      const tasks = lane.queue.countOf(client)
      if (tasks === 0) continue
      const { since = this.#state.turn.now } = spell
      const forMS = elapsed(this.#state, Math.max(since, lane.queue.sinceOf(client)))
      const { isServed: isDeadlocked } = lane
      found.push({ reason: 'noCapability', tasks, forMS, needs: needsOf(lane), isDeadlocked })
    }
    return found.toSorted((a, b) => b.forMS - a.forMS).slice(0, MAX_LACKING)
  }

  /** Lanes with tasks that no connected worker could ever run. */
  lackingLanes(runtime: Runtime): readonly Lane[] {
    return this.#lackingLanes(runtime).map(([lane]) => lane)
  }

  #tellLanes(runtime: Runtime): void {
    let lines = 0
    for (const [lane, spell] of this.#lackingLanes(runtime)) {
      const patience = lane.isServed ? FAMILY_PATIENCE_MS : PATIENCE_MS
      if (lines >= MAX_LINES || !spell.isDue(this.#state.turn.now, patience)) continue
      lines += 1
      const { queue } = lane
      const fields = { reason: 'no-capability', needs: needsOf(lane), runtime, tasks: queue.size }
      const first = queue.first === undefined ? {} : taskFields(queue.first)
      this.#state.turn.log('warn', lane.isServed ? DEADLOCK : UNSERVED, { ...fields, ...first })
    }
  }

  /** Lanes with tasks that no connected worker could ever run, and since when. */
  #lackingLanes(runtime: Runtime): readonly (readonly [Lane, Spell])[] {
    const found: (readonly [Lane, Spell])[] = []
    const pool = this.#state.pools[runtime]
    let deadlock: Deadlock | undefined
    const findDeadlock = (): Deadlock => (deadlock ??= pool.queue.deadlock())
    for (const lane of pool.queue.all) {
      const cannotRun = !lane.isServed || lane.isBlocked(findDeadlock)
      const isLacking = pool.workerCount > 0 && lane.queue.size > 0 && cannotRun
      let spell = this.#lanes.get(lane)
      if (spell === undefined) {
        if (!isLacking) continue
        this.#lanes.set(lane, (spell = new Spell()))
      }
      spell.update(isLacking, this.#state.turn.now)
      if (isLacking) found.push([lane, spell])
    }
    return found
  }

  #updateRuntime(runtime: Runtime): void {
    const pool = this.#state.pools[runtime]
    const [unserved, full] = [this.#unserved[runtime], this.#full[runtime]]
    if (pool.workerCount === 0 || unserved.since !== undefined) {
      const wasServed = unserved.since === undefined
      unserved.update(pool.waiting > 0 && pool.workerCount === 0, this.#state.turn.now)
      if (wasServed && unserved.since !== undefined) this.#state.allocators.onUnserved()
    }
    if (full.since === undefined) return
    const free = this.#state.options.maxNumberOfTasksWaiting - pool.overflow
    if (free >= leastRoom(this.#state, pool)) full.update(false, this.#state.turn.now)
  }
}

/** Why queued tasks of a runtime wait. */
function reasonFor({ pools }: SchedulerState, runtime: Runtime): WaitingReason {
  if (pools[runtime].workerCount > 0) return 'all-busy'
  const other = runtime === 'javascript' ? pools.python : pools.javascript
  return other.workerCount > 0 ? 'no-runtime' : 'no-worker'
}

// The number of waiting tasks by reason, requirement and function, for monitors and reports. The
// queues count them (core/scheduler/task/queue.ts); this adds the counts up.
// docs/protocol.md#waiting

/** Maximum number of groups and graphs that are added up. */
const MAX_LOOKS = 10_000

const MAX_ROWS = 200

/** 32 bits. */
const MAX_MS = 2 ** 32 - 1
const MAX_TASKS = 2 ** 32 - 1

/** What is counted together, apart from the function. */
type Kind = Pick<WaitingCount, 'reason' | 'needs' | 'isPython'>

/** A queue with the reason why its tasks wait. */
interface Place extends Kind {
  readonly queue: TaskQueue
}

interface Row extends Kind {
  readonly name: string
  tasks: number
  since: InstantMs
}

/** The number of all waiting tasks by reason. `waitingCounts` lists only the largest groups. */
export function waitingTotals(state: SchedulerState): ReadonlyMap<WaitReason, number> {
  const totals = new Map<WaitReason, number>()
  const add = (reason: WaitReason, tasks: number): void => {
    totals.set(reason, (totals.get(reason) ?? 0) + tasks)
  }
  for (const { reason, queue } of placesOf(state)) add(reason, queue.size)
  let dependency = 0
  for (const { client, kinds } of state.graphWork.graphs) {
    const { runtime } = client
    for (const { options, waiting, ready } of kinds) {
      dependency += waiting
      if (ready === 0) continue
      const requirement = requirementOf(state, options)
      add(state.waiting.reasonOf({ runtime, requirement }).reason, ready)
    }
  }
  add('dependency', dependency)
  return totals
}

/** The largest counts first. */
export function waitingCounts(state: SchedulerState): readonly WaitingCount[] {
  const rows = new Map<string, Row>()
  let looks = MAX_LOOKS
  const add = (place: Kind, { counts, tasks, since }: WaitingGroup): void => {
    const name = counts?.name ?? ''
    const { reason, needs, isPython } = place
    const key = `${reason} ${isPython} ${name} ${needs}`
    const row = rows.get(key)
    if (row === undefined) rows.set(key, { reason, needs, isPython, name, tasks, since })
    else {
      row.tasks += tasks
      row.since = Math.min(row.since, since)
    }
  }
  for (const place of placesOf(state)) {
    if (looks < 0) break
    for (const group of place.queue.groups()) {
      if ((looks -= 1) < 0) break
      add(place, group)
    }
  }
  for (const graph of state.graphWork.graphs) {
    if ((looks -= 1) < 0) break
    for (const kind of graph.kinds) {
      if ((looks -= 1) < 0) break
      if (kind.waiting + kind.ready > 0) addNodes(state, graph.client.runtime, kind, add)
    }
  }
  const most = [...rows.values()].toSorted((a, b) => b.tasks - a.tasks).slice(0, MAX_ROWS)
  return most.map(({ reason, needs, isPython, name, tasks, since }) => ({
    reason,
    needs,
    isPython,
    function: name,
    tasks: Math.min(tasks, MAX_TASKS),
    forMS: Math.min(Math.floor(state.turn.now - since), MAX_MS),
  }))
}

/** Adds nodes of a graph that are not tasks yet. How long they have waited is unknown. */
function addNodes(
  state: SchedulerState,
  runtime: Runtime,
  { functionId, options, waiting, ready }: NodeKind,
  add: (place: Kind, group: WaitingGroup) => void,
): void {
  const requirement = requirementOf(state, options)
  const counts = state.functions.of(state.objects.get(functionId))
  const nodes = { counts, since: state.turn.now }
  const needs = requirement?.key ?? ''
  const isPython = runtime === 'python'
  if (waiting > 0) add({ reason: 'dependency', needs, isPython }, { ...nodes, tasks: waiting })
  if (ready === 0) return
  const why = state.waiting.reasonOf({ runtime, requirement })
  add({ reason: why.reason, needs: why.needs || needs, isPython }, { ...nodes, tasks: ready })
}

function requirementOf(
  { requirements }: SchedulerState,
  { capabilities }: NodeKind['options'],
): Requirement | undefined {
  const found = requirements.of(capabilities)
  return found === 'refused' ? undefined : found
}

function* placesOf(state: SchedulerState): Iterable<Place> {
  for (const runtime of ['javascript', 'python'] satisfies Runtime[]) {
    const { queue, held } = state.pools[runtime]
    const reason = waitReasonOf(reasonFor(state, runtime))
    const isPython = runtime === 'python'
    yield { reason, needs: '', isPython, queue: queue.plain }
    yield { reason, needs: '', isPython, queue: held }
    const lacking = new Set(state.waiting.lackingLanes(runtime))
    for (const lane of queue.all) {
      const isLacking = reason === 'allBusy' && lacking.has(lane)
      const needs = isLacking ? needsOf(lane) : lane.requirement.key
      yield { reason: isLacking ? 'noCapability' : reason, needs, isPython, queue: lane.queue }
    }
  }
}

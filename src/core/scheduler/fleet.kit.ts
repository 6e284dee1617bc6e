// For tests: workers on a virtual clock that run their tasks one by one, in order, and answer as
// specified in docs/protocol.md#cancel. Messages can have a latency.

import { identity } from '../../base/ids.js'
import {
  decode,
  encode,
  type Message,
  type Task,
  type TaskResult,
  type TaskStatus,
} from '../../wire/message.js'
import type { SchedulerAction } from './events.js'
import { result, withPeers, workerHeartbeat, type TestScheduler } from './scheduler.kit.js'

/** These tests are about work, not about silence. */
const PATIENCE = { clientTimeoutMs: 1e9, workerTimeoutMs: 1e9, workerSilenceMs: 1e9 }

/** A worker of the fleet. The first task is the one that runs. */
interface FleetWorker {
  readonly name: string
  readonly tasks: string[]
  /** The newest attempt of each task that it received. */
  readonly attempts: Map<string, number>
  /** Since when it has been idle. */
  idleSince: number
  endsAt: number
}

interface Delivery {
  readonly at: number
  readonly to: string
  readonly message: Message
}

/** The options of a fleet. */
export interface FleetOptions {
  /** How long a task takes, in milliseconds. */
  readonly durationOf: (id: string) => number
  /** The latency of a message. */
  readonly latencyMs?: number
  readonly loadBalanceMs?: number
}

/** A scheduler with its workers. */
export class Fleet {
  readonly scheduler: TestScheduler
  /** How the tasks ended, as reported to their clients. */
  readonly outcomes: Map<string, TaskStatus> = new Map()
  /** How many times each task was begun. */
  readonly begun: Map<string, number> = new Map()
  /** How many times each task was recalled. */
  readonly recalls: Map<string, number> = new Map()
  /** The longest time that a worker was idle while another had a task to begin. */
  longestWasteMs = 0
  /** The number of events that the scheduler has handled. */
  steps = 0
  now = 0
  readonly #options: FleetOptions
  readonly #workers = new Map<string, FleetWorker>()
  /** In order of arrival. */
  readonly #links: Delivery[] = []

  constructor(options: FleetOptions) {
    this.#options = options
    const { loadBalanceMs = 100 } = options
    this.scheduler = withPeers({ clients: ['C'] }, { ...PATIENCE, loadBalanceMs })
  }

  /** The tasks of a worker, the running one first. */
  tasksOf(worker: string): readonly string[] {
    return this.#workers.get(worker)?.tasks ?? []
  }

  join(name: string): void {
    const nothing = { tasks: [], attempts: new Map(), endsAt: Infinity }
    this.#workers.set(name, { name, idleSince: this.now, ...nothing })
    this.say(name, workerHeartbeat())
  }

  /** A worker crashes with all its tasks. */
  crash(name: string): void {
    this.#workers.delete(name)
    for (const delivery of this.#links.filter(({ to }) => to === `from ${name}`)) {
      this.#links.splice(this.#links.indexOf(delivery), 1)
    }
    this.#handle({ type: 'peerDisconnected', peer: identity(name) })
  }

  /** A peer sends a message, which arrives immediately. */
  say(from: string, message: Message): void {
    const decoded = decode(encode(message))
    this.#handle({ type: 'messageReceived', from: identity(from), message: decoded })
  }

  /** Lets time pass. */
  runTo(until: number): void {
    for (let at = this.#nextAt(); at <= until; at = this.#nextAt()) this.#step(at)
    this.#moveTo(until)
  }

  /** Lets time pass until all work is done. */
  runOut(): void {
    while (this.#isBusy) this.#step(this.#nextAt())
  }

  get #isBusy(): boolean {
    if (this.#links.length > 0) return true
    return [...this.#workers.values()].some(({ tasks }) => tasks.length > 0)
  }

  #nextAt(): number {
    const ends = [...this.#workers.values()].map(({ endsAt }) => endsAt)
    const arrival = this.#links[0]?.at ?? Infinity
    return Math.min(this.scheduler.machine.deadline ?? Infinity, arrival, ...ends)
  }

  #step(at: number): void {
    this.#moveTo(Math.max(at, this.now))
    const delivery = this.#links[0]
    const done = [...this.#workers.values()].find(({ endsAt }) => endsAt <= this.now)
    if (delivery !== undefined && delivery.at <= this.now) {
      this.#links.shift()
      this.#deliver(delivery)
    } else if (done !== undefined) this.#finish(done)
    else this.#handle({ type: 'tick' })
  }

  #moveTo(now: number): void {
    this.now = now
    const workers = [...this.#workers.values()]
    if (!workers.some(({ tasks }) => tasks.length > 1)) {
      for (const worker of workers) if (worker.tasks.length === 0) worker.idleSince = now
    }
    for (const { tasks, idleSince } of workers) {
      if (tasks.length > 0) continue
      this.longestWasteMs = Math.max(this.longestWasteMs, now - idleSince)
    }
  }

  #finish(worker: FleetWorker): void {
    const id = worker.tasks.shift() as string
    this.#begin(worker)
    const ms = this.#options.durationOf(id)
    this.#send(worker, result(id, 'success', ms / 1000))
  }

  #begin(worker: FleetWorker): void {
    const [id] = worker.tasks
    if (id === undefined) worker.idleSince = this.now
    else this.begun.set(id, (this.begun.get(id) ?? 0) + 1)
    worker.endsAt = id === undefined ? Infinity : this.now + this.#options.durationOf(id)
  }

  #deliver({ to, message }: Delivery): void {
    if (to.startsWith('from ')) {
      this.say(to.slice('from '.length), message)
      return
    }
    const worker = this.#workers.get(to)
    if (worker === undefined) return
    if (message.kind === 'task') this.#onTask(worker, message)
    if (message.kind === 'taskCancel') this.#onCancel(worker, message.taskId, message.flags.force)
  }

  #onTask(worker: FleetWorker, { taskId, attempt }: Task): void {
    worker.attempts.set(taskId, attempt)
    worker.tasks.push(taskId)
    if (worker.tasks.length === 1) this.#begin(worker)
  }

  #onCancel(worker: FleetWorker, id: string, force: boolean): void {
    const at = worker.tasks.indexOf(id)
    const isDropped = at > 0 || (at === 0 && force)
    if (isDropped) worker.tasks.splice(at, 1)
    this.#send(worker, result(id, isDropped ? 'canceled' : 'notFound'))
    if (isDropped && at === 0) this.#begin(worker)
  }

  #send({ name, attempts }: FleetWorker, message: TaskResult): void {
    const attempt = attempts.get(message.taskId) ?? 0
    this.#post(`from ${name}`, { ...message, attempt })
  }

  #post(to: string, message: Message): void {
    this.#links.push({ at: this.now + (this.#options.latencyMs ?? 0), to, message })
  }

  #handle(event: Parameters<typeof this.scheduler.machine.handle>[0]): void {
    const { machine } = this.scheduler
    this.steps += 1
    const actions: SchedulerAction[] = []
    machine.handle(event, this.now, (action) => actions.push(action))
    for (const action of actions) this.#onAction(action)
  }

  #onAction(action: SchedulerAction): void {
    if (action.type !== 'send' && action.type !== 'forward') return
    const message = action.type === 'send' ? action.message : decode(action.bytes)
    if (message.kind === 'taskResult') this.outcomes.set(message.taskId, message.status)
    if (message.kind === 'taskCancel' && !message.flags.force) {
      this.recalls.set(message.taskId, (this.recalls.get(message.taskId) ?? 0) + 1)
    }
    this.#post(action.to, message)
  }
}

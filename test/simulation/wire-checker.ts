// Whether schedulers and workers follow the protocol, seen from the scheduler's connections: no
// task is sent to a worker that has it, none is answered more often than it was sent.

import type { Identity, SchedulerId, TaskId } from '#src/base/ids.js'
import type { Message, Task } from '#src/wire/message.js'
import { countOf, nthTaskId } from '#src/wire/run.js'
import { describeMessage, showId } from './describe.js'
import type { GivenTask } from './calm.js'
import type { Journal } from './journal.js'
import { linkIdOf } from './processor-run.js'
import type { SchedulerWatcher } from './scheduler-host.js'
import { Violation } from './violation.js'

/** The messages over one connection about one task. */
interface Count {
  asked: number
  answered: number
  cancelled: number
  notFound: number
  /** Links that the worker has dropped with the task before them; their answers follow. */
  dropped: number
}

type Counts = Map<TaskId, Count>

interface Given extends GivenTask {
  readonly peer: string
}

/** Watches all schedulers of a world. */
export class WireChecker implements SchedulerWatcher {
  /** By scheduler and peer. */
  readonly #counts = new Map<string, Counts>()
  readonly #workers = new Set<string>()
  readonly #journal: Journal
  readonly #now: () => number
  /** The tasks that workers have and have not answered. */
  readonly #given = new Map<string, Given>()

  /** By peer and task: the task that was given behind it. */
  readonly #links = new Map<string, TaskId>()

  constructor(journal: Journal, now: () => number) {
    this.#journal = journal
    this.#now = now
  }

  /** The tasks that workers have, and were not asked to cancel. */
  get given(): readonly GivenTask[] {
    return [...this.#given.values()]
  }

  /** The world has ended: nothing is counted any more. */
  forget(): void {
    this.#counts.clear()
    this.#given.clear()
  }

  onReceived(scheduler: SchedulerId, from: Identity, message: Message): void {
    const peer = `${scheduler} ${from}`
    if (message.kind === 'workerHeartbeat') this.#workers.add(peer)
    if (message.kind === 'disconnectRequest') this.#workers.delete(peer)
    const isWorker = this.#workers.has(peer)
    switch (message.kind) {
      case 'task':
        for (const id of idsOf(message)) this.#countOf(peer, id).asked += 1
        break
      case 'graphTask':
        this.#countOf(peer, message.taskId).asked += 1
        for (const id of message.targets) this.#countOf(peer, id).asked += 1
        break
      case 'graphTaskCancel':
        this.#countOf(peer, message.taskId).cancelled += 1
        break
      case 'taskCancel':
        for (const id of idsOf(message)) this.#countOf(peer, id).cancelled += 1
        break
      case 'taskResult':
        if (isWorker) for (const id of idsOf(message)) this.#onWorkerResult(peer, id, message)
        break
      default:
    }
  }

  onSent(scheduler: SchedulerId, to: Identity, message: Message): void {
    const peer = `${scheduler} ${to}`
    if (message.kind === 'task') {
      const at = this.#checkLink(peer, message) ? Infinity : this.#now()
      for (const id of idsOf(message)) {
        this.#onTaskGiven(peer, id)
        this.#given.set(`${peer} ${id}`, { peer, worker: to, taskId: id, at })
      }
    } else if (message.kind === 'taskCancel') {
      for (const id of idsOf(message)) {
        this.#countOf(peer, id).cancelled += 1
        if (message.flags.force) this.#given.delete(`${peer} ${id}`)
      }
    }
    if (message.kind !== 'taskResult') return
    for (const id of idsOf(message)) this.#onClientResult(peer, id, message)
  }

  onDisconnected(scheduler: SchedulerId, peer: Identity): void {
    const key = `${scheduler} ${peer}`
    if (this.#workers.delete(key)) {
      this.#journal.workerLosses += 1
      this.#counts.delete(key)
      for (const [id, { peer: holder }] of this.#given) if (holder === key) this.#given.delete(id)
    }
  }

  /** A task that needs the result of another one follows it to its worker. False: it needs none. */
  #checkLink(peer: string, message: Task): boolean {
    const before = linkIdOf(message)
    if (before === undefined) return false
    if (!this.#given.has(`${peer} ${before}`)) {
      throw new Violation('wire', `${peer} is given a link behind a task that it does not have`)
    }
    this.#links.set(`${peer} ${before}`, message.taskId)
    return true
  }

  /** A task of a worker has a value for the one behind it, which may start. */
  #freeLink(peer: string, before: TaskId): void {
    const key = `${peer} ${this.#links.get(`${peer} ${before}`) ?? ''}`
    const link = this.#given.get(key)
    if (link !== undefined) this.#given.set(key, { ...link, at: this.#now() })
  }

  /** A task of a worker has no value for those behind it. */
  #dropLinks(peer: string, before: TaskId): void {
    const key = `${peer} ${before}`
    const id = this.#links.get(key)
    this.#links.delete(key)
    if (id === undefined || !this.#given.delete(`${peer} ${id}`)) return
    this.#countOf(peer, id).dropped += 1
    this.#dropLinks(peer, id)
  }

  #onTaskGiven(peer: string, id: TaskId): void {
    const count = this.#countOf(peer, id)
    if (!this.#workers.has(peer)) {
      throw new Violation('wire', `${peer} is given ${showId(id)}, and is no worker`)
    }
    const { asked, answered, notFound, cancelled, dropped } = count
    if (asked > answered + notFound + cancelled + dropped) {
      throw new Violation('wire', `${peer} is given ${showId(id)} while it has it`)
    }
    count.asked += 1
  }

  #onWorkerResult(peer: string, id: TaskId, message: Message & { kind: 'taskResult' }): void {
    const count = this.#countOf(peer, id)
    if (message.status === 'notFound') count.notFound += 1
    else count.answered += 1
    const isLate = message.status === 'canceled' && count.dropped > 0
    if (isLate) count.dropped -= 1
    else if (message.status !== 'notFound') this.#given.delete(`${peer} ${id}`)
    const hasValue = message.status === 'success' && message.inlineResults.length > 0
    if (hasValue) this.#freeLink(peer, id)
    else if (!isLate) this.#dropLinks(peer, id)
    const isTooMuch = count.answered + count.notFound > count.asked + count.cancelled
    if (!isTooMuch) return
    throw new Violation('wire', `${peer} answers too often: ${describeMessage(message)}`)
  }

  #onClientResult(peer: string, id: TaskId, message: Message & { kind: 'taskResult' }): void {
    const count = this.#countOf(peer, id)
    count.answered += 1
    if (count.answered <= count.asked + count.cancelled) return
    throw new Violation('wire', `${peer} is answered too often: ${describeMessage(message)}`)
  }

  #countOf(peer: string, id: TaskId): Count {
    let counts = this.#counts.get(peer)
    if (counts === undefined) {
      counts = new Map()
      this.#counts.set(peer, counts)
    }
    let count = counts.get(id)
    if (count === undefined) {
      count = { asked: 0, answered: 0, cancelled: 0, notFound: 0, dropped: 0 }
      counts.set(id, count)
    }
    return count
  }
}

/** The tasks that a message is about. */
function idsOf(message: { readonly taskId: TaskId; readonly count: number }): readonly TaskId[] {
  return Array.from({ length: countOf(message) }, (_, at) => nthTaskId(message.taskId, at))
}

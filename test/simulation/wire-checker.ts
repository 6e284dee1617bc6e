// Whether schedulers and workers follow the protocol, seen from the scheduler's connections: no
// task is sent to a worker that has it, none is answered more often than it was sent.

import type { Identity, SchedulerId, TaskId } from '#src/base/ids.js'
import type { Message } from '#src/wire/message.js'
import { countOf, nthTaskId } from '#src/wire/run.js'
import { describeMessage, showId } from './describe.js'
import type { GivenTask } from './calm.js'
import type { Journal } from './journal.js'
import type { SchedulerWatcher } from './scheduler-host.js'
import { Violation } from './violation.js'

/** The messages over one connection about one task. */
interface Count {
  asked: number
  answered: number
  cancelled: number
  notFound: number
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
      const at = this.#now()
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

  #onTaskGiven(peer: string, id: TaskId): void {
    const count = this.#countOf(peer, id)
    if (!this.#workers.has(peer)) {
      throw new Violation('wire', `${peer} is given ${showId(id)}, and is no worker`)
    }
    if (count.asked > count.answered + count.notFound + count.cancelled) {
      throw new Violation('wire', `${peer} is given ${showId(id)} while it has it`)
    }
    count.asked += 1
  }

  #onWorkerResult(peer: string, id: TaskId, message: Message & { kind: 'taskResult' }): void {
    const count = this.#countOf(peer, id)
    if (message.status === 'notFound') count.notFound += 1
    else count.answered += 1
    if (message.status !== 'notFound') this.#given.delete(`${peer} ${id}`)
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
      count = { asked: 0, answered: 0, cancelled: 0, notFound: 0 }
      counts.set(id, count)
    }
    return count
  }
}

/** The tasks that a message is about. */
function idsOf(message: { readonly taskId: TaskId; readonly count: number }): readonly TaskId[] {
  return Array.from({ length: countOf(message) }, (_, at) => nthTaskId(message.taskId, at))
}

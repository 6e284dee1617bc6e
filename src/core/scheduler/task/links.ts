// Links: tasks that a worker got right behind the task whose result they need, before they are
// tasks here. They become tasks once that one has succeeded; until then, nothing but these lists
// says that the worker has them. docs/protocol.md#links
//
//   the task before it succeeds ──► a task, which runs on the worker
//   that ends in any other way  ──► lost: the worker returns it, perhaps has done so already
//   the worker returns it       ──► cut, with those behind it: they wait as any node does
//   it has failed               ──► the answer is kept until the task before it has succeeded
//   it was cancelled            ──► cut, with those behind it, and stopped

import { assert } from '../../../base/assert.js'
import { copyOf } from '../../../base/bytes.js'
import type { TaskId } from '../../../base/ids.js'
import type { TaskResult } from '../../../wire/message.js'
import type { Child, ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'

/** The most links behind one task. */
export const MAX_LINKS = 256

/** A worker that has yet to return this many links gets no more. */
const MAX_LOST = 1_000

/** A node of a graph that a worker has as a link. */
export interface Link {
  /** Its position in the graph. */
  readonly node: number
  readonly id: TaskId
  readonly expectedSeconds: number
  /**
   * How it has failed, if it has: its processor ended or was ended, and the result of the task
   * before it, which has to run again, was lost there.
   */
  failure: TaskResult | undefined
  /** What it has submitted: the task before it has succeeded, but its result is in transit. */
  children: Child[] | undefined
}

/** The links behind one task, in order: each needs the result of the one before. */
export class Links {
  readonly worker: WorkerEntry
  readonly #links: Link[] = []
  /** Those before this one have become tasks. */
  #next = 0
  #seconds = 0

  constructor(worker: WorkerEntry) {
    this.worker = worker
  }

  /** How many there are. */
  get size(): number {
    return this.#links.length - this.#next
  }

  /** How long they are expected to take together. */
  get expectedSeconds(): number {
    return this.size === 0 ? 0 : Math.max(0, this.#seconds)
  }

  /** Adds one behind the others. */
  add(link: Link): void {
    this.#links.push(link)
    this.#seconds += link.expectedSeconds
    const { worker } = this
    worker.links ??= new Map()
    worker.links.set(link.id, this)
  }

  /** The link with this id. */
  find(id: TaskId): Link | undefined {
    return this.#links.find((link, at) => at >= this.#next && link.id === id)
  }

  /** Removes and returns the first one. */
  take(): Link | undefined {
    const link = this.#links[this.#next]
    if (link === undefined) return undefined
    this.#next += 1
    this.#forget(link)
    return link
  }

  /** Removes a link and all those behind it, and returns them. */
  cut(id: TaskId): readonly Link[] {
    const at = this.#links.findIndex((link) => link.id === id)
    return at < this.#next ? [] : this.#cutAt(at)
  }

  /** Removes and returns those behind a link. */
  cutBehind(link: Link): readonly Link[] {
    return this.#cutAt(this.#links.indexOf(link) + 1)
  }

  /** Removes and returns all of them. */
  clear(): readonly Link[] {
    return this.#cutAt(this.#next)
  }

  /** All of them, for checks. */
  get all(): readonly Link[] {
    return this.#links.slice(this.#next)
  }

  #cutAt(at: number): readonly Link[] {
    const links = this.#links.splice(at)
    for (const link of links) this.#forget(link)
    return links
  }

  #forget({ id, expectedSeconds }: Link): void {
    this.#seconds -= expectedSeconds
    this.worker.links?.delete(id)
  }
}

/** Whether a worker may get this task as a link, and returns links as it should. */
export function mayGetLink({ links, lostLinks }: WorkerEntry, id: TaskId): boolean {
  return links?.has(id) !== true && (lostLinks?.size ?? 0) < MAX_LOST
}

/** The links behind a task, if there are any. */
export function linksOf({ node }: TaskEntry): Links | undefined {
  return node?.links !== undefined && node.links.size > 0 ? node.links : undefined
}

/** The link in which a client was created that names this task as a parent, if it is none yet. */
export function parentLink({ host }: ClientEntry, parent: TaskId): Link | undefined {
  return parent === '' ? undefined : host?.links?.get(parent)?.find(parent)
}

/** A link has submitted a task or graph. */
export function addChild(link: Link, child: Child): void {
  link.children ??= []
  link.children.push(child)
}

/**
 * A task has left its worker, without a value for the links behind it: the worker has dropped them
 * by the time it reads anything else from here. It returns each of them, perhaps later than now.
 */
export function loseLinks(state: SchedulerState, task: TaskEntry, worker: WorkerEntry): void {
  for (const link of linksOf(task)?.clear() ?? []) lose(state, worker, link)
}

/** A task was lost with its worker, and so were the links behind it. */
export function forgetLinks(state: SchedulerState, task: TaskEntry): void {
  for (const link of linksOf(task)?.clear() ?? []) release(state, link)
}

/**
 * A worker answers a task that it does not have as far as is known here. Returns whether it was a
 * link there.
 */
export function answerLink(
  state: SchedulerState,
  worker: WorkerEntry,
  message: TaskResult,
): boolean {
  const { taskId, status } = message
  const links = worker.links?.get(taskId)
  const link = links?.find(taskId)
  if (links === undefined || link === undefined || status === 'notFound') return false
  // It drops those behind as well.
  for (const other of links.cutBehind(link)) lose(state, worker, other)
  if (status === 'failed' && link.failure === undefined) link.failure = ownCopyOf(message)
  else {
    state.objects.drop(message.results)
    for (const one of links.cut(taskId)) release(state, one)
  }
  return true
}

/** Releases what a former link has brought: it did not become a task. */
export function release(state: SchedulerState, link: Link): void {
  const { failure, children } = link
  link.failure = undefined
  link.children = undefined
  if (failure !== undefined) state.objects.drop(failure.results)
  if (children === undefined) return
  state.ownerless.add(children)
  state.ownerless.drain()
}

/** Throws if the links of a worker are not those behind its tasks. */
export function checkLinks({ links, assigned }: WorkerEntry): void {
  let count = 0
  for (const task of assigned) {
    for (const { id } of linksOf(task)?.all ?? []) {
      count += 1
      assert(links?.get(id) === task.node?.links, 'a worker does not list a link')
    }
  }
  assert(count === (links?.size ?? 0), 'a worker lists a link behind no task')
}

/** The worker returns a link, unless it has answered it. */
function lose(state: SchedulerState, worker: WorkerEntry, link: Link): void {
  if (link.failure === undefined) {
    worker.lostLinks ??= new Set()
    worker.lostLinks.add(link.id)
  }
  release(state, link)
}

function ownCopyOf(message: TaskResult): TaskResult {
  const metadata = copyOf(message.metadata)
  const inlineResults = message.inlineResults.map((chunk) => copyOf(chunk))
  return { ...message, metadata, inlineResults, packed: copyOf(message.packed), bytes: undefined }
}

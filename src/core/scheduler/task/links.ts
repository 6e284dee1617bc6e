// Links: tasks that a worker got right behind the task whose result they need, before they are
// tasks here. They become tasks once that one has succeeded; until then, nothing but this list
// says that the worker has them. docs/protocol.md#links

import type { TaskId } from '../../../base/ids.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'

/** The most links behind one task. */
export const MAX_LINKS = 256

/** A node of a graph that a worker has as a link. */
export interface Link {
  /** Its position in the graph. */
  readonly node: number
  readonly id: TaskId
  readonly expectedSeconds: number
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
  }

  /** Removes and returns the first one. */
  take(): Link | undefined {
    const link = this.#links[this.#next]
    if (link === undefined) return undefined
    this.#next += 1
    this.#seconds -= link.expectedSeconds
    return link
  }

  /** Removes a link and all those behind it, and returns them. Undefined: it is not here. */
  cut(id: TaskId): readonly Link[] | undefined {
    const at = this.#links.findIndex((link) => link.id === id)
    if (at < this.#next) return undefined
    const links = this.#links.splice(at)
    for (const link of links) this.#seconds -= link.expectedSeconds
    return links
  }
}

/**
 * A task has left its worker, without a value for the links behind it: the worker has dropped them
 * by the time it reads anything else from here. It returns each of them, perhaps later than now.
 */
export function loseLinks(task: TaskEntry, worker: WorkerEntry): void {
  const links = linksOf(task)
  if (links === undefined) return
  for (let link = links.take(); link !== undefined; link = links.take()) expect(worker, link)
}

/** The worker will return a link. */
function expect(worker: WorkerEntry, { id }: Link): void {
  worker.lostLinks ??= new Set()
  worker.lostLinks.add(id)
}

/** A worker returns a task that is not one here. Returns whether it was a link there. */
export function cutLink(worker: WorkerEntry, id: TaskId): boolean {
  for (const task of worker.assigned) {
    const links = linksOf(task)?.cut(id)
    if (links === undefined) continue
    // It returns those behind as well.
    for (const link of links.slice(1)) expect(worker, link)
    return true
  }
  return false
}

/** The links behind a task, if there are any. */
export function linksOf({ node }: TaskEntry): Links | undefined {
  return node?.links !== undefined && node.links.size > 0 ? node.links : undefined
}

// Failures with the same cause, as far as texts show: those of one function with the same error,
// whatever numbers and ids its message has.

import type { FailureInfo } from '../../client/monitor/cluster-info.js'

/** Failures that are alike. The texts are those of the last one. */
export interface FailureGroup {
  /** Names the group as long as it is kept. */
  readonly id: string
  readonly function: string
  readonly errorName: string
  readonly message: string
  readonly stack: string
  readonly count: number
  readonly first: Date
  readonly last: Date
  /** The last tasks, newest first; at most 10. */
  readonly tasks: readonly string[]
  /** On how many of its failures each worker had the task; at most 10 workers. */
  readonly workers: readonly PeerCount[]
  /** How many of its failures are of tasks of each client; at most 10 clients. */
  readonly clients: readonly PeerCount[]
}

/** A peer by its identity, and how many failures it is concerned with. */
export interface PeerCount {
  readonly id: string
  readonly count: number
}

const MAX_GROUPS = 200
const MAX_TASKS = 10
const MAX_PEERS = 10
/** More than a scheduler keeps, since each of its failures is listed once per report. */
const MAX_SEEN = 4_000

/** The groups; at most 200, those that failed last. */
export class FailureGroups {
  /** In the order of their last failures. */
  readonly #groups = new Map<string, FailureGroup>()
  /** Tasks that are counted. */
  readonly #seen = new Set<string>()
  #last: FailureInfo | undefined

  /** All failures that the scheduler keeps, the oldest first. Returns those that are new. */
  update(failures: readonly FailureInfo[]): readonly FailureInfo[] {
    const newest = failures.at(-1)
    if (newest === undefined || newest === this.#last) return []
    const known = this.#last === undefined ? -1 : failures.lastIndexOf(this.#last)
    this.#last = newest
    const news = failures.slice(known + 1).filter(({ task }) => !this.#seen.has(task))
    for (const failure of news) this.#add(failure)
    return news
  }

  /** The last failure first. */
  list(): readonly FailureGroup[] {
    return [...this.#groups.values()].reverse()
  }

  #add(failure: FailureInfo): void {
    this.#seen.add(failure.task)
    trim(this.#seen, MAX_SEEN)
    const id = groupId(failure)
    const { function: name, errorName, message, stack, time, task, worker, client } = failure
    const before = this.#groups.get(id)
    this.#groups.delete(id)
    this.#groups.set(id, {
      id,
      function: name,
      errorName,
      message,
      stack,
      count: (before?.count ?? 0) + 1,
      first: before?.first ?? time,
      last: time,
      tasks: [task, ...(before?.tasks ?? [])].slice(0, MAX_TASKS),
      workers: withPeer(before?.workers ?? [], worker),
      clients: withPeer(before?.clients ?? [], client),
    })
    trim(this.#groups, MAX_GROUPS)
  }
}

/** The same for failures that are alike. */
export function groupId({ function: name, errorName, message }: FailureInfo): string {
  const [line = ''] = message.split('\n', 1)
  return JSON.stringify([name, errorName, line.slice(0, 200).replaceAll(VARIABLE, '#')])
}

/** Ids and numbers: `7`, `-0.5`, `1,000`, `2e-7`. A minus between words is a hyphen. */
const VARIABLE = /[\da-f]{8,}|(?:(?<![\w.])-)?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?/gi

function withPeer(peers: readonly PeerCount[], id: string | undefined): readonly PeerCount[] {
  if (id === undefined) return peers
  const known = peers.find((peer) => peer.id === id)
  if (known === undefined && peers.length === MAX_PEERS) return peers
  const others = peers.filter((peer) => peer !== known)
  return [{ id, count: (known?.count ?? 0) + 1 }, ...others].sort((a, b) => b.count - a.count)
}

/** Removes the oldest. */
function trim(table: Set<string> | Map<string, unknown>, max: number): void {
  for (const oldest of table.keys()) {
    if (table.size <= max) return
    table.delete(oldest)
  }
}

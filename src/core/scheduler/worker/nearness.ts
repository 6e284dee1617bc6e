// Which workers are near the large input of a task: those that have it, and those on the machine
// where it is. One of them gets the task, unless only others are idle.

import { assert } from '../../../base/assert.js'
import { bytesToLatin1 } from '../../../base/bytes.js'
import { objectId } from '../../../base/ids.js'
import type { TaskArgument } from '../../../wire/message.js'
import { storedContentOf } from '../../../wire/object-content.js'
import type { ObjectEntry, TaskEntry, WorkerEntry } from '../entries.js'
import type { ObjectTable } from '../object/table.js'
import { activeCount, avoidedBy, inputOf, type PoolRules, ranksBefore } from './load.js'
import { fits } from './capabilities.js'

/** Maximum number of workers that are compared at a time: those with the input, or of a machine. */
const MAX_LOOKS = 32

/** A smaller input is fetched by whichever machine the task comes to. */
const MIN_NEAR_BYTES = 256 * 1024

/** The largest stored object among the arguments of a task; undefined: none has `minBytes`. */
export function largestInput(
  objects: ObjectTable,
  functionArgs: readonly TaskArgument[],
  minBytes: number = MIN_NEAR_BYTES,
): ObjectEntry | undefined {
  let largest: ObjectEntry | undefined
  let largestBytes = minBytes - 1
  for (const { type, data: id } of functionArgs) {
    if (type !== 'objectID' && type !== 'sharedObjectID') continue
    const entry = objects.get(objectId(bytesToLatin1(id)))
    if (entry === undefined || entry.bytes <= largestBytes) continue
    largest = entry
    largestBytes = entry.bytes
  }
  return largest
}

/** The machines of workers and object storage servers. */
export class Nearness {
  readonly #byMachine = new Map<string, Set<WorkerEntry>>()
  /** The machines of object storage servers, by their addresses. */
  #servers: ReadonlyMap<string, string> = new Map()

  /** A worker says on which machine it is. */
  join(worker: WorkerEntry): void {
    const machine = machineOf(worker)
    if (machine === '') return
    const workers = this.#byMachine.get(machine)
    if (workers === undefined) this.#byMachine.set(machine, new Set([worker]))
    else workers.add(worker)
  }

  leave(worker: WorkerEntry): void {
    const machine = machineOf(worker)
    const workers = this.#byMachine.get(machine)
    if (workers?.delete(worker) === true && workers.size === 0) this.#byMachine.delete(machine)
  }

  /** The machines of all object storage servers, as far as they are known. */
  setServers(machines: ReadonlyMap<string, string>): void {
    this.#servers = machines
  }

  /**
   * The worker for a task: `first`, which ranks first, or one that is nearer to its largest input,
   * if that has room and no other worker idles instead.
   */
  nearest(task: TaskEntry, first: WorkerEntry, rules: PoolRules): WorkerEntry {
    const input = inputOf(task)
    if (input === undefined || input.holders.has(first)) return first
    const holder = bestOf(input.holders, { task, first, rules })
    if (holder !== undefined || input.bytes < MIN_NEAR_BYTES) return holder ?? first
    for (const machine of this.#machinesOf(input)) {
      if (machine === machineOf(first)) return first
      const workers = this.#byMachine.get(machine) ?? []
      const near = bestOf(workers, { task, first, rules })
      if (near !== undefined) return near
    }
    return first
  }

  /** Where the content is: a server's machine, or those of some of its holders. */
  #machinesOf({ type, chunks, holders }: ObjectEntry): ReadonlySet<string> {
    const machines = new Set<string>()
    const server = type === 'stored' ? storedContentOf(chunks)?.address : undefined
    if (server !== undefined) machines.add(this.#servers.get(server) ?? '')
    // Thousands may be on one machine, or on none that is known.
    let looks = MAX_LOOKS
    for (const holder of holders) {
      if ((looks -= 1) < 0) break
      machines.add(machineOf(holder))
    }
    machines.delete('')
    return machines
  }

  /** Throws if a worker is listed that is not there. */
  checkInvariants(isThere: (worker: WorkerEntry) => boolean): void {
    for (const [machine, workers] of this.#byMachine) {
      assert(workers.size > 0, 'a machine without workers')
      for (const worker of workers) {
        assert(isThere(worker) && machineOf(worker) === machine, 'a worker on another machine')
      }
    }
  }
}

/** A choice among workers. */
interface Choice {
  readonly task: TaskEntry
  readonly first: WorkerEntry
  readonly rules: PoolRules
}

/** The best of some workers that can take the task now; undefined: none can. */
function bestOf(
  workers: Iterable<WorkerEntry>,
  { task, first, rules }: Choice,
): WorkerEntry | undefined {
  const isAnyoneIdle = activeCount(first) === 0
  let best: WorkerEntry | undefined
  let looks = MAX_LOOKS
  for (const worker of workers) {
    if ((looks -= 1) < 0) break
    if (worker.runtime !== task.runtime || worker.isLeaving) continue
    if (isAnyoneIdle && activeCount(worker) > 0) continue
    if (worker !== first && avoidedBy(task) === worker) continue
    if (!rules.hasRoom(worker, task) || !fits(worker, task)) continue
    if (best === undefined || ranksBefore(worker, best, rules.maxTasks)) best = worker
  }
  return best
}

/** Empty: unknown. */
function machineOf({ info }: WorkerEntry): string {
  return info?.machineId ?? ''
}

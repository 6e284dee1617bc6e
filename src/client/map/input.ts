// The input of a map, synchronous or asynchronous.

import { argumentError } from '../../runtime/call-site.js'
import type { MapRun } from './run.js'
import { WorkerCount } from './window.js'

/** A `map` pulls no input while tasks of this size in total wait to be sent. */
export const MAX_WAITING_BYTES: number = 1024 ** 2

/** Nor while the arguments of unfinished tasks take this much, as they are kept for a reconnect. */
export const MAX_HELD_BYTES: number = 1024 ** 3

// Maps that would submit more if there were room, and those to notify when their client is closed.

/** The maps of one connection. */
export class Feeders {
  /** How many workers they can keep busy. */
  readonly workers: WorkerCount
  readonly #all = new Set<MapRun>()
  /** Those for which there was no room. */
  readonly #starved = new Set<MapRun>()

  /** `requestCount` makes the scheduler report the number of workers. */
  constructor(requestCount: () => void) {
    this.workers = new WorkerCount(requestCount, () => performance.now())
  }

  /** Whether some wait for room. */
  get areStarved(): boolean {
    return this.#starved.size > 0
  }

  /** It is notified when the client is closed, until `detach`. */
  attach(map: MapRun): void {
    this.#all.add(map)
  }

  /** See `attach`. */
  detach(map: MapRun): void {
    this.#all.delete(map)
    this.#starved.delete(map)
  }

  /** It is called once there is room. */
  awaitRoom(map: MapRun): void {
    this.#starved.add(map)
  }

  /** There is room. */
  feed(): void {
    // A copy: a map that gets too little waits again.
    const starved = [...this.#starved]
    this.#starved.clear()
    for (const map of starved) map.feed()
  }

  /** A scheduler has answered on a new connection. `reports`: it can report how many workers. */
  onOpen(reports: boolean): void {
    this.workers.onOpen(reports)
    if (!reports) this.#feedAll()
  }

  /** The scheduler has reported the number of workers. */
  onWorkers(count: number): void {
    if (this.workers.onCount(count)) this.#feedAll()
  }

  /** The client was closed. */
  close(): void {
    for (const map of this.#all) map.onClosed()
  }

  /** The client was cleared. */
  clear(): void {
    for (const map of this.#all) map.onCleared()
  }

  /** Not while a message is handled: only afterwards is it known how much waits to be sent. */
  #feedAll(): void {
    queueMicrotask(() => {
      for (const map of this.#all) map.feed()
    })
  }
}

/** An input from which items are pulled. */
export interface MapInput {
  /** Whether a pull brings its result later, so that the next one has to wait for it. */
  readonly isAsync: boolean
  /** Requests the next input for the map. An asynchronous input never answers from within. */
  pull(map: MapRun): void
  /** No more input is needed: lets the source clean up. Errors of that are ignored. */
  close(): void
}

/**
 * The input from an iterable. Throws `TypeError` if it is not iterable, and errors of the iterable.
 */
export function openInput(inputs: unknown): MapInput {
  const source = inputs as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined
  if (typeof source?.[Symbol.asyncIterator] === 'function') {
    return new AsyncInput(checkIterator((source as AsyncIterable<unknown>)[Symbol.asyncIterator]()))
  }
  if (typeof source?.[Symbol.iterator] === 'function') {
    return new SyncInput(checkIterator((source as Iterable<unknown>)[Symbol.iterator]()))
  }
  throw argumentError(`map: expected an iterable of inputs, got ${typeof inputs}`)
}

class SyncInput implements MapInput {
  readonly isAsync = false
  readonly #iterator: Iterator<unknown>

  constructor(iterator: Iterator<unknown>) {
    this.#iterator = iterator
  }

  pull(map: MapRun): void {
    let step: IteratorResult<unknown>
    try {
      step = checkStep(this.#iterator.next())
    } catch (error) {
      map.onInputError(error)
      return
    }
    if (step.done === true) map.onInputEnd()
    else map.onInput(step.value)
  }

  close(): void {
    try {
      this.#iterator.return?.()
    } catch {
      // The map has ended.
    }
  }
}

class AsyncInput implements MapInput {
  readonly isAsync = true
  readonly #iterator: AsyncIterator<unknown>

  constructor(iterator: AsyncIterator<unknown>) {
    this.#iterator = iterator
  }

  pull(map: MapRun): void {
    void this.#pull(map)
  }

  close(): void {
    void this.#close()
  }

  async #pull(map: MapRun): Promise<void> {
    let step: IteratorResult<unknown>
    try {
      step = checkStep(await this.#iterator.next())
    } catch (error) {
      map.onInputError(error)
      return
    }
    if (step.done === true) map.onInputEnd()
    else map.onInput(step.value)
  }

  async #close(): Promise<void> {
    try {
      await this.#iterator.return?.()
    } catch {
      // The map has ended.
    }
  }
}

function checkIterator<T extends { readonly next: unknown }>(iterator: T): T {
  const given = iterator as { readonly next?: unknown } | null | undefined
  if (typeof given?.next === 'function') return iterator
  throw argumentError('map: the iterator of the inputs has no method next')
}

function checkStep(step: IteratorResult<unknown>): IteratorResult<unknown> {
  if (typeof step === 'object' && step !== null) return step
  throw argumentError(`map: the iterator of the inputs returned ${String(step)}, not an object`)
}

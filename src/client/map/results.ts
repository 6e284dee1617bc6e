// The results of a map until now, and their consumers. Results are either gathered (for `await` and
// `allSettled`) or yielded one by one and not kept (for `for await`): the first use decides.

import { argumentError } from '../../runtime/call-site.js'
import { AssertionError } from '../../base/assert.js'
import { withoutFrames } from '../../base/error-stack.js'
import { TaskCancelledError } from '../../base/errors.js'
import { Fifo } from '../../base/collection/fifo.js'
import type { FailureCount } from '../future/home.js'
import type { Settlers } from '../future/state.js'
import type { MapRun } from './run.js'

// The results of a map by position, without gaps in memory: results arrive in any order, and an
// array that is filled far beyond its end becomes slow.

const PENDING: unique symbol = Symbol('pending')
/** Memory of taken slots is released in runs of at least this length. */
const MIN_DROPPED = 1024

/** Slots for the results of inputs 0, 1, 2, …, which can be taken from the front. */
export class MapSlots {
  #items: unknown[] = []
  /** How many slots were dropped from the front of `#items`. */
  #dropped = 0
  /** The first slot that was not taken. */
  #front = 0

  /** Fills the slots of consecutive inputs. */
  fill(index: number, values: readonly unknown[]): void {
    const items = this.#items
    let at = index - this.#dropped
    while (items.length < at) items.push(PENDING)
    for (const value of values) {
      if (at === items.length) items.push(value)
      else {
        assertPending(items[at], at + this.#dropped)
        items[at] = value
      }
      at += 1
    }
  }

  /** Whether `take` has a result. */
  get isFrontFilled(): boolean {
    const at = this.#front - this.#dropped
    return at < this.#items.length && this.#items[at] !== PENDING
  }

  /** Takes the result at the front. Only if `isFrontFilled`. */
  take(): unknown {
    const at = this.#front - this.#dropped
    const value = this.#items[at]
    this.#items[at] = undefined
    this.#front += 1
    if (at + 1 >= MIN_DROPPED && (at + 1) * 2 >= this.#items.length) this.#drop(at + 1)
    return value
  }

  /** All filled slots that were not taken, as pairs of position and result. */
  entries(): (readonly [index: number, value: unknown])[] {
    const pairs: (readonly [number, unknown])[] = []
    const end = this.#dropped + this.#items.length
    for (let index = this.#front; index < end; index += 1) {
      const value = this.#items[index - this.#dropped]
      if (value !== PENDING) pairs.push([index, value])
    }
    return pairs
  }

  /** Whether the slot of an input is filled. Only while none was taken. */
  isFilled(index: number): boolean {
    return index < this.#items.length && this.#items[index] !== PENDING
  }

  /** All results, when every slot is filled and none was taken. Not a copy. */
  get values(): unknown[] {
    return this.#items
  }

  #drop(count: number): void {
    this.#items = this.#items.slice(count)
    this.#dropped += count
  }
}

function assertPending(slot: unknown, index: number): void {
  if (slot !== PENDING) throw new AssertionError(`a second result for input ${index}`)
}

/** How a map ended. */
export interface MapEnd {
  /** `done`: every task has ended, though not necessarily successfully. */
  readonly kind: 'done' | 'failed' | 'cancelled'
  /** Why, unless it is done. */
  readonly error: unknown
  /** Whether the input was read to its end, so that there is an outcome for each. */
  readonly isInputRead: boolean
}

/** The results of one map. */
export class MapResults {
  readonly #isOrdered: boolean
  readonly #failureCount: FailureCount
  /** Undefined: there was nothing to run. */
  readonly #run: MapRun | undefined
  #use: 'none' | 'gather' | 'iterate' = 'none'
  readonly #slots = new MapSlots()
  /** In order of completion; only used when iterating without order. */
  readonly #queue = new Fifo<readonly [index: number, value: unknown]>()
  #readyCount = 0
  readonly #failures = new Map<number, unknown>()
  #isTolerant = false
  #end: MapEnd | undefined
  #isErrorTaken = false
  #isAbandoned = false
  #gathered: Promise<unknown[]> | undefined
  #gatherers: Settlers<unknown[]> | undefined
  #settled: Promise<PromiseSettledResult<unknown>[]> | undefined
  #settledGatherers: Settlers<PromiseSettledResult<unknown>[]> | undefined
  readonly #asked: Settlers<IteratorResult<unknown>>[] = []

  constructor(isOrdered: boolean, failureCount: FailureCount, run?: MapRun) {
    this.#isOrdered = isOrdered
    this.#failureCount = failureCount
    this.#run = run
  }

  /** How they are taken; `none`: not known yet. */
  get use(): 'none' | 'gather' | 'iterate' {
    return this.#use
  }

  /** Whether results are taken one by one. */
  get isIterated(): boolean {
    return this.#use === 'iterate'
  }

  /** Whether a failure is an outcome like others, and the rest continues. */
  get isTolerant(): boolean {
    return this.#isTolerant
  }

  /** Whether a loop waits for the next result. */
  get isAwaited(): boolean {
    return this.#asked.length > 0
  }

  /** Results that have not been taken. */
  get readyCount(): number {
    return this.#readyCount
  }

  /** Tasks that have failed. */
  get failureCount(): number {
    return this.#failures.size
  }

  /** The tasks of consecutive inputs have returned. */
  succeedAll(index: number, values: readonly unknown[]): void {
    this.#readyCount += values.length
    if (!this.#isQueued) this.#slots.fill(index, values)
    else for (const [at, value] of values.entries()) this.#queue.push([index + at, value])
    if (this.#asked.length > 0) this.#serve()
  }

  /** A task has failed. */
  fail(index: number, error: unknown): void {
    this.#failures.set(index, error)
    this.#gatherers?.reject(error)
  }

  /** There are no more results. */
  finish(end: MapEnd): void {
    this.#end = end
    const isUnseen = this.#use === 'none' && this.#firstError !== undefined
    if (isUnseen && end.kind !== 'cancelled') this.#failureCount.add(this.#firstError)
    this.#settleGatherers(end)
    this.#serve()
  }

  /** All results in input order. The caller handles the rejection. */
  get promise(): Promise<unknown[]> {
    if (this.isIterated) return Promise.reject(argumentError(USED_TWICE))
    this.#claim('gather')
    this.#gathered ??= new Promise((resolve, reject) => {
      this.#gatherers = { resolve, reject }
      const [failure] = this.#failures.values()
      if (this.#failures.size > 0) reject(failure)
      if (this.#end !== undefined) this.#settleGatherers(this.#end)
    })
    return this.#gathered
  }

  /** All outcomes in input order; from now on a failure does not cancel the rest. */
  allSettled(): Promise<PromiseSettledResult<unknown>[]> {
    if (this.isIterated) return Promise.reject(argumentError(USED_TWICE))
    this.#claim('gather')
    this.#isTolerant = true
    this.#settled ??= new Promise((resolve, reject) => {
      this.#settledGatherers = { resolve, reject }
      if (this.#end !== undefined) this.#settleGatherers(this.#end)
    })
    return this.#settled
  }

  /** Results as they arrive. Throws `TypeError` if they are already taken in another way. */
  iterate(): AsyncIterableIterator<unknown> {
    if (this.#use !== 'none') throw argumentError(USED_TWICE)
    if (!this.#isOrdered) for (const pair of this.#slots.entries()) this.#queue.push(pair)
    this.#claim('iterate')
    this.#run?.onConsumed()
    return {
      next: () => this.#next(),
      return: () => this.#return(),
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /** Whether results go through the queue, not the slots. */
  get #isQueued(): boolean {
    return this.#use === 'iterate' && !this.#isOrdered
  }

  get #firstError(): unknown {
    const end = this.#end
    if (end !== undefined && end.kind !== 'done') return end.error
    const [failure] = this.#failures.values()
    return failure
  }

  #claim(use: 'gather' | 'iterate'): void {
    const isFirst = this.#use === 'none'
    this.#use = use
    const hasFailed = this.#end !== undefined && this.#end.kind !== 'cancelled'
    if (isFirst && hasFailed && this.#firstError !== undefined) this.#failureCount.subtract()
  }

  #settleGatherers(end: MapEnd): void {
    const isGood = end.kind === 'done' && this.#failures.size === 0
    if (isGood) this.#gatherers?.resolve(this.#slots.values)
    else this.#gatherers?.reject(this.#firstError)
    if (this.#settledGatherers === undefined) return
    if (end.isInputRead) this.#settledGatherers.resolve(this.#outcomes(end))
    else this.#settledGatherers.reject(end.error)
  }

  #outcomes(end: MapEnd): PromiseSettledResult<unknown>[] {
    const { values } = this.#slots
    return Array.from({ length: this.#run?.inputCount ?? 0 }, (_, index) => {
      if (this.#slots.isFilled(index)) return { status: 'fulfilled', value: values[index] }
      const reason = this.#failures.has(index)
        ? this.#failures.get(index)
        : cancelledInput(index, end.error)
      return { status: 'rejected', reason }
    })
  }

  #next(): Promise<IteratorResult<unknown>> {
    if (this.#isReady) return Promise.resolve(this.#take())
    if (this.#end !== undefined) return this.#takeEnd(this.#end)
    const next = new Promise<IteratorResult<unknown>>((resolve, reject) => {
      this.#asked.push({ resolve, reject })
    })
    // Results that wait for an earlier one do not count while the loop waits for it, too.
    if (this.#readyCount > 0) this.#run?.onConsumed()
    return next
  }

  #return(): Promise<IteratorResult<unknown>> {
    this.#isErrorTaken = true
    this.#isAbandoned = true
    if (this.#end === undefined) this.#run?.onAbandoned()
    return Promise.resolve(NO_MORE)
  }

  /** Whether the next result for the iterator is there. */
  get #isReady(): boolean {
    if (this.#isAbandoned) return false
    return this.#isOrdered ? this.#slots.isFrontFilled : this.#queue.size > 0
  }

  #take(): IteratorResult<unknown> {
    const value = this.#isOrdered ? this.#slots.take() : this.#queue.shift()
    this.#readyCount -= 1
    this.#run?.onConsumed()
    return { done: false, value }
  }

  /** The error once, after the results that came before it; then nothing. */
  #takeEnd(end: MapEnd): Promise<IteratorResult<unknown>> {
    if (end.kind === 'done' || this.#isErrorTaken) return Promise.resolve(NO_MORE)
    this.#isErrorTaken = true
    return Promise.reject(end.error)
  }

  /** Serves open requests with the results that have arrived. */
  #serve(): void {
    while (this.#asked.length > 0 && (this.#isReady || this.#end !== undefined)) {
      const { resolve, reject } = this.#asked.shift() as Settlers<IteratorResult<unknown>>
      if (this.#isReady) resolve(this.#take())
      else if (this.#end !== undefined) this.#takeEnd(this.#end).then(resolve, reject)
    }
  }
}

const USED_TWICE = 'a map can be awaited or iterated over, once, but not both'
const NO_MORE: IteratorResult<unknown> = Object.freeze({ done: true, value: undefined })

/** `end`: the error of the map. The cause is the reason that was given, as for any task. */
function cancelledInput(index: number, end: unknown): TaskCancelledError {
  const cause = end instanceof TaskCancelledError ? end.cause : end
  const message = `input ${index} of the map was cancelled`
  return withoutFrames(() => new TaskCancelledError(message, { cause }))
}

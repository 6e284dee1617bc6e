// The progress of a map for observers. The map itself only counts, as it does in any case: it is
// read ten times per second, so that progress costs nothing per task.

import type { WaitingReason } from '../../base/waiting-reason.js'
import { messageOf } from '../../base/text.js'
import { type LineStyle, progressLine, ProgressRate } from '../../runtime/progress/line.js'
import {
  processScreen,
  type ProgressScreen,
  type ScreenLine,
} from '../../runtime/progress/screen.js'

/** The progress of a map. */
export interface MapProgress {
  /** Inputs whose tasks have ended, successfully or not. */
  readonly done: number
  /** Those of them that failed. */
  readonly failed: number
  /** Tasks in flight. */
  readonly running: number
  /** The number of inputs. Undefined while it is unknown: a generator may yield any number. */
  readonly total: number | undefined
  /** Since the map began, in milliseconds. */
  readonly elapsedMs: number
  /**
   * Inputs per second, recently; when the map has ended, on average. Undefined until one is done.
   */
  readonly ratePerSecond: number | undefined
  /**
   * The estimated time for the rest at this rate, in milliseconds. Undefined without a rate or a
   * total.
   */
  readonly remainingMs: number | undefined
  /**
   * Why its tasks can only wait, if this has been the case for a second: no scheduler answers, no
   * worker could run them, or the scheduler accepts no more at the moment.
   */
  readonly waiting: WaitingReason | undefined
  /** The outcome of the map; undefined while it runs. */
  readonly end: 'done' | 'failed' | 'cancelled' | undefined
}

/** Called with the progress of a map: ten times per second, and once when it has ended. */
export type MapProgressListener = (progress: MapProgress) => void

/** The counts of a map. */
export interface MapCounts {
  readonly inputCount: number
  readonly inFlight: number
  readonly failureCount: number
  readonly waitingReason: WaitingReason | undefined
  readonly isInputRead: boolean
}

/** Observes one map. */
export interface MapWatcher {
  /** The map begins. Nothing is called back before this has returned. */
  begin(counts: MapCounts): void
  /** The map has ended; called once. */
  end(kind: 'done' | 'failed' | 'cancelled'): void
}

/** The observed map. */
interface WatchedMap {
  /** The name of the function, or that of the tasks. */
  readonly label: string
  readonly inputs: unknown
}

const INTERVAL_MS = 100

/** The observer of a map with this option `progress`, if any. */
export function watchMap(
  progress: boolean | MapProgressListener,
  map: WatchedMap,
): MapWatcher | undefined {
  if (typeof progress === 'function') return new ListenedMap(map, progress)
  const screen = progress ? processScreen.screen : undefined
  return screen === undefined ? undefined : new ShownMap(map, screen)
}

/** The number of inputs, if they can be counted without being read. */
export function countInputs(inputs: unknown): number | undefined {
  // Iterating over a string does not yield its `length` units.
  if (typeof inputs !== 'object' || inputs === null) return undefined
  const { length, size } = inputs as { length?: unknown; size?: unknown }
  const count = length ?? size
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

/** Computes figures for people from the counts of a map. */
class ProgressMeter {
  readonly #total: number | undefined
  readonly #counts: MapCounts
  readonly #startMs = performance.now()
  readonly #rate = new ProgressRate(this.#startMs)

  constructor(total: number | undefined, counts: MapCounts) {
    this.#total = total
    this.#counts = counts
  }

  /** The progress of the map now. */
  read(end: MapProgress['end']): MapProgress {
    const { inputCount, inFlight, failureCount, waitingReason } = this.#counts
    const nowMs = performance.now()
    const done = inputCount - inFlight
    this.#rate.add(done, nowMs)
    const total = this.#inputTotal()
    const ratePerSecond = end === undefined ? this.#rate.perSecond : this.#rate.overallPerSecond
    const isMeasured = end === undefined && total !== undefined && ratePerSecond !== undefined
    return {
      done,
      failed: failureCount,
      running: end === undefined ? inFlight : 0,
      total,
      elapsedMs: nowMs - this.#startMs,
      ratePerSecond,
      remainingMs: isMeasured ? ((total - done) * 1_000) / ratePerSecond : undefined,
      waiting: end === undefined ? waitingReason : undefined,
      end,
    }
  }

  /** An array may have grown while it was read. */
  #inputTotal(): number | undefined {
    const { isInputRead, inputCount } = this.#counts
    if (isInputRead) return inputCount
    return this.#total === undefined ? undefined : Math.max(this.#total, inputCount)
  }
}

/** Calls a function of the user's. */
class ListenedMap implements MapWatcher {
  readonly #total: number | undefined
  readonly #listener: MapProgressListener
  #meter: ProgressMeter | undefined
  #timer: NodeJS.Timeout | undefined

  constructor({ inputs }: WatchedMap, listener: MapProgressListener) {
    this.#total = countInputs(inputs)
    this.#listener = listener
  }

  begin(counts: MapCounts): void {
    this.#meter = new ProgressMeter(this.#total, counts)
    this.#timer = setInterval(() => this.#tell(undefined), INTERVAL_MS).unref()
  }

  end(kind: 'done' | 'failed' | 'cancelled'): void {
    clearInterval(this.#timer)
    this.#tell(kind)
  }

  /**
   * Errors of the user's function do not fail the map: they are reported, and it is not called
   * again.
   */
  #tell(end: MapProgress['end']): void {
    if (this.#meter === undefined) return
    try {
      this.#listener(this.#meter.read(end))
    } catch (error) {
      this.#meter = undefined
      clearInterval(this.#timer)
      const text = messageOf(error)
      process.emitWarning(`the progress function of a map failed: ${text}`, {
        type: 'ScalerWarning',
        code: 'SCALER_PROGRESS_FAILED',
      })
    }
  }
}

/** Shows a progress bar. */
class ShownMap implements MapWatcher, ScreenLine {
  readonly #label: string
  readonly #total: number | undefined
  readonly #screen: ProgressScreen
  #meter: ProgressMeter | undefined
  #end: MapProgress['end']

  constructor({ label, inputs }: WatchedMap, screen: ProgressScreen) {
    this.#label = label
    this.#total = countInputs(inputs)
    this.#screen = screen
  }

  begin(counts: MapCounts): void {
    this.#meter = new ProgressMeter(this.#total, counts)
    this.#screen.add(this)
  }

  end(kind: 'done' | 'failed' | 'cancelled'): void {
    this.#end = kind
    this.#screen.finish(this)
  }

  render(style: LineStyle): string {
    if (this.#meter === undefined) return ''
    return progressLine({ label: this.#label, ...this.#meter.read(this.#end) }, style)
  }
}

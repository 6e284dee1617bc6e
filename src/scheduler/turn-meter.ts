// How long the event loop of the scheduler works before it looks for new input: the time for which
// a message may have to wait. Measured from the first message of a turn to its end.

import { Histogram } from '../base/histogram.js'

// With thousands of peers, one turn would be long every few minutes: when it has been idle, V8
// reduces its memory at once, instead of in small steps as at other times.

/** With so many peers, memory is not reduced any more; below the other number, it is again. */
const [MANY_PEERS, FEW_PEERS] = [1_000, 500]
/** V8's default, and longer than any process runs, in milliseconds. */
const [USUAL_DELAY_MS, NEVER_MS] = [8_000, 2 ** 31 - 1]

/** Has V8 reduce the memory of an idle process only while there are few peers. */
export class MemoryReducer {
  readonly #setFlag: (flag: string) => void
  #isOff = false

  /** `setFlag`: passes a flag to V8. */
  constructor(
    setFlag = (flag: string): void => process.getBuiltinModule('node:v8').setFlagsFromString(flag),
  ) {
    this.#setFlag = setFlag
  }

  /** There are so many peers now. */
  update(peers: number): void {
    if (this.#isOff ? peers >= FEW_PEERS : peers < MANY_PEERS) return
    this.#isOff = !this.#isOff
    // It takes effect after the next garbage collection of the whole heap.
    const delayMs = this.#isOff ? NEVER_MS : USUAL_DELAY_MS
    this.#setFlag(`--gc-memory-reducer-start-delay-ms=${delayMs}`)
  }
}

/** The bounds of measured times, in milliseconds. */
const [SHORTEST_MS, LONGEST_MS] = [0.01, 600_000]

/** A sample covers the turns since this many samples, so about ten seconds. */
const SAMPLES = 10

/** Measures turns; a few hundred nanoseconds for each. */
export class TurnMeter {
  #begunAt: number | undefined
  #current = new Histogram(SHORTEST_MS, LONGEST_MS)
  readonly #recent: Histogram[] = []
  readonly #all = this.#new()
  readonly #now: () => number
  readonly #atEnd: (callback: () => void) => void

  /** `now`, `atEnd`: the clock in milliseconds, and how to be called at the end of the turn. */
  constructor(
    now: () => number = () => performance.now(),
    atEnd: (callback: () => void) => void = (callback) => void setImmediate(callback),
  ) {
    this.#now = now
    this.#atEnd = atEnd
  }

  /** All turns since the start, in milliseconds. */
  get total(): Histogram {
    return this.#all
  }

  /** There is work in this turn. May be called again in the same turn. */
  begin(): void {
    if (this.#begunAt !== undefined) return
    this.#begunAt = this.#now()
    this.#atEnd(this.#end)
  }

  /** The 99th percentile in milliseconds; 0 if there was no work. Called once a second. */
  sample(): number {
    this.#recent.push(this.#current)
    this.#current =
      this.#recent.length > SAMPLES ? (this.#recent.shift() as Histogram) : this.#new()
    this.#current.clear()
    const all = this.#new()
    for (const each of this.#recent) all.addAll(each)
    return all.quantile(0.99)
  }

  #new(): Histogram {
    return new Histogram(SHORTEST_MS, LONGEST_MS)
  }

  readonly #end = (): void => {
    if (this.#begunAt === undefined) return
    const tookMs = this.#now() - this.#begunAt
    this.#current.add(tookMs)
    this.#all.add(tookMs)
    this.#begunAt = undefined
  }
}

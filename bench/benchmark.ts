// What a benchmark is: a name to choose it by, and a function that measures once. The main program
// repeats it.

/** What the user has chosen. */
export interface BenchOptions {
  readonly workers: number
  readonly tasks: number
  /** Size of the argument of a no-op task, and so of its result; 0 = a small number. */
  readonly payloadBytes: number
  readonly repetitions: number
  /** How many nodes graphs have. */
  readonly graphNodes: readonly number[]
}

/** One value of one repetition. */
export interface Sample {
  readonly name: string
  readonly unit: string
  /** Undefined when it cannot be measured here; `note` says why. */
  readonly value: number | undefined
  readonly note?: string
}

/** One benchmark; it may give several figures. */
export interface Benchmark {
  readonly name: string
  /** Measures once, everything started for it ended. */
  readonly run: (options: BenchOptions) => Promise<readonly Sample[]>
}

/** How long `work` takes, in milliseconds. */
export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The inputs of so many no-op tasks. */
export function* inputs(tasks: number, payloadBytes: number): Generator<number | Uint8Array> {
  const payload = new Uint8Array(payloadBytes).fill(1)
  for (let i = 0; i < tasks; i += 1) yield payloadBytes === 0 ? i : payload
}

// A benchmark: a name to select it by, and a function that measures once. The main program
// repeats it.

/** The options that the user has chosen. */
export interface BenchOptions {
  readonly workers: number
  readonly tasks: number
  /** Size in bytes of the argument of a no-op task, and of its result; 0 = a small number. */
  readonly payloadBytes: number
  readonly repetitions: number
  /** The numbers of nodes in graphs. */
  readonly graphNodes: readonly number[]
}

/** One value of one repetition. */
export interface Sample {
  readonly name: string
  readonly unit: string
  /** Undefined if it cannot be measured on this machine; `note` gives the reason. */
  readonly value: number | undefined
  readonly note?: string
}

/** One benchmark; it may produce several figures. */
export interface Benchmark {
  readonly name: string
  /** Measures once; everything started for it has stopped when it resolves. */
  readonly run: (options: BenchOptions) => Promise<readonly Sample[]>
}

/** How long `work` takes, in milliseconds. */
export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The inputs of `tasks` no-op tasks. */
export function* inputs(tasks: number, payloadBytes: number): Generator<number | Uint8Array> {
  const payload = new Uint8Array(payloadBytes).fill(1)
  for (let i = 0; i < tasks; i += 1) yield payloadBytes === 0 ? i : payload
}

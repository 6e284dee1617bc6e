// The types of the client for the compiler: inferred types, and refused programs. This file is
// compiled with the tests and never run; each `@ts-expect-error` fails to compile if there is no
// error.

import {
  asCompleted,
  gather,
  Client,
  literal,
  registerClass,
  wait,
  type ClientOptions,
  type Future,
  type Graph,
  type GraphFuture,
  type Lift,
  type MapFuture,
  type MapOptions,
  type MapProgress,
  type MapProgressListener,
  type NodeValue,
  type ObjectInfo,
  type ObjectReference,
  type Serializer,
  type TaskProfile,
} from 'scaler-ts'

/** `A` and `B` are the same type, not only assignable to each other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only for `true`. */
function holds<Condition extends true>(): Condition | undefined {
  return undefined
}

declare const client: Client
const add = (a: number, b: number): number => a + b
const later = async (text: string): Promise<number> => Promise.resolve(text.length)
const optional = (a: number, b?: string): string => b ?? String(a)
const rest = (...numbers: number[]): number => numbers.length

class Celsius {
  readonly #degrees: number
  constructor(degrees: number) {
    this.#degrees = degrees
  }
  get degrees(): number {
    return this.#degrees
  }
}

export async function registeredClasses(): Promise<void> {
  const serialize = (instance: Celsius): number => instance.degrees
  registerClass(Celsius, { serialize, deserialize: (degrees) => new Celsius(degrees) })
  registerClass(Celsius, { serialize, deserialize: (degrees: number) => new Celsius(degrees) })
  registerClass(Celsius, { serialize, deserialize: (value: unknown) => new Celsius(Number(value)) })
  // @ts-expect-error -- it receives what `serialize` returned
  registerClass(Celsius, { serialize, deserialize: (text: string) => new Celsius(Number(text)) })
  const objects: ObjectInfo[] = await client.objects()
  objects.sort((a, b) => a.ageMs - b.ageMs)
}

export function submit(): void {
  const sum = client.submit(add, 1, 2)
  holds<Same<typeof sum, Future<number>>>()
  const promised = client.submit(later, 'x')
  holds<Same<typeof promised, Future<number>>>()
  const inferred = client.submit((a, b) => a * b, 2, 3)
  holds<Same<typeof inferred, Future<number>>>()
  const nothing = client.submit(() => {})
  holds<Same<typeof nothing, Future<void>>>()
  client.submit(optional, 1)
  client.submit(optional, 1, 'x')
  client.submit(rest)
  client.submit(rest, 1, 2, 3)
  client.submit(Math.sqrt, 2)
  // @ts-expect-error -- too few arguments
  client.submit(add, 1)
  // @ts-expect-error -- too many arguments
  client.submit(add, 1, 2, 3)
  // @ts-expect-error -- a string is not a number
  client.submit(add, 1, '2')
  // @ts-expect-error -- nor is it a function
  client.submit('add', 1, 2)
  // @ts-expect-error -- the rest are numbers
  client.submit(rest, 1, 'x')
}

export async function awaited(): Promise<void> {
  const sum = await client.submit(add, 1, 2)
  holds<Same<typeof sum, number>>()
  const length = await client.submit(later, 'x')
  holds<Same<typeof length, number>>()
  const both = await Promise.all([client.submit(add, 1, 2), client.submit(optional, 1)])
  holds<Same<typeof both, [number, string]>>()
  const settled = await Promise.allSettled([client.submit(add, 1, 2)])
  holds<Same<typeof settled, [PromiseSettledResult<number>]>>()
  const handled = await client.submit(add, 1, 2).catch(() => 'none')
  holds<Same<typeof handled, string | number>>()
  // Callbacks are written as for any promise.
  const told = await client.submit(add, 1, 2).then(String, (error: Error) => error.message)
  holds<Same<typeof told, string>>()
  await client.submit(add, 1, 2).catch((error: Error) => error.message)
  await client.map(later, ['a']).catch((error: Error) => error.message)
  await client.get({ a: 1 }, ['a']).catch((error: Error) => error.message)
  const limited = await client.submit(add, 1, 2).result({ timeoutMs: 5 })
  holds<Same<typeof limited, number>>()
}

export async function map(): Promise<void> {
  const mapped = client.map(later, ['a', 'b'])
  holds<Same<typeof mapped, MapFuture<number>>>()
  const lengths = await mapped
  holds<Same<typeof lengths, number[]>>()
  const inferred = client.map((x) => x + 1, new Set([1, 2]))
  holds<Same<typeof inferred, MapFuture<number>>>()
  const outcomes = await client.map(later, ['a']).allSettled()
  holds<Same<typeof outcomes, PromiseSettledResult<number>[]>>()
  for await (const length of client.map(later, ['a'])) holds<Same<typeof length, number>>()
  for await (const length of client.map(later, ['a'], { ordered: true, concurrency: 3 })) {
    holds<Same<typeof length, number>>()
  }
  for await (const length of client.map(later, ['a'], { concurrency: 3 })) {
    holds<Same<typeof length, number>>()
  }
  for await (const pair of client.map(later, ['a'], { ordered: false })) {
    holds<Same<typeof pair, [index: number, result: number]>>()
  }
  const options: MapOptions = {}
  for await (const either of client.map(later, ['a'], options)) {
    holds<Same<typeof either, number>>()
  }
  const isOrdered: boolean = lengths.length > 1
  for await (const either of client.map(later, ['a'], { ordered: isOrdered })) {
    holds<Same<typeof either, number | [index: number, result: number]>>()
  }
  const explicit = client.map<string, number>((text) => text.length, ['a'], { concurrency: 3 })
  holds<Same<typeof explicit, MapFuture<number>>>()
  const wrapped = <T, R>(fn: (x: T) => R, xs: T[], given?: MapOptions): MapFuture<Awaited<R>> =>
    client.map(fn, xs, given)
  await wrapped(later, ['a'])
  async function* inputs(): AsyncGenerator<string> {
    yield await Promise.resolve('x')
  }
  const fromAsync = await client.map(later, inputs())
  holds<Same<typeof fromAsync, number[]>>()
  // @ts-expect-error -- numbers are not strings
  client.map(later, [1, 2])
  // @ts-expect-error -- a number cannot be iterated over
  client.map(later, 5)
  // @ts-expect-error -- a function of two parameters needs starmap
  client.map(add, [1, 2])
  // @ts-expect-error -- this option does not exist
  client.map(later, ['a'], { order: false })
}

export async function progress(): Promise<void> {
  const shown = client.map(later, ['a'], { progress: true })
  holds<Same<typeof shown, MapFuture<number>>>()
  const told = client.map(later, ['a'], {
    ordered: false,
    progress: (state) => {
      holds<Same<typeof state, MapProgress>>()
      holds<Same<typeof state.total, number | undefined>>()
    },
  })
  for await (const pair of told) holds<Same<typeof pair, [index: number, result: number]>>()
  const listener: MapProgressListener = ({ done, end }) => holdsText(end ?? String(done))
  client.starmap(add, [[1, 2]], { progress: listener })
  // @ts-expect-error -- neither true nor false
  client.map(later, ['a'], { progress: 'bar' })
}

declare function holdsText(text: string): void

export async function starmap(): Promise<void> {
  const mixed = (count: number, text: string): string => text.repeat(count)
  const repeated = client.starmap(mixed, [
    [1, 'a'],
    [2, 'b'],
  ])
  holds<Same<typeof repeated, MapFuture<string>>>()
  client.starmap(mixed, new Map([[1, 'a']]))
  client.starmap(mixed, [[1, 'a']] as const)
  const sums = await client.starmap((a, b) => a + b, [[1, 2]])
  holds<Same<typeof sums, number[]>>()
  for await (const [index, text] of client.starmap(mixed, [[1, 'a']], { ordered: false })) {
    holds<Same<typeof index, number>>()
    holds<Same<typeof text, string>>()
  }
  // @ts-expect-error -- the wrong way round
  client.starmap(mixed, [['a', 1]])
  // @ts-expect-error -- one argument is missing
  client.starmap(mixed, [[1]])
}

export async function futures(): Promise<void> {
  const future: Future<number> = client.submit(add, 1, 2)
  const asPromise: Promise<number> = future
  const wider: Future<number | string> = future
  const { state, profile, id } = future
  holds<Same<typeof state, 'pending' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled'>>()
  holds<Same<typeof profile, TaskProfile | undefined>>()
  holds<Same<typeof id, string>>()
  const wasOpen = future.cancel(new Error('why'))
  const { done, pending } = await wait([future], { until: 'first', timeoutMs: 10 })
  holds<Same<typeof done, Set<Future<number>>>>()
  holds<Same<typeof pending, Set<Future<number>>>>()
  const completed = asCompleted([future])
  const explicit = asCompleted<number>([future])
  holds<Same<typeof explicit, typeof completed>>()
  const gathered = await gather<number>([future])
  holds<Same<typeof gathered, number[]>>()
  const mixed = await gather([future, client.submit(String, 1)])
  holds<Same<typeof mixed, (string | number)[]>>()
  type Completed = { future: Future<number>; index: number } & PromiseSettledResult<number>
  holds<Same<typeof completed, AsyncIterable<Completed>>>()
  for await (const record of completed) {
    holds<Same<typeof record.future, Future<number>>>()
    holds<Same<typeof record.index, number>>()
    // @ts-expect-error -- it may have failed: there is a value only where the status says so
    holds<Same<typeof record.value, number>>()
    if (record.status === 'fulfilled') holds<Same<typeof record.value, number>>()
    // @ts-expect-error -- a record is not a result
    holds<Same<typeof record, number>>()
  }
  holds<Same<typeof wasOpen, boolean>>()
  await Promise.all([asPromise, wider])
  // @ts-expect-error -- this condition does not exist
  await wait([future], { until: 'any' })
  // @ts-expect-error -- a promise is not a future
  asCompleted([Promise.resolve(1)])
}

export async function clients(): Promise<void> {
  const options: ClientOptions = { timeoutMs: 5, reconnect: false, logger: undefined }
  await using connected: Client = await Client.connect('tcp://localhost:1', options)
  await using local: Client = await Client.local({ workers: 2, timeoutMs: 5 })
  await Promise.all([connected.disconnect(), local.close()])
  // @ts-expect-error -- this option does not exist
  void new Client('tcp://localhost:1', { timeout: 5 })
  // @ts-expect-error -- seconds are not milliseconds, nor text
  void new Client('tcp://localhost:1', { timeoutMs: '5s' })
}

export function shapes(): void {
  type Liftable<T> = T | Future<T> | ObjectReference<T>
  holds<Same<Lift<[number, string]>, [Liftable<number>, Liftable<string>]>>()
  const serializer: Serializer = {
    serialize: () => new Uint8Array(0),
    deserialize: () => undefined,
  }
  void new Client('tcp://localhost:1', { serializer })
  void new Client('tcp://localhost:1', { serializer: undefined })
  void Client.local({ workers: 2, serializer })
  // @ts-expect-error -- a serializer has two methods
  void new Client('tcp://localhost:1', { serializer: { serialize: () => new Uint8Array(0) } })
  const asText = { serialize: String, deserialize: String }
  // @ts-expect-error -- and makes bytes
  void new Client('tcp://localhost:1', { serializer: asText })
}

export async function graphs(): Promise<void> {
  const table = client.sendObject({ rows: [1] })
  const run = client.get(
    {
      number: 2,
      text: 'text',
      list: [1, 2],
      nothing: null,
      fn: add,
      sum: [add, 'number', 'number'],
      promised: [later, literal('x')],
      table,
      future: client.submit(optional, 1),
      quoted: literal([add, 'number'] as const),
      called: [(given: typeof add, rows: { rows: number[] }) => [given, rows], add, table],
    },
    ['number', 'list', 'fn', 'sum', 'promised', 'table', 'future', 'quoted', 'called', 'nothing'],
  )
  const values = await run
  holds<Same<typeof values.number, number>>()
  holds<Same<typeof values.list, [number, number]>>()
  holds<Same<typeof values.fn, typeof add>>()
  holds<Same<typeof values.sum, number>>()
  holds<Same<typeof values.promised, number>>()
  holds<Same<typeof values.table, { rows: number[] }>>()
  holds<Same<typeof values.future, string>>()
  holds<Same<typeof values.quoted, readonly [typeof add, 'number']>>()
  holds<Same<typeof values.called, (typeof add | { rows: number[] })[]>>()
  holds<Same<typeof values.nothing, null>>()
  // @ts-expect-error -- it was not requested
  void values.text
  const { sum, table: reference } = run.futures
  holds<Same<typeof sum, Future<number>>>()
  holds<Same<typeof reference, Future<{ rows: number[] }>>>()
  holds<Same<ReturnType<typeof run.cancel>, boolean>>()
  const either = run.catch(() => 'none' as const)
  holds<Same<typeof either, Promise<typeof values | 'none'>>>()
}

export async function graphVariables(): Promise<void> {
  const graph = { a: 2, b: [add, 'a', 'a'], c: [later, 'text'], list: ['a', 'b'] }
  const { a, b, list } = await client.get(graph, ['a', 'b', 'list'])
  holds<Same<typeof a, number>>()
  holds<Same<typeof b, number>>()
  holds<Same<typeof list, string[]>>()
  const constant = { a: 2, c: [later, 'a'] } as const
  const fixed = await client.get(constant, ['a', 'c'])
  holds<Same<typeof fixed, { a: 2; c: number }>>()
  const built: Graph = { a: 2 }
  const { x } = await client.get(built, ['x'])
  holds<Same<typeof x, unknown>>()
  const record: Record<string, number> = {}
  const future: GraphFuture<{ y: number }> = client.get(record, ['y'])
  const promise: Promise<{ y: number }> = future
  holds<Same<NodeValue<[typeof later, string]>, number>>()
  await promise
  // @ts-expect-error -- this node does not exist
  client.get(graph, ['d'])
  // @ts-expect-error -- keys come in a list
  client.get(graph, 'a')
  // @ts-expect-error -- a graph is an object
  client.get(5, [])
}

export async function addressVariables(): Promise<void> {
  holds<Same<typeof byVariable, Client>>()
  await Client.connect()
  await Client.connect(undefined, { timeoutMs: 1 })
  // @ts-expect-error -- options are the second argument
  await Client.connect({ timeoutMs: 1 })
}
const byVariable = new Client(undefined, { timeoutMs: 1 })

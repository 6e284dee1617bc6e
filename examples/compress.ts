// The demo: compresses every file below a folder on a cluster, and says how much faster that was
// than one process. `npm run demo -- --help` tells the options.
//
// The files are read here and their bytes travel to the workers and back compressed, although
// local workers could read them by path: that is the same program for workers on other machines,
// and it shows what the data path carries.

import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { Client, ConfigError } from 'scaler-ts'
import { listFiles, readBatch, toBatches, type Batch, type Unreadable } from './batches.js'
import { Progress, formatBytes, formatSeconds, percent } from './progress.js'

/** What one task gets, and gives back piece by piece. */
interface Input {
  readonly contents: readonly Uint8Array[]
  readonly quality: number
}

interface Options {
  readonly address?: string
  readonly workers: number
  readonly limit?: number
  readonly quality: number
}

interface Totals {
  bytesIn: number
  bytesOut: number
}

/** How long one process alone takes, and from what share of the work that is known. */
interface Estimate {
  readonly seconds: number
  readonly share: number
}

interface Summary {
  readonly files: number
  readonly totals: Totals
  readonly seconds: number
  readonly alone: Estimate
}

/** Enough for tasks of some hundred milliseconds at most, few enough for short queues. */
const BATCH_BYTES = 1_000_000
/** Tasks under way at a time: bounds the memory that this process and the scheduler need. */
const CONCURRENCY = 32
/** How long the comparison with one process may take. */
const SAMPLE_MS = 3_000
const NAMED_FILES = 5

/** The task. It uses its argument and what it imports itself, nothing from this file. */
async function compress(input: Input): Promise<Uint8Array[]> {
  const { brotliCompressSync, constants } = await import('node:zlib')
  const params = { [constants.BROTLI_PARAM_QUALITY]: input.quality }
  return input.contents.map((content) => brotliCompressSync(content, { params }))
}

/** Compresses all batches on the cluster. */
async function compressAll(
  client: Client,
  batches: readonly Batch[],
  job: { readonly quality: number; readonly unreadable: Unreadable },
): Promise<Totals> {
  const totals: Totals = { bytesIn: 0, bytesOut: 0 }
  const progress = new Progress(batches.reduce((sum, batch) => sum + batch.bytes, 0))
  const bytesRead: number[] = []
  async function* inputs(): AsyncGenerator<Input> {
    for (const batch of batches) {
      const contents = await readBatch(batch, job.unreadable)
      bytesRead.push(sizeOf(contents))
      yield { contents, quality: job.quality }
    }
  }
  const results = client.map(compress, inputs(), { ordered: false, concurrency: CONCURRENCY })
  try {
    for await (const [index, compressed] of results) {
      const bytes = bytesRead[index] ?? 0
      totals.bytesIn += bytes
      totals.bytesOut += sizeOf(compressed)
      progress.add(bytes)
    }
  } finally {
    progress.clear()
  }
  return totals
}

/** How long this process alone would take: measured on batches from all over, then extrapolated. */
async function estimateOneProcess(
  batches: readonly Batch[],
  quality: number,
  interruption: AbortSignal,
): Promise<Estimate> {
  const totalBytes = batches.reduce((sum, batch) => sum + batch.bytes, 0)
  const start = performance.now()
  let bytes = 0
  for (const batch of scattered(batches)) {
    interruption.throwIfAborted()
    await compress({ contents: await readBatch(batch, new Map()), quality })
    bytes += batch.bytes
    if (performance.now() - start > SAMPLE_MS) break
  }
  const share = totalBytes === 0 ? 1 : bytes / totalBytes
  return { seconds: (performance.now() - start) / 1_000 / share, share }
}

/** The same in another order, such that any first part of it comes evenly from everywhere. */
function scattered(batches: readonly Batch[]): Batch[] {
  const golden = (Math.sqrt(5) - 1) / 2
  return batches
    .map((batch, index) => ({ batch, at: (index * golden) % 1 }))
    .sort((one, other) => one.at - other.at)
    .map(({ batch }) => batch)
}

async function main(): Promise<number> {
  const { folder, options } = commandLine()
  const isFolder = await stat(folder).then(
    (entry) => entry.isDirectory(),
    () => undefined,
  )
  if (isFolder !== true) {
    console.error(`demo: ${folder}: ${isFolder === undefined ? 'no such folder' : 'not a folder'}`)
    return 2
  }
  let client: Client | undefined
  const interruption = endOnSignal(() => client?.close())
  const unreadable: Unreadable = new Map()
  const files = (await listFiles(folder, unreadable)).slice(0, options.limit)
  const batches = toBatches(files, BATCH_BYTES)
  const tasks = counted(batches.length, 'task')
  console.log(`${counted(files.length, 'file')} below ${shown(folder)}, ${tasks}`)
  if (batches.length === 0) {
    printUnreadable(unreadable)
    return 0
  }
  try {
    client = await openClient(options)
    const start = performance.now()
    const totals = await compressAll(client, batches, { quality: options.quality, unreadable })
    const seconds = (performance.now() - start) / 1_000
    const alone = await estimateOneProcess(batches, options.quality, interruption)
    printSummary({
      files: files.filter((file) => !unreadable.has(file.path)).length,
      totals,
      seconds,
      alone,
    })
    printUnreadable(unreadable)
    return 0
  } catch (error) {
    if (interruption.aborted) return interruption.reason as number
    throw error
  } finally {
    await client?.close()
  }
}

async function openClient(options: Options): Promise<Client> {
  if (options.address !== undefined) {
    const client = await Client.connect(options.address, { timeoutMs: 10_000 })
    console.log(`on the cluster at ${options.address}`)
    return client
  }
  const client = await Client.local({ workers: options.workers })
  const workers = counted(options.workers, 'worker')
  console.log(`on a cluster of this machine: 1 scheduler, ${workers}`)
  return client
}

/**
 * The first Ctrl-C ends the work and the cluster, a second one just this process; while the cluster
 * is starting, the first does, and the cluster ends with it. The reason of the returned signal is
 * the exit code.
 */
function endOnSignal(close: () => Promise<void> | undefined): AbortSignal {
  const interruption = new AbortController()
  for (const [signal, exitCode] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.once(signal, () => {
      console.error('ending')
      interruption.abort(exitCode)
      if (close() === undefined) process.exit(exitCode)
    })
  }
  return interruption.signal
}

function commandLine(): { folder: string; options: Options } {
  const nodeModules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  const command = new Command('npm run demo --')
    .description('Compress every file below a folder on a cluster.')
    .argument('[folder]', 'what to compress', nodeModules)
    .option('--address <address>', 'use this scheduler instead of a cluster of this machine')
    .option('--workers <number>', 'workers of the own cluster', atLeast(1), availableParallelism())
    .option('--limit <number>', 'only so many files', atLeast(1))
    .option('--quality <number>', "brotli's quality, 0 to 11", atLeast(0, 11), 9)
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .parse()
  return { folder: resolve(command.args[0] ?? nodeModules), options: command.opts<Options>() }
}

function atLeast(min: number, max = Infinity): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    const range = max === Infinity ? `at least ${min}` : `from ${min} to ${max}`
    throw new InvalidArgumentError(`Expected a whole number, ${range}.`)
  }
}

function printSummary(summary: Summary): void {
  const { files, totals, seconds, alone } = summary
  const how = alone.share >= 1 ? 'measured' : `extrapolated from ${percent(alone.share)} of it`
  console.log(`files           ${files}`)
  console.log(`bytes in        ${formatBytes(totals.bytesIn)}`)
  console.log(`bytes out       ${formatBytes(totals.bytesOut)}, ${ratio(totals)} of it`)
  console.log(
    `on the cluster  ${formatSeconds(seconds)}, ${formatBytes(totals.bytesIn / seconds)}/s`,
  )
  console.log(`in one process  ${formatSeconds(alone.seconds)} (${how})`)
  console.log(`speed-up        ${(alone.seconds / seconds).toFixed(2)} times`)
}

function printUnreadable(unreadable: Unreadable): void {
  if (unreadable.size === 0) return
  console.log(`unreadable      ${unreadable.size}`)
  for (const [path, why] of [...unreadable].slice(0, NAMED_FILES)) {
    console.log(`  ${shown(path)}: ${why}`)
  }
  if (unreadable.size > NAMED_FILES) console.log(`  and ${unreadable.size - NAMED_FILES} more`)
}

function sizeOf(contents: readonly Uint8Array[]): number {
  return contents.reduce((sum, content) => sum + content.byteLength, 0)
}

function ratio({ bytesIn, bytesOut }: Totals): string {
  return bytesIn === 0 ? '0 %' : `${((bytesOut / bytesIn) * 100).toFixed(1)} %`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function shown(path: string): string {
  const short = relative(process.cwd(), path)
  return short === '' ? '.' : short.length < path.length ? short : path
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`)
  return error instanceof ConfigError ? 2 : 1
})

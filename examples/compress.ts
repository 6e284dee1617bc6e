// The demo: compresses the files in a folder with brotli, first in this process and then
// on a cluster, and prints the speed-up. `npm run demo -- --help` lists the options.
//
// Both runs do the same work with the same function. The first run sets the amount: whatever this
// process can compress in a few seconds, sampled from the whole folder. This process reads the
// files; their bytes travel to the workers and return compressed. Local workers could read the
// files by path, but this way the same program works with workers on other machines.

import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { Client, ConfigError } from 'scaler-ts'
import { listFiles, readBatch, toBatches, type Batch, type Unreadable } from './batches.js'
import { Progress, formatBytes, formatSeconds } from './progress.js'

/** The input of one task. Its result has one compressed piece for each content. */
interface Input {
  readonly contents: readonly Uint8Array[]
  readonly quality: number
}

interface Options {
  readonly address?: string
  readonly workers: number
  readonly seconds: number
  readonly quality: number
}

/** The work that was done, and how long it took. */
interface Work {
  readonly batches: readonly Batch[]
  readonly bytesIn: number
  readonly bytesOut: number
  readonly seconds: number
}

/** Small enough for about fifty tasks in ten seconds, so that all workers finish together. */
const BATCH_BYTES = 64_000
/** Tasks in flight: bounds the memory that this process and the scheduler need. */
const CONCURRENCY = 32
const NAMED_FILES = 5

/**
 * The task: compresses each content in all modes of brotli and keeps the smallest result. It uses
 * only its argument and its own import, nothing else from this file.
 */
async function compress(input: Input): Promise<Uint8Array[]> {
  const { brotliCompressSync, constants } = await import('node:zlib')
  const modes = [
    constants.BROTLI_MODE_GENERIC,
    constants.BROTLI_MODE_TEXT,
    constants.BROTLI_MODE_FONT,
  ]
  return input.contents.map((content) => {
    const results = modes.map((mode) => {
      const params = {
        [constants.BROTLI_PARAM_MODE]: mode,
        [constants.BROTLI_PARAM_QUALITY]: input.quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.byteLength,
      }
      return brotliCompressSync(content, { params })
    })
    return results.reduce((best, result) => (result.byteLength < best.byteLength ? result : best))
  })
}

/** Compresses sampled batches in this process, until the time is up or all are done. */
async function compressHere(
  all: readonly Batch[],
  options: Options,
  job: { readonly unreadable: Unreadable; readonly interruption: AbortSignal },
): Promise<Work> {
  const batches: Batch[] = []
  let [bytesIn, bytesOut, ms] = [0, 0, 0]
  const start = performance.now()
  for (const batch of scattered(all)) {
    const contents = await readBatch(batch, job.unreadable)
    bytesIn += sizeOf(contents)
    bytesOut += sizeOf(await compress({ contents, quality: options.quality }))
    batches.push(batch)
    ms = performance.now() - start
    // Signals are handled only between two batches.
    await new Promise(setImmediate)
    job.interruption.throwIfAborted()
    if (ms >= options.seconds * 1_000) break
  }
  return { batches, bytesIn, bytesOut, seconds: ms / 1_000 }
}

/** Compresses the same batches on the cluster, the largest first: all workers finish together. */
async function compressThere(client: Client, work: Work, options: Options): Promise<Work> {
  const batches = work.batches.toSorted((one, other) => other.bytes - one.bytes)
  const progress = new Progress(work.bytesIn)
  async function* inputs(): AsyncGenerator<Input> {
    for (const batch of batches) {
      yield { contents: await readBatch(batch, new Map()), quality: options.quality }
    }
  }
  let bytesOut = 0
  const start = performance.now()
  const results = client.map(compress, inputs(), { ordered: false, concurrency: CONCURRENCY })
  try {
    for await (const [index, compressed] of results) {
      bytesOut += sizeOf(compressed)
      progress.add(batches[index]?.bytes ?? 0)
    }
  } finally {
    progress.clear()
  }
  return { ...work, bytesOut, seconds: (performance.now() - start) / 1_000 }
}

/** The same batches in an order in which any prefix is an even sample of the whole. */
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
  const files = await listFiles(folder, unreadable)
  const batches = toBatches(files, BATCH_BYTES)
  const size = formatBytes(batches.reduce((sum, { bytes }) => sum + bytes, 0))
  console.log(`${counted(files.length, 'file')} below ${shown(folder)}, ${size}`)
  if (batches.length === 0) {
    printUnreadable(unreadable)
    return 0
  }
  try {
    console.log(`in this process, for at most ${formatSeconds(options.seconds)}; then on a cluster`)
    const here = await compressHere(batches, options, { unreadable, interruption })
    console.log(`work           ${workText(here)}`)
    console.log(`one process    ${speedText(here)}`)
    const begun = performance.now()
    client = await openClient(options)
    const startSeconds = (performance.now() - begun) / 1_000
    const where = options.address ?? `1 scheduler, ${counted(options.workers, 'worker')}`
    console.log(`start-up       ${formatSeconds(startSeconds)} (${where})`)
    const there = await compressThere(client, here, options)
    console.log(`on the cluster ${speedText(there)}`)
    console.log(`speed-up       ${(here.seconds / there.seconds).toFixed(2)} times`)
    printUnreadable(unreadable)
    if (there.bytesOut === here.bytesOut) return 0
    console.error('demo: the cluster returned a different result; did files change meanwhile?')
    return 1
  } catch (error) {
    if (interruption.aborted) return interruption.reason as number
    throw error
  } finally {
    await client?.close()
  }
}

function openClient({ address, workers }: Options): Promise<Client> {
  if (address !== undefined) return Client.connect(address, { timeoutMs: 10_000 })
  return Client.local({ workers })
}

/**
 * The first Ctrl-C stops the work and the cluster, a second one only this process. While the
 * cluster is starting, the first Ctrl-C stops this process, and the cluster exits with it. The
 * reason of the returned signal is the exit code.
 */
function endOnSignal(close: () => Promise<void> | undefined): AbortSignal {
  const interruption = new AbortController()
  for (const [signal, exitCode] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.once(signal, () => {
      console.error('shutting down')
      interruption.abort(exitCode)
      if (close() === undefined) process.exit(exitCode)
    })
  }
  return interruption.signal
}

function commandLine(): { folder: string; options: Options } {
  const nodeModules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  const command = new Command('npm run demo --')
    .description('Compress the files in a folder, in one process and on a cluster.')
    .argument('[folder]', 'the folder to compress', nodeModules)
    .option('--address <address>', 'use this scheduler instead of a local cluster')
    .option(
      '--workers <number>',
      'workers of the local cluster',
      atLeast(1),
      availableParallelism(),
    )
    .option('--seconds <number>', 'how long to compress in one process', atLeast(1), 10)
    .option('--quality <number>', "brotli's quality, 0 to 11", atLeast(0, 11), 11)
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

function workText({ batches, bytesIn, bytesOut }: Work): string {
  const sizes = `${formatBytes(bytesIn)} to ${formatBytes(bytesOut)}`
  return `${counted(batches.length, 'task')}, sampled from the whole folder: ${sizes}`
}

function speedText({ bytesIn, seconds }: Work): string {
  return `${formatSeconds(seconds)}, ${formatBytes(bytesIn / seconds)}/s`
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

// The demo: compresses files below a folder as well as brotli can, first in this process and then
// on a cluster, and says how much faster that was. `npm run demo -- --help` tells the options.
//
// Both do the same work with the same function. How much it is, the first decides: as much as this
// process can do in some seconds, taken from all over the folder. The files are read here and their
// bytes travel to the workers and back compressed, although local workers could read them by path:
// that is the same program for workers on other machines.

import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { Client, ConfigError } from 'scaler-ts'
import { listFiles, readBatch, toBatches, type Batch, type Unreadable } from './batches.js'
import { Progress, formatBytes, formatSeconds } from './progress.js'

/** What one task gets, and gives back piece by piece. */
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

/** What was done, in how long. */
interface Work {
  readonly batches: readonly Batch[]
  readonly bytesIn: number
  readonly bytesOut: number
  readonly seconds: number
}

/** Small enough for some fifty tasks in ten seconds, so that all workers end together. */
const BATCH_BYTES = 64_000
/** Tasks under way at a time: bounds the memory that this process and the scheduler need. */
const CONCURRENCY = 32
const NAMED_FILES = 5

/**
 * The task: each content in all modes of brotli, of which the smallest result is kept. It uses its
 * argument and what it imports itself, nothing from this file.
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

/** Compresses batches from all over in this process, for some seconds or until all are done. */
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
    // Signals are noticed only in between.
    await new Promise(setImmediate)
    job.interruption.throwIfAborted()
    if (ms >= options.seconds * 1_000) break
  }
  return { batches, bytesIn, bytesOut, seconds: ms / 1_000 }
}

/** Compresses the same batches on the cluster. */
async function compressThere(client: Client, work: Work, options: Options): Promise<Work> {
  const { batches } = work
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
  const files = await listFiles(folder, unreadable)
  const batches = toBatches(files, BATCH_BYTES)
  const size = formatBytes(batches.reduce((sum, { bytes }) => sum + bytes, 0))
  console.log(`${counted(files.length, 'file')} below ${shown(folder)}, ${size}`)
  if (batches.length === 0) {
    printUnreadable(unreadable)
    return 0
  }
  try {
    console.log(`in this process, for ${formatSeconds(options.seconds)} at most; then on a cluster`)
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
    console.error('demo: the cluster has compressed something else: did files change meanwhile?')
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
    .description('Compress files below a folder, in one process and on a cluster.')
    .argument('[folder]', 'what to compress', nodeModules)
    .option('--address <address>', 'use this scheduler instead of a cluster of this machine')
    .option('--workers <number>', 'workers of the own cluster', atLeast(1), availableParallelism())
    .option('--seconds <number>', 'as much work as one process can do in this time', atLeast(1), 10)
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
  return `${counted(batches.length, 'task')}, from all over: ${sizes}`
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

// `npm run bench`: measures the engine, Node's own limit and the thread pools in one run, and shows
// the ratios: absolute times vary between machines and runs, ratios hold up better. Slowness is not
// a failure.

import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Command, InvalidArgumentError, Option } from 'commander'
import { allocator } from './allocator.js'
import type { Benchmark, BenchOptions, Sample } from './benchmark.js'
import { compare, ratioTable, RevisionError } from './compare.js'
import { distantWorkers } from './distant.js'
import { machine, ratios, toJson, toTable, withMedians, type Figure } from './figures.js'
import { functions } from './functions.js'
import { graphs } from './graph.js'
import { nested } from './nested.js'
import { objectMemory, objects } from './objects.js'
import { limit, piscina, workerPool } from './pools.js'
import { queuedTasks } from './queued.js'
import { recovery } from './recovery.js'
import { responsiveness } from './responsiveness.js'
import { longMap, sharedObject } from './shared-object.js'
import { slices } from './slices.js'
import { memory, startUp } from './start-up.js'
import { busyTasks, clearing, runKinds, secondClient } from './runs.js'
import { latency, mapThroughput, submitThroughput } from './tasks.js'
import { scaling } from './scaling.js'
import { watched } from './watched.js'

const BENCHMARKS: readonly Benchmark[] = [
  mapThroughput,
  submitThroughput,
  limit,
  piscina,
  workerPool,
  latency,
  objects,
  objectMemory,
  sharedObject,
  longMap,
  nested,
  graphs,
  functions,
  slices,
  startUp,
  memory,
  queuedTasks,
  recovery,
  responsiveness,
  runKinds,
  secondClient,
  busyTasks,
  distantWorkers,
  clearing,
  scaling,
  watched,
  allocator,
]

interface CommandLine extends BenchOptions {
  readonly json?: string | true
  readonly only?: readonly string[]
  /** Another revision to measure as well. */
  readonly compare?: string
}

function commandLine(): CommandLine {
  const names = BENCHMARKS.map(({ name }) => name)
  const only = new Option('--only <names...>', 'run only these benchmarks').choices(names)
  const graphNodes = new Option('--graph-nodes <numbers...>', 'sizes of graphs, up to 1000000')
    .argParser(wholeNumbers(1))
    .default([1_000, 10_000, 100_000], '1000 10000 100000')
  const command = new Command('npm run bench --')
    .description('Measure the engine against the limit of Node and against thread pools.')
    .option('--workers <number>', 'workers', wholeNumber(1), availableParallelism())
    .option('--tasks <number>', 'no-op tasks per measurement', wholeNumber(1), 100_000)
    .option('--payload <bytes>', 'size of argument and result of a no-op', wholeNumber(0), 0)
    .option('--repetitions <number>', 'measurements of each; the median is used', wholeNumber(1), 5)
    .addOption(graphNodes)
    .option('--compare <revision>', 'measure this revision as well, alternately; print ratios')
    .option('--json [file]', 'write JSON to a file, or to stdout instead of the table')
    .addOption(only)
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .parse()
  const { payload, ...options } = command.opts<CommandLine & { payload: number }>()
  return { ...options, payloadBytes: payload }
}

function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isSafeInteger(value) && value >= min) return value
    throw new InvalidArgumentError(`Expected a whole number, at least ${min}.`)
  }
}

/** Several whole numbers, one argument each. */
function wholeNumbers(min: number): (text: string, before: number[] | undefined) => number[] {
  const parse = wholeNumber(min)
  let isGiven = false
  return (text, before) => {
    // The first one replaces the default.
    const numbers = isGiven ? (before ?? []) : []
    isGiven = true
    return [...numbers, parse(text)]
  }
}

/**
 * Runs all benchmarks in turn, and repeats this: a temporary disturbance of the machine then
 * affects all figures alike. A benchmark that fails is skipped from then on.
 */
async function measureAll(
  benchmarks: readonly Benchmark[],
  options: BenchOptions,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const failed = new Set<Benchmark>()
  for (let i = 1; i <= options.repetitions; i += 1) {
    for (const benchmark of benchmarks) {
      if (failed.has(benchmark)) continue
      console.error(`measuring ${benchmark.name} (${i} of ${options.repetitions})`)
      try {
        samples.push(...(await benchmark.run(options)))
      } catch (error) {
        console.error(`${benchmark.name} failed:`, error)
        failed.add(benchmark)
        process.exitCode = 1
      }
    }
  }
  return samples
}

function toFigures(samples: readonly Sample[]): Figure[] {
  const names = [...new Set(samples.map(({ name }) => name))]
  return names.map((name) => {
    const mine = samples.filter((sample) => sample.name === name)
    const { unit = '', note } = mine[0] ?? {}
    const values = mine.flatMap(({ value }) => (value === undefined ? [] : [value]))
    return { name, unit, values, ...(note === undefined ? {} : { note }) }
  })
}

/** The arguments for one run of each revision. */
function argumentsFor(only: readonly string[] | undefined, options: BenchOptions): string[] {
  const { workers, tasks, payloadBytes, graphNodes } = options
  const sizes = ['--workers', workers, '--tasks', tasks, '--payload', payloadBytes].map(String)
  const nodes = ['--graph-nodes', ...graphNodes.map(String)]
  return [...sizes, ...nodes, ...(only === undefined ? [] : ['--only', ...only])]
}

async function mainCompare(
  revision: string,
  { json, only, ...options }: CommandLine,
): Promise<void> {
  try {
    const args = argumentsFor(only, options)
    const { here, there, ratios: all } = await compare(revision, args, options.repetitions)
    if (json !== true) console.log(`this revision : ${revision}\n${ratioTable(all)}`)
    if (json === undefined) return
    const compared = { revision, results: withMedians(there), ratios: all }
    const text = toJson(here, { ...options, only }, { compared })
    if (json === true) process.stdout.write(text)
    else writeFileSync(json, text)
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = error instanceof RevisionError ? 2 : 1
  }
}

async function main(): Promise<void> {
  const { compare: revision, ...rest } = commandLine()
  if (revision !== undefined) return mainCompare(revision, rest)
  const { json, only, ...options } = rest
  const benchmarks = BENCHMARKS.filter(({ name }) => only === undefined || only.includes(name))
  console.error(`${Object.values(machine()).join(', ')} cores; ${options.workers} workers`)
  const figures = toFigures(await measureAll(benchmarks, options))
  const all = [...figures, ...ratios(figures)]
  if (json === true) process.stdout.write(toJson(all, options))
  else console.log(toTable(all))
  if (typeof json === 'string') writeFileSync(json, toJson(all, options))
}

await main()

// Compares this revision with another one: both run the same benchmarks alternately, so that a
// disturbance of the machine affects both alike, and the ratio of each pair of values counts.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from './figures.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The ratio of one figure here to that of the other revision. */
export interface Ratio {
  readonly name: string
  /** The geometric mean over the pairs of runs. */
  readonly ratio: number
  /** The bounds of its 95 % confidence interval; undefined for fewer than two pairs. */
  readonly low: number | undefined
  readonly high: number | undefined
}

/** What both revisions measured. */
export interface Comparison {
  readonly here: readonly Figure[]
  readonly there: readonly Figure[]
  readonly ratios: readonly Ratio[]
}

/** A mistake of the user. */
export class RevisionError extends Error {}

/**
 * Measures both revisions `repetitions` times. `args`: the options for each single run. Rejects
 * with `RevisionError` if there is no such revision, and with `Error` if a run gives no figures.
 */
export async function compare(
  revision: string,
  args: readonly string[],
  repetitions: number,
): Promise<Comparison> {
  const commit = git([
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${revision}^{commit}`,
  ])
  if (commit === undefined) {
    throw new RevisionError(`--compare: there is no revision "${revision}" in ${ROOT}`)
  }
  const folder = mkdtempSync(join(tmpdir(), 'scaler-bench-'))
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  try {
    const there = join(folder, 'clone')
    git(['clone', '--quiet', '--shared', '--no-checkout', ROOT, there])
    if (git(['-C', there, 'checkout', '--quiet', '--detach', commit.trim()]) === undefined) {
      throw new Error(`cannot check out ${revision}`)
    }
    const figures: { here: Figure[][]; there: Figure[][] } = { here: [], there: [] }
    for (let round = 0; round < repetitions; round += 1) {
      console.error(`comparing with ${revision} (${round + 1} of ${repetitions})`)
      // Each goes first as often as the other.
      const sides = [['here', ROOT] as const, ['there', there] as const]
      for (const [side, root] of round % 2 === 0 ? sides : sides.reverse()) {
        figures[side].push(await measure(root, args, join(folder, 'figures.json')))
      }
    }
    const [here, other] = [joined(figures.here), joined(figures.there)]
    return { here, there: other, ratios: ratiosOf(here, other) }
  } finally {
    process.off('exit', removeFolder)
    removeFolder()
  }
}

/** The ratios of the figures that both have, in the order of `here`. */
export function ratiosOf(here: readonly Figure[], there: readonly Figure[]): readonly Ratio[] {
  return here.flatMap(({ name, values }) => {
    const other = there.find((figure) => figure.name === name)?.values ?? []
    const logs = values.flatMap((value, index) => {
      const log = Math.log(value / (other[index] ?? Number.NaN))
      return Number.isFinite(log) ? [log] : []
    })
    return logs.length === 0 ? [] : [{ name, ...interval(logs) }]
  })
}

/** All ratios as aligned lines. */
export function ratioTable(ratios: readonly Ratio[]): string {
  const width = Math.max(...ratios.map(({ name }) => name.length))
  const lines = ratios.map(({ name, ratio, low, high }) => {
    const range = low === undefined ? '' : `  (95 %: ${low.toFixed(3)} to ${high?.toFixed(3)})`
    return `${name.padEnd(width)} ${ratio.toFixed(3).padStart(8)}${range}`
  })
  return lines.join('\n')
}

/** The mean of logarithms, and where it lies with 95 % confidence. */
function interval(logs: readonly number[]): Omit<Ratio, 'name'> {
  const count = logs.length
  const mean = logs.reduce((sum, log) => sum + log, 0) / count
  if (count < 2) return { ratio: Math.exp(mean), low: undefined, high: undefined }
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (count - 1)
  const half = studentT(count - 1) * Math.sqrt(variance / count)
  return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) }
}

/** The 97.5 % quantiles of Student's distribution, by degrees of freedom from 1. */
const STUDENT_T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]

/** Beyond the table, within 0.1 %. */
function studentT(freedom: number): number {
  return STUDENT_T[freedom - 1] ?? 1.96 + 2.37 / freedom + 2.9 / freedom ** 2
}

/** One run of the benchmarks of a clone, which compiles it first. */
async function measure(root: string, args: readonly string[], file: string): Promise<Figure[]> {
  rmSync(file, { force: true })
  const program = [join(root, 'scripts/bench.mjs'), ...args, '--repetitions', '1', '--json', file]
  const child = spawn(process.execPath, program, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const end = (): void => void child.kill()
  process.once('exit', end)
  await once(child, 'exit')
  process.off('exit', end)
  const text = ((): string => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      throw new Error(`the benchmarks in ${root} gave no figures`)
    }
  })()
  return (JSON.parse(text) as { readonly results: Figure[] }).results
}

/** Figures of several runs as one, values in the order of the runs. */
function joined(runs: readonly (readonly Figure[])[]): Figure[] {
  const names = [...new Set(runs.flatMap((run) => run.map(({ name }) => name)))]
  return names.map((name) => {
    const mine = runs.map((run) => run.find((figure) => figure.name === name))
    // A value for each run: the ratios are those of pairs.
    const values = mine.map((figure) => figure?.values[0] ?? Number.NaN)
    return { name, unit: mine.find((figure) => figure !== undefined)?.unit ?? '', values }
  })
}

/** The output of git; undefined if it fails. */
function git(args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return status === 0 ? stdout : undefined
}

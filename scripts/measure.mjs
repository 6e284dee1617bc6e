// `npm run measure`: prints how large the source and the package are, and in how many files
// something runs for one submit, round trip, cancel or heartbeat: before, now, and the goal.
// `--json` prints the rows as JSON, `--no-build` measures what is already compiled.

import { join } from 'node:path'
import { ROOT } from './paths.mjs'
import { medianOf } from './measure/median.mjs'
import {
  callbackInterfacesIn,
  deadlineGettersIn,
  pages,
  phrasesIn,
  sizesOf,
  sourceFiles,
} from './measure/text.mjs'
import { build } from './prepare.mjs'
import { runOrExit } from './process.mjs'
import { measureSizes } from './size.mjs'

/** Programs started to measure the time of an import, and clusters for that of round trips. */
const IMPORTS = 20
const CLUSTERS = 3

const args = process.argv.slice(2)
const unknown = args.find((arg) => !['--json', '--no-build'].includes(arg))
if (unknown !== undefined) {
  console.error(`unknown option ${unknown}; use --json, --no-build`)
  process.exit(2)
}
if (!args.includes('--no-build')) await build()
const rows = await measure()
console.log(args.includes('--json') ? JSON.stringify(rows, undefined, 2) : tableOf(rows))

/**
 * All rows, as `{ name, before, now, goal }`. `before` is what a review found in an earlier state;
 * its phrases were counted again by the rule used here.
 */
async function measure() {
  const sources = sourceFiles()
  const sum = (count) => sources.reduce((total, { text }) => total + count(text), 0)
  const { files, lines, largestFolder, smallFiles } = sizesOf(sources)
  const phrases = [...sources, ...pages()].reduce((total, { text }) => total + phrasesIn(text), 0)
  const ran = JSON.parse(await program('files-run.mjs'))
  const [packed] = await measureSizes()
  return [
    row('source files', 483, files, 320),
    row('source lines', 52_900, lines, 50_000),
    row('source files in the largest folder', 58, largestFolder, 18),
    row('source files under 50 lines', 122, smallFiles, 40),
    row('files in which something runs: repeated submit', 85, ran.repeatedSubmit, 60),
    row('files in which something runs: first submit', 111, ran.firstSubmit, 85),
    row('files in which something runs: client round trip', 99, ran.clientRoundTrip, 75),
    row('files in which something runs: round trip over three parts', 151, ran.roundTrip, 110),
    row('files in which something runs: cancel of a running task', 119, ran.cancel, 90),
    row('files in which something runs: heartbeat', 71, ran.heartbeat, 50),
    row('getters of deadlines', 21, sum(deadlineGettersIn), 3),
    row(
      'interfaces of callbacks',
      30,
      sum((text) => callbackInterfacesIn(text).length),
      12,
    ),
    row('median of the first 1,000 round trips, ms', 1.1, await roundTripMs(), 0.6),
    row('CPU time of the import over a bare node, s', 0.25, await importSeconds(), 0.06),
    row('files in the tarball', 943, packed.files, 60),
    row('phrases to avoid in source and pages', 690, phrases, 20),
  ]
}

function row(name, before, now, goal) {
  return { name, before, now, goal }
}

async function roundTripMs() {
  const medians = []
  for (let count = 0; count < CLUSTERS; count += 1) {
    medians.push(Number(await program('round-trips.mjs')))
  }
  return rounded(medianOf(medians))
}

/** CPU time, which other programs on the machine affect least. */
async function importSeconds() {
  const bare = []
  const library = []
  for (let count = 0; count < IMPORTS; count += 1) {
    bare.push(await cpuSeconds('0'))
    library.push(await cpuSeconds("await import('scaler-ts')"))
  }
  return rounded(medianOf(library) - medianOf(bare))
}

/** The CPU time of a program in a process of its own, in seconds. */
async function cpuSeconds(text) {
  const report = 'const { user, system } = process.cpuUsage(); console.log((user + system) / 1e6)'
  const code = `(async () => { ${text}; ${report} })()`
  return Number(await outputOf(['-e', code]))
}

function program(name) {
  return outputOf([join(ROOT, 'scripts/measure', name)])
}

function outputOf(nodeArgs) {
  return runOrExit(process.execPath, nodeArgs, { capture: true })
}

function rounded(number) {
  return Math.round(number * 1_000) / 1_000
}

function tableOf(list) {
  const lines = [['', 'before', 'now', 'goal'], ...list.map((entry) => Object.values(entry))]
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines
    .map(([name, ...figures]) => [name.padEnd(width), ...figures.map((f) => String(f).padStart(7))])
    .map((cells) => cells.join('  '))
    .join('\n')
}

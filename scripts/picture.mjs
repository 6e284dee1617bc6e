// `npm run picture`: records docs/picture.svg, the picture at the top of the README. Two shells in
// terminals of their own: in one, a program maps over its input; in the other, its workers and then
// its scheduler are killed. Only the typing is simulated: the picture shows the real output at its
// real time, except that pauses are cut to two seconds. Needs `script` and `bash` (Linux).

import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './paths.mjs'
import { Session, pause } from './picture/session.mjs'
import { svgOf } from './picture/svg.mjs'
import { build } from './prepare.mjs'

const PICTURE = 'docs/picture.svg'
const TITLE =
  'A map continues while its workers and then its scheduler are killed, and its result is correct'
const COLUMNS = 88
const ROWS = 10
const LONGEST_PAUSE_MS = 2_000
const SHORTEST_MS = 60
const ANSWER = '664,579 primes below 10,000,000'

await build()
execFileSync('script', ['--version'], { stdio: 'ignore' })
const start = performance.now()
const clock = () => performance.now() - start
const folder = join(ROOT, 'scripts/picture')
const env = { NODE_NO_WARNINGS: undefined }
const program = new Session(folder, { columns: COLUMNS, rows: ROWS, clock, env })
const operator = new Session(folder, { columns: COLUMNS, rows: 3, clock, env })
try {
  await Promise.all([program.shows(/\$ $|\$$/), operator.shows(/\$ $|\$$/)])
  await program.type('node primes.mjs')
  await program.shows(/ [2-9]\d%/)
  const { agent, scheduler } = partsBelow(program.pid)
  await operator.type(`kill -9 ${agent}   # all workers`)
  await program.shows(/ [5-9]\d%/)
  await operator.type(`kill -9 ${scheduler}   # the scheduler`)
  await program.shows(/primes below/)
  await program.shows(/\$$/)
  if (!program.text().includes(ANSWER)) throw new Error(`a wrong result:\n${program.text()}`)
  await pause(500)
} finally {
  await Promise.all([program.close(), operator.close()])
}

const times = [
  ...new Set([program, operator].flatMap(({ frames }) => frames.map(({ atMs }) => atMs))),
]
const shown = shortened(times.sort((one, other) => one - other))
const terminals = [
  { title: 'a program', rows: ROWS, frames: timed(program.frames) },
  { title: 'another terminal', rows: 3, frames: timed(operator.frames) },
]
const svg = svgOf(TITLE, terminals, COLUMNS)
writeFileSync(join(ROOT, PICTURE), svg)
console.log(
  `wrote ${PICTURE}: ${Math.round(svg.length / 1_000)} kB, ${Math.round(clock() / 1_000)} s`,
)

/**
 * The agent, which has the workers, and the scheduler of the local cluster started in a terminal.
 */
function partsBelow(pid) {
  const parts = descendantsOf(pid).filter((one) => commandOf(one).includes('embedded-main.js'))
  const hasWorkers = (one) => childrenOf(one).length > 0
  return { agent: parts.find(hasWorkers), scheduler: parts.find((one) => !hasWorkers(one)) }
}

function descendantsOf(pid) {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number)
}

function parentOf(pid) {
  const text = fileText(`/proc/${pid}/stat`)
  return Number(text.slice(text.lastIndexOf(')')).split(' ')[2])
}

function commandOf(pid) {
  return fileText(`/proc/${pid}/cmdline`)
}

function fileText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process has just exited.
    return ''
  }
}

/** Maps each time of the recording to when it is shown. */
function shortened(moments) {
  const at = new Map()
  let [shownMs, lastMs] = [0, moments[0] ?? 0]
  for (const ms of moments) {
    shownMs += Math.min(ms - lastMs, LONGEST_PAUSE_MS)
    lastMs = ms
    at.set(ms, Math.round(shownMs))
  }
  return at
}

/** The frames without those that were visible only briefly. */
function timed(frames) {
  return frames
    .filter(({ atMs }, index) => (frames[index + 1]?.atMs ?? Infinity) - atMs >= SHORTEST_MS)
    .map(({ atMs, rows }) => ({ atMs: shown.get(atMs), rows }))
}

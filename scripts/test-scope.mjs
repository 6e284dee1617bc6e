// Which test files `npm test` runs, and which it leaves to `npm test -- --all`: those that need
// another program, install one, or take minutes.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './paths.mjs'
import { ensurePeers } from './peers.mjs'
import { ensurePythonVenv } from './python-venv.mjs'

/** Set in the environment of tests that skip what only `--all` runs. */
export const SHORT_RUN = { TEST_SHORT: '1' }

/**
 * What only `--all` runs: whole files, or parts of files (`isPart`), which check TEST_SHORT on
 * their own. `peers` selects the peers of scripts/peers.mjs that they need.
 */
export const LONG_GROUPS = [
  { what: 'libzmq', files: /^test\/interop\/zmtp-/, peers: /^libzmq$/ },
  { what: 'Python Scaler', files: /^test\/interop\/python-/, hasPython: true },
  {
    what: 'Prometheus and its Python client',
    files: /^test\/interop\/metrics\./,
    peers: /^prometheus/,
    isPart: true,
  },
  { what: 'the capnp tool', files: /^test\/interop\/wire-(capnp-tool|generate)/ },
  {
    what: 'most environments of the matrix',
    files: /^test\/matrix\//,
    peers: /^(node-\d+|tools|vitest-\d)$/,
    isPart: true,
  },
  {
    what: 'the packed package',
    files: /^test\/package\/(install-|package|bundle\.)/,
    peers: /^(node-\d+|packaging|hadolint|kubernetes(-schemas)?)$/,
  },
  {
    what: 'large clusters on the terminal',
    files: /^test\/package\/cli-top-many\./,
    isPart: true,
  },
  { what: 'the web page in Chromium', files: /^test\/browser\//, peers: /^browser$/ },
  { what: 'Slurm and sshd', files: /^test\/integration\/allocate-(slurm|ssh)\./ },
  {
    what: 'the client of Kubernetes',
    files: /^test\/integration\/kubernetes\/allocate\./,
    peers: /^kubernetes(-schemas)?$/,
  },
  { what: 'OpenTelemetry', files: /^test\/integration\/spans\./, peers: /^opentelemetry$/ },
  {
    what: 'a cut at every single byte',
    files: /^test\/integration\/failure-link-/,
    isPart: true,
  },
  {
    what: 'most programs and commands of the pages',
    files: /^test\/document\/(programs|commands)\./,
    peers: /^opentelemetry$/,
    isPart: true,
  },
  {
    what: 'the reference of the API',
    files: /^test\/document\/generated\./,
    peers: /^documents$/,
    isPart: true,
  },
  {
    what: 'more rounds of some failures',
    files: /^test\/integration\/(failure-(s|processor)|client-pr|nested-cl|combo\.|worker-agent\.)/,
    isPart: true,
  },
  {
    what: 'test runners and bundlers',
    files: /^test\/package\/(runner|bundler|module-scope)\.test/,
    peers: /^(runners|bundlers|tools)$/,
  },
  {
    what: 'more random cases',
    files:
      /^src\/.*(property|hostile|malformed|packed|program(-text)?|metrics-s\w+|shared-v\w+)\.test/,
    isPart: true,
  },
  { what: 'more random values', files: /^test\/fuzz\//, isPart: true },
  { what: 'more worlds', files: /^test\/simulation\/(replay|mutation)\./, isPart: true },
  { what: '20,000 simulated lives', files: /^test\/simulation\/long-campaign-0/, isPart: true },
  { what: 'long simulations', files: /^test\/simulation\/long-(campaign-[1-9]|life)/ },
  { what: 'real failures for minutes', files: /^test\/chaos\/chaos\.test/ },
]

/** Selects the test files of a run: `{ files, leftOut }`. Words select by path from all files. */
export function chooseTests(all, { words, isWhole }) {
  if (words.length > 0) {
    return { files: all.filter((path) => words.some((word) => path.includes(word))), leftOut: [] }
  }
  if (isWhole) return { files: all, leftOut: [] }
  const wholly = LONG_GROUPS.filter(({ isPart }) => isPart !== true)
  const files = all.filter((path) => !wholly.some((group) => group.files.test(path)))
  return { files, leftOut: LONG_GROUPS.map(({ what }) => what) }
}

/**
 * Folders with tests that share one process in a short run: they have no side effects on each
 * other, and starting a process for each file takes longer than most of them. Most of the
 * serializer is not among them: it turns V8's debugger on, which is slower the more a process has
 * loaded. The core is in several: on Node 20, the time limit of a test is that of its whole file.
 */
const SHARED = [
  'base',
  'wire',
  'core/allocate',
  'core/client',
  'core/monitor',
  'core/scheduler',
  'core/worker',
  'client',
  'worker',
  'cli',
  'transport',
  'scheduler',
  'runtime',
  'serializer/source',
  'serializer/module',
]

/** The files to run for these compiled ones. Writes the files that load several of them. */
export function withSharedProcesses(files, folder = join(ROOT, 'build/shared')) {
  mkdirSync(folder, { recursive: true })
  const isOf = (name) => (path) => path.startsWith(`lib/${name}/`)
  const groups = SHARED.map((name) => [
    join(folder, `${name.replace('/', '-')}.mjs`),
    files.filter(isOf(name)),
  ]).filter(([, tests]) => tests.length > 0)
  for (const [path, tests] of groups) {
    writeFileSync(path, tests.map((test) => `import '${urlOf(test)}'\n`).join(''))
  }
  const others = files.filter((path) => !SHARED.some((name) => isOf(name)(path)))
  // Those with processes take the longest: the short ones at the end leave no processor idle.
  const isLong = (path) => path.startsWith('build/test/')
  others.sort((a, b) => Number(isLong(b)) - Number(isLong(a)))
  return [...groups.map(([path]) => relative(ROOT, path)), ...others]
}

function urlOf(path) {
  return pathToFileURL(join(ROOT, path)).href
}

/** Installs what test files need besides Node. Returns what could not be installed, and why. */
export async function ensureNeeds(files) {
  const groups = LONG_GROUPS.filter((group) => files.some((path) => group.files.test(path)))
  const missing = await ensurePeers((name) => groups.some(({ peers }) => peers?.test(name)))
  if (!groups.some(({ hasPython }) => hasPython)) return missing
  const whyNoPython = await ensurePythonVenv()
  return whyNoPython === undefined ? missing : [...missing, `Python Scaler (${whyNoPython})`]
}

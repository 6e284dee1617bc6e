// Which test files a run of `npm test` has, and what it leaves to `npm test -- --all`: what needs
// another program, installs one, or takes minutes.

import { ensurePeers } from './peers.mjs'
import { ensurePythonVenv } from './python-venv.mjs'

/** Set in the environment of tests that are to leave out what only `--all` has. */
export const SHORT_RUN = { TEST_SHORT: '1' }

/**
 * What only `--all` has: whole files, or parts of files (`isPart`), which look for TEST_SHORT by
 * themselves. `peers` says which of scripts/peers.mjs they need.
 */
export const LONG_GROUPS = [
  { what: 'libzmq', files: /^test\/interop\/zmtp-/, peers: /^libzmq$/ },
  { what: 'Python Scaler', files: /^test\/interop\/python-/, hasPython: true },
  { what: 'the capnp tool', files: /^test\/interop\/wire-(capnp-tool|generate)/ },
  {
    what: 'most environments of the matrix',
    files: /^test\/matrix\//,
    peers: /^(node-\d+|tools|vitest-\d)$/,
    isPart: true,
  },
  {
    what: 'installing the package',
    files: /^test\/package\/(install-|package-types|package-deploy)/,
    peers: /^(node-\d+|packaging|hadolint)$/,
  },
  {
    what: 'a cut at every single byte',
    files: /^test\/integration\/failure-link-/,
    isPart: true,
  },
  {
    what: 'most programs and commands of the pages',
    files: /^test\/document\/(programs|commands)\./,
    isPart: true,
  },
  {
    what: 'more rounds of some failures',
    files: /^test\/integration\/(failure-s|client-process|nested-cluster|combo\.)/,
    isPart: true,
  },
  {
    what: 'test runners and bundlers',
    files: /^test\/package\/(runner|bundler)\.test/,
    peers: /^(runners|bundlers)$/,
  },
  { what: '20,000 simulated lives', files: /^test\/simulation\/long-campaign-0/, isPart: true },
  { what: 'long simulations', files: /^test\/simulation\/long-(campaign-[1-9]|life)/ },
  { what: 'real failures for minutes', files: /^test\/chaos\/chaos\.test/ },
]

/** Of all test files, those of a run: `{ files, leftOut }`. Words in paths choose from all. */
export function chooseTests(all, { words, isWhole }) {
  if (words.length > 0) {
    return { files: all.filter((path) => words.some((word) => path.includes(word))), leftOut: [] }
  }
  if (isWhole) return { files: all, leftOut: [] }
  const wholly = LONG_GROUPS.filter(({ isPart }) => isPart !== true)
  const files = all.filter((path) => !wholly.some((group) => group.files.test(path)))
  return { files, leftOut: LONG_GROUPS.map(({ what }) => what) }
}

/** Installs what some test files need beside Node. Returns what could not be installed, and why. */
export async function ensureNeeds(files) {
  const groups = LONG_GROUPS.filter((group) => files.some((path) => group.files.test(path)))
  const missing = await ensurePeers((name) => groups.some(({ peers }) => peers?.test(name)))
  if (!groups.some(({ hasPython }) => hasPython)) return missing
  const whyNoPython = await ensurePythonVenv()
  return whyNoPython === undefined ? missing : [...missing, `Python Scaler (${whyNoPython})`]
}

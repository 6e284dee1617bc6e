// `npm test`: all tests, from a fresh clone with Node and git only. Installs and compiles when
// needed, makes ready what some tests need beside Node, runs the tests, and fails, too, when they
// have left a process or a file behind.

import { ensureTools } from './ci.mjs'
import { beginRun, cleanUp, endRun } from './leftovers.mjs'
import { compiledPath, testFiles } from './paths.mjs'
import { ensurePeers } from './peers.mjs'
import { build } from './prepare.mjs'
import { runNode } from './process.mjs'
import { ensurePythonVenv } from './python-venv.mjs'

await build()
await ensureTools()
const whyNoPython = await ensurePythonVenv()
if (whyNoPython !== undefined) console.log(`no Python Scaler to test against: ${whyNoPython}`)

/** The tests whose path holds one of the words given as arguments; all without arguments. */
const words = process.argv.slice(2)
const files = testFiles(['src', 'bench', 'examples', 'scripts', 'test']).filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
)
if (files.length === 0) {
  console.error(`no test has ${words.join(' or ')} in its path`)
  process.exit(2)
}

if (files.some((path) => /^test\/(matrix|package)\//.test(path))) {
  const missing = await ensurePeers()
  if (missing.length > 0) console.log(`tests are left out for want of ${missing.join('; ')}`)
}

const testRun = beginRun()
process.on('exit', () => cleanUp(testRun))
const compiled = files.map(compiledPath)
const { code } = await runNode(['scripts/run-tests.mjs', ...compiled], { env: testRun.env })
const left = await endRun(testRun)
for (const line of left) console.error(line)
process.exitCode = left.length === 0 ? code : 1

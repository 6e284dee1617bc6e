// `npm test`: the tests that need nothing but Node, from a fresh clone. With `-- --all`, or with CI
// in the environment, all tests; with words, those whose path holds one of them. Installs and
// compiles when needed, makes ready what the tests need beside Node, runs them, and fails, too, if
// they have left a process or a file behind.

import { ensureTools, isCi } from './ci.mjs'
import { beginRun, cleanUp, endRun } from './leftovers.mjs'
import { compiledPath, testFiles } from './paths.mjs'
import { build } from './prepare.mjs'
import { runNode } from './process.mjs'
import { SHORT_RUN, chooseTests, ensureNeeds, withSharedProcesses } from './test-scope.mjs'

const args = process.argv.slice(2)
const unknown = args.find((arg) => arg.startsWith('-') && arg !== '--all')
if (unknown !== undefined) fail(`unknown option ${unknown}; there is --all, and words of paths`)
const words = args.filter((arg) => arg !== '--all')
const isWhole = words.length === 0 && (args.includes('--all') || isCi())

await build()
await ensureTools()
const all = testFiles(['src', 'bench', 'examples', 'scripts', 'test'])
const { files, leftOut } = chooseTests(all, { words, isWhole })
if (files.length === 0) fail(`no test has ${words.join(' or ')} in its path`)
const isShort = leftOut.length > 0
const missing = isShort ? [] : await ensureNeeds(files)
if (missing.length > 0) console.log(`tests are left out for want of ${missing.join('; ')}`)

const testRun = beginRun()
process.on('exit', () => cleanUp(testRun))
const leftOutArgs = leftOut.map((what) => `--left-out=${what}`)
const compiled = files.map(compiledPath)
const { code } = await runNode(
  [
    'scripts/run-tests.mjs',
    ...leftOutArgs,
    ...(isShort ? withSharedProcesses(compiled) : compiled),
  ],
  { env: { ...testRun.env, ...(isShort && SHORT_RUN) } },
)
const left = await endRun(testRun)
for (const line of left) console.error(line)
process.exitCode = left.length === 0 ? code : 1

function fail(message) {
  console.error(message)
  process.exit(2)
}

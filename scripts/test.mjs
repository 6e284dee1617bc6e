// `npm test`: runs the tests that need nothing but Node. With `-- --all`, or on CI, it runs all
// tests; with words, those with one of them in their path. Installs and compiles if needed,
// installs what the tests need besides Node, runs them, and also fails if they leave a process or a
// file behind.

import { ensureTools, isCi } from './ci.mjs'
import { beginRun, cleanUp, endRun } from './leftovers.mjs'
import { compiledPath, testFiles } from './paths.mjs'
import { build } from './prepare.mjs'
import { runNode } from './process.mjs'
import { SHORT_RUN, chooseTests, ensureNeeds, withSharedProcesses } from './test-scope.mjs'

const args = process.argv.slice(2)
const unknown = args.find((arg) => arg.startsWith('-') && arg !== '--all')
if (unknown !== undefined) fail(`unknown option ${unknown}; use --all, or words of paths`)
const words = args.filter((arg) => arg !== '--all')
const isWhole = words.length === 0 && (args.includes('--all') || isCi())

await build()
await ensureTools()
const all = testFiles(['src', 'page', 'bench', 'examples', 'scripts', 'test'])
const { files, leftOut } = chooseTests(all, { words, isWhole })
if (files.length === 0) fail(`no test has ${words.join(' or ')} in its path`)
const isShort = leftOut.length > 0
const missing = isShort ? [] : await ensureNeeds(files)
if (missing.length > 0) console.log(`tests will be skipped, missing: ${missing.join('; ')}`)

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

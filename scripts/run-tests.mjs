// Runs test files with Node's runner: several at a time, each test with a time limit. Finally
// prints the slowest files and one line of what was left out; on CI, a skipped test also fails.
// Started by scripts/test.mjs in a process group of its own.

import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { isCi } from './ci.mjs'
import { ROOT, sourcePath } from './paths.mjs'

/** The number of concurrent test files: most start processes of their own, and many are waiting. */
const CONCURRENCY = { whole: 3, short: 5 }
/** The time limit of a test; on Node 20, of a whole file. Generous. */
const TIMEOUT_MS = 600_000
/** How many files are named at the end. */
const SLOWEST = 10

const { values, positionals } = parseArgs({
  // What is left out intentionally.
  options: { 'left-out': { type: 'string', multiple: true, default: [] } },
  allowPositionals: true,
})
const files = new Set(positionals.map((path) => resolve(path)))
const skipped = []
const durations = []
const counts = {}
let hasFailed = false

const concurrency = values['left-out'].length > 0 ? CONCURRENCY.short : CONCURRENCY.whole
const events = run({ files: [...files], concurrency, timeout: TIMEOUT_MS })
events.on('test:pass', ({ name, skip }) => {
  if (skip !== undefined) skipped.push(typeof skip === 'string' ? `${name} (${skip})` : name)
})
events.on('test:fail', ({ todo }) => {
  if (todo === undefined) hasFailed = true
})
events.on('test:complete', ({ name, details }) => {
  // A file is a test as well, and its name is its path.
  const path = resolve(name)
  if (files.has(path)) durations.push({ path, ms: details.duration_ms })
})
events.on('test:diagnostic', ({ message }) => {
  const [, name, count] = /^(pass|fail|cancelled|skipped) (\d+)$/.exec(message) ?? []
  if (name !== undefined) counts[name] = Number(count)
})
events.compose(new spec()).pipe(process.stdout)

process.on('exit', () => {
  const isIncomplete = skipped.length > 0 && isCi()
  console.log(`the slowest of ${files.size} files:`)
  for (const { path, ms } of durations.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST)) {
    const seconds = (ms / 1_000).toFixed(1).padStart(7)
    console.log(`${seconds} s  ${sourcePath(relative(ROOT, path))}`)
  }
  const groups = values['left-out'].map((what) => `${what} (npm test -- --all)`)
  console.log(`left out: ${[...groups, ...skipped].join('; ') || 'nothing'}`)
  if (isIncomplete) console.log('no test may be skipped on CI')
  // The last line of the output, for programs that read it.
  const { pass = 0, fail = 0, cancelled = 0 } = counts
  console.log(`${pass} passed, ${fail + cancelled} failed, ${skipped.length} skipped`)
  if (hasFailed || isIncomplete) process.exitCode = 1
})

// Runs test files with Node's runner: two at a time, each test with a time limit. Names every test
// that was left out in a line of its own; with CI set in the environment that is a failure, too.
// Started by scripts/test.mjs in a process group of its own.

import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { isCi } from './ci.mjs'

/** Test files at a time. Most start processes of their own. */
const CONCURRENCY = 2
/** A test that takes longer has failed; on Node 20 the limit counts for a whole file. Generous. */
const TIMEOUT_MS = 300_000

const leftOut = []
let hasFailed = false
const events = run({
  files: process.argv.slice(2),
  concurrency: CONCURRENCY,
  timeout: TIMEOUT_MS,
})
events.on('test:pass', (event) => {
  if (event.skip !== undefined) leftOut.push({ name: event.name, why: event.skip })
})
events.on('test:fail', (event) => {
  if (event.todo === undefined) hasFailed = true
})
events.compose(new spec()).pipe(process.stdout)

process.on('exit', () => {
  const isIncomplete = leftOut.length > 0 && isCi()
  for (const { name, why } of leftOut) {
    console.log(`left out: ${name}${typeof why === 'string' ? ` (${why})` : ''}`)
  }
  if (isIncomplete) console.log('nothing may be left out on CI')
  if (hasFailed || isIncomplete) process.exitCode = 1
})

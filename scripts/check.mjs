// `npm run check`: all automated checks that take less than a minute together. The steps run
// concurrently, and each runs even if another has failed, unless it needs its result.

import { compiledPath, testFiles } from './paths.mjs'
import { ensurePeers, peerFile } from './peers.mjs'
import { compile, ensureInstalled } from './prepare.mjs'
import { runNode } from './process.mjs'

const script = (name, ...args) => runNode([`scripts/${name}`, ...args], { capture: true })
const tool = (path, ...args) => runNode([`node_modules/${path}`, ...args], { capture: true })

/**
 * Shown in this order. A step waits for those in `needs`, and is not run if one of them fails. The
 * output of a step is shown if it fails; that of a talkative step always, as it may report a skip.
 */
const STEPS = [
  {
    name: 'format',
    run: () => tool('prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'),
  },
  { name: 'imports', run: () => script('check-imports.mjs') },
  { name: 'text', run: () => script('check-text.mjs') },
  { name: 'wire code', isTalkative: true, run: () => script('generate-wire.mjs', '--check') },
  { name: 'types', run: compile },
  { name: 'lint', needs: ['types'], run: lint },
  { name: 'tests', needs: ['types'], run: runTests },
  { name: 'simulation', needs: ['types'], isTalkative: true, run: simulate },
]

/** Only this check needs the linter, so it is not a dependency: it is installed when missing. */
async function lint() {
  const [missing] = await ensurePeers((name) => name === 'lint')
  if (missing !== undefined) return { code: 1, output: `cannot be installed: ${missing}\n` }
  const env = { OXLINT_TSGOLINT_PATH: peerFile('lint', 'node_modules/.bin/tsgolint') }
  return runNode([peerFile('lint', 'node_modules/oxlint/bin/oxlint')], { capture: true, env })
}

/** The number of simulated runs, from a seed that is printed. */
const SIMULATED_RUNS = 400

function simulate() {
  const runs = ['--runs', String(SIMULATED_RUNS), '--jobs', '1']
  return runNode(['build/test/simulation/main.js', ...runs], { capture: true })
}

/** The unit and property tests: those beside the source. */
function runTests() {
  const files = testFiles(['src', 'page', 'bench', 'examples', 'scripts']).map(compiledPath)
  return runNode(['--test', '--test-reporter=dot', ...files], { capture: true })
}

/** Runs a step after those that it needs; returns the outcome. */
async function perform(step, outcomes) {
  for (const name of step.needs ?? []) {
    if (!(await outcomes.get(name)).isGood) {
      return { isGood: false, line: `-- ${step.name}: not run, because ${name} failed`, output: '' }
    }
  }
  const begun = performance.now()
  const { code, output } = await step.run()
  const isGood = code === 0
  const line = `${isGood ? 'ok' : 'NO'} ${step.name} (${seconds(begun)})`
  return { isGood, line, output: isGood && !step.isTalkative ? '' : output }
}

await ensureInstalled()
const start = performance.now()
const outcomes = new Map()
for (const step of STEPS) outcomes.set(step.name, perform(step, outcomes))
const failed = []
for (const [name, outcome] of outcomes) {
  const { isGood, line, output } = await outcome
  console.log(line)
  process.stdout.write(output)
  if (!isGood) failed.push(name)
}
console.log(
  failed.length === 0 ? `all checks passed (${seconds(start)})` : `failed: ${failed.join(', ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1

function seconds(since) {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`
}

// `npm run check`: everything that a machine can say about a change in under a minute. The steps
// run side by side, and each runs even when another has failed, unless it needs its result.

import { compiledPath, testFiles } from './paths.mjs'
import { ensurePeers, peerFile } from './peers.mjs'
import { compile, ensureInstalled } from './prepare.mjs'
import { runNode } from './process.mjs'

const script = (name, ...args) => runNode([`scripts/${name}`, ...args], { capture: true })
const tool = (path, ...args) => runNode([`node_modules/${path}`, ...args], { capture: true })

/**
 * Shown in this order; a step with `needs` waits for those, and is left out if one fails. What a
 * step says is shown when it has failed, or always if it is talkative: it may have been skipped.
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

/** Only checking needs the linter, so it is no dependency: it is installed when it is missing. */
async function lint() {
  const [missing] = await ensurePeers((name) => name === 'lint')
  if (missing !== undefined) return { code: 1, output: `cannot be installed: ${missing}\n` }
  const env = { OXLINT_TSGOLINT_PATH: peerFile('lint', 'node_modules/.bin/tsgolint') }
  return runNode([peerFile('lint', 'node_modules/oxlint/bin/oxlint')], { capture: true, env })
}

/** So many worlds, from a seed that is told. */
const SIMULATED_RUNS = 400

function simulate() {
  const runs = ['--runs', String(SIMULATED_RUNS), '--jobs', '1']
  return runNode(['build/test/simulation/main.js', ...runs], { capture: true })
}

/** The unit and property tests: those beside the source. */
function runTests() {
  const files = testFiles(['src', 'bench', 'examples', 'scripts']).map(compiledPath)
  return runNode(['--test', '--test-reporter=dot', ...files], { capture: true })
}

/** Runs a step after those it needs; returns what came of it. */
async function perform(step, outcomes) {
  for (const name of step.needs ?? []) {
    if (!(await outcomes.get(name)).isGood) {
      return { isGood: false, line: `-- ${step.name}: not run, for ${name} failed`, output: '' }
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
  failed.length === 0 ? `all is well (${seconds(start)})` : `failed: ${failed.join(', ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1

function seconds(since) {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`
}

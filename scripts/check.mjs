// `npm run check`: everything that a machine can say about a change in under a minute. Each step
// runs even when an earlier one has failed, unless it needs its result; all failures are shown.

import { compiledPath, filesUnder } from './paths.mjs'
import { compile, ensureInstalled } from './prepare.mjs'
import { runNode } from './process.mjs'

const script = (name, ...args) => runNode([`scripts/${name}`, ...args], { capture: true })
const tool = (path, ...args) => runNode([`node_modules/${path}`, ...args], { capture: true })

/** In this order; a step with `needs` is left out when one of those has failed. */
const STEPS = [
  {
    name: 'format',
    run: () => tool('prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'),
  },
  { name: 'imports', run: () => script('check-imports.mjs') },
  { name: 'text', run: () => script('check-text.mjs') },
  { name: 'wire code', run: () => script('generate-wire.mjs', '--check') },
  { name: 'types', run: compile },
  { name: 'lint', needs: ['types'], run: () => tool('oxlint/bin/oxlint') },
  { name: 'tests', needs: ['types'], run: runTests },
]

/** The unit and property tests: those beside the source. They open no socket, start no process. */
function runTests() {
  const sources = filesUnder('src', (path) => path.endsWith('.test.ts'))
  const scripts = filesUnder('scripts', (path) => path.endsWith('.test.mjs'))
  const files = [...sources.map(compiledPath), ...scripts]
  return runNode(['--test', '--test-reporter=dot', ...files], { capture: true })
}

await ensureInstalled()
const failed = new Set()
const start = performance.now()
for (const step of STEPS) {
  const missing = step.needs?.find((name) => failed.has(name))
  if (missing !== undefined) {
    console.log(`-  ${step.name}: not run, for ${missing} failed`)
    continue
  }
  const begun = performance.now()
  const { code, output } = await step.run()
  console.log(`${code === 0 ? 'ok' : 'NO'} ${step.name} (${seconds(begun)})`)
  if (code === 0) continue
  failed.add(step.name)
  process.stdout.write(output)
}
console.log(
  failed.size === 0 ? `all is well (${seconds(start)})` : `failed: ${[...failed].join(', ')}`,
)
process.exitCode = failed.size === 0 ? 0 : 1

function seconds(since) {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`
}

// Runs the matrix of environments and cases, or a part of it, and prints the results.
//
//   node scripts/matrix.mjs                      everything
//   node scripts/matrix.mjs --env tsx --case private   a part, by words in names; repeatable
//   node scripts/matrix.mjs --local              calls the functions instead of shipping them
//   node scripts/matrix.mjs --table              prints the table only, in Markdown
//   --smoke also runs on a cluster; --dist FOLDER uses another compiled package; --keep keeps the
//   files; --no-build compiles nothing; --verbose prints all details

import { parseArgs } from 'node:util'
import { resolve } from 'node:path'
import { ROOT } from './paths.mjs'
import { build } from './prepare.mjs'
import { ensureNeeds } from './test-scope.mjs'

const { values: flags } = parseArgs({
  options: {
    env: { type: 'string', multiple: true, default: [] },
    case: { type: 'string', multiple: true, default: [] },
    local: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    'no-build': { type: 'boolean', default: false },
    dist: { type: 'string', default: `${ROOT}/dist` },
    /** The folder of the compiled test/matrix/. */
    compiled: { type: 'string', default: `${ROOT}/build/test/matrix` },
  },
})

if (!flags['no-build']) await build()
const missing = await ensureNeeds(['test/matrix/matrix.test.ts'])
if (missing.length > 0) console.error(`left out: ${missing.join('; ')}`)
const compiled = resolve(flags.compiled)
const { ENVIRONMENTS } = await import(`${compiled}/environment.js`)
const { runEnvironment } = await import(`${compiled}/matrix.js`)
const { missingPeers } = await import(`${compiled}/peer.js`)
const { casesWith, failuresOf, tableOf } = await import(`${compiled}/table.js`)
const { Workplace } = await import(`${compiled}/workplace.js`)

const isExact = flags.env.some((word) => ENVIRONMENTS.some(({ name }) => name === word))
const isNamed = ({ name }) =>
  flags.env.length === 0 ||
  flags.env.some((word) => (isExact ? name === word : name.includes(word)))
const chosen = ENVIRONMENTS.filter(
  (environment) => missingPeers(environment).length === 0 && isNamed(environment),
)
const workplace = new Workplace(resolve(flags.dist))
const remove = () => flags.keep || workplace.remove()
process.on('exit', remove)
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
if (flags.keep) console.error(`the files are in ${workplace.farFolder}/..`)

const asked = {
  mode: flags.local ? 'local' : 'ship',
  hasSmoke: flags.smoke,
  words: flags.case,
}
const begun = performance.now()
const reports = await all(chosen)
if (!flags.table) explain(reports)
console.log(tableOf(reports))
const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
if (!flags.table) console.log(`${reports.length} environments in ${seconds} s`)
if (reports.some((report) => failuresOf(report) !== '')) process.exitCode = 1

/** Runs two at a time; the results are in the order of the environments. */
async function all(environments) {
  const results = new Array(environments.length)
  let next = 0
  const lane = async () => {
    while (next < environments.length) {
      const index = next++
      results[index] = await runEnvironment(workplace, environments[index], asked)
      if (!flags.table) {
        const ms = Math.round(results[index].durationMs)
        console.log(`${environments[index].name}: ${ms} ms`)
      }
    }
  }
  await Promise.all([lane(), lane()])
  return results
}

function explain(reports) {
  for (const report of reports) {
    const { name } = report.environment
    if (report.report === undefined) console.log(`${name}: ${failuresOf(report)}`)
    for (const { name: title, result, detail } of flags.verbose
      ? (report.report?.cases ?? [])
      : []) {
      if (detail !== '') console.log(`${name}: ${title}: ${result}: ${detail}`)
    }
  }
  const parts = [
    casesWith('declined', reports),
    casesWith('failed', reports),
    casesWith('failed', reports, 'smoke'),
  ]
  for (const part of parts) if (part !== '') console.log(part)
}

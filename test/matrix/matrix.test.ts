// The same cases in every way to run JavaScript: each must give the same as a local call of the
// function, or be refused if it allows that. Never anything else.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isShort } from '#src/base/short-run.kit.js'
import { ENVIRONMENTS } from './environment.js'
import { runEnvironment, type EnvironmentReport } from './matrix.js'
import { missingPeers, neededPeers } from './peer.js'
import { casesWith, failuresOf, tableOf } from './table.js'
import { ROOT, Workplace } from './workplace.js'

/**
 * Environments at the same time: each keeps one process busy, because it waits for its far side.
 */
const CONCURRENCY = 2

/** The number of environments without requirements that are tried without `--all`. */
const SHORT_COUNT = 2

const wanted = isShort
  ? ENVIRONMENTS.filter((one) => neededPeers(one).length === 0).slice(0, SHORT_COUNT)
  : ENVIRONMENTS
const missing = new Set(wanted.flatMap(missingPeers))
const present = wanted.filter((environment) => missingPeers(environment).length === 0)
const without = `no ${[...missing].join(', ')}: node scripts/peers.mjs`

if (missing.size > 0) {
  test(`${wanted.length - present.length} environments of the matrix`, { skip: without })
}

test('functions travel however JavaScript is run', { concurrency: CONCURRENCY }, async (t) => {
  const workplace = new Workplace(join(ROOT, 'dist'))
  after(() => workplace.remove())
  const reports = new Map<string, EnvironmentReport>()
  const asked = { mode: 'ship', hasSmoke: true, words: [] } as const
  const runs = present.map((environment) =>
    t.test(environment.name, async () => {
      const report = await runEnvironment(workplace, environment, asked)
      reports.set(environment.name, report)
      const failures = failuresOf(report)
      assert.ok(failures === '', failures)
    }),
  )
  await Promise.all(runs)
  const inOrder = present.flatMap(({ name }) => reports.get(name) ?? [])
  console.log(`${casesWith('declined', inOrder)}\n${tableOf(inOrder)}`)
})

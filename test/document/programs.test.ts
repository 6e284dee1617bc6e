// The pages that show programs only: each program writes what its page says.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runPage } from './page-run.js'
import { sized } from '#src/base/short-run.kit.js'
import { hasCommands, pagesToRun } from './pages.js'

const counts: number[] = []

for (const page of pagesToRun().filter((one) => !hasCommands(one))) {
  test(`what ${page.path} shows is true`, async (t) => {
    counts.push(await runPage(t, page))
  })
}

test('the pages have something to show', () => {
  assert(counts.reduce((sum, one) => sum + one, 0) >= sized(30, 8))
})

// The pages that show commands, and programs that use servers started by commands: the output of
// all of it matches the page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runPage } from './page-run.js'
import { sized } from '#src/base/short-run.kit.js'
import { hasCommands, pagesToRun } from './pages.js'

const counts: number[] = []

for (const page of pagesToRun().filter(hasCommands)) {
  test(`the output shown in ${page.path} is correct`, async (t) => {
    counts.push(await runPage(t, page))
  })
}

test('there are pages with commands', () => {
  assert(counts.reduce((sum, one) => sum + one, 0) >= sized(40, 8))
})

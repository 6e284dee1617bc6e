import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './command.js'

/** The text of all tests. */
async function testSources(): Promise<string> {
  const texts: string[] = []
  for (const folder of ['src', 'test']) {
    for (const name of await readdir(join(ROOT, folder), { recursive: true })) {
      if (name.endsWith('.test.ts')) texts.push(await readFile(join(ROOT, folder, name), 'utf8'))
    }
  }
  return texts.join('\n')
}

test('the tests that the page about reliability names exist', async () => {
  const page = await readFile(join(ROOT, 'docs/reliability.md'), 'utf8')
  const table = page.slice(page.indexOf('\n## Problems known from similar systems'))
  const rows = [...table.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)].slice(2)
  assert.ok(rows.length > 20)
  const sources = await testSources()
  const missing = rows.map(([, , title = '']) => title).filter((title) => !sources.includes(title))
  assert.deepEqual(missing, [])
})

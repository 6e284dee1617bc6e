// Functions and arguments that name a module which can only be imported asynchronously.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

/** It waits while it is imported, and again, so that no import of it completes immediately. */
const PACKAGE = `
await new Promise((resolve) => setImmediate(resolve))
export const triple = (x) => 3 * x
`

/** Each line is one task; all of them have arrived before the first has ended. */
const PROGRAM = `
import { Client } from ${JSON.stringify(import.meta.resolve('scaler-ts'))}
import { triple } from 'late'

const client = await Client.local({ workers: 1 })
const call = (fn, x) => fn(x)
const futures = [
  client.submit(() => triple(1)),
  client.submit((x) => x + 1, 1),
  client.submit(call, (x) => triple(x), 2),
]
const [captured, plain, argument] = await Promise.all(futures)
console.log(captured, plain, argument)
console.log(await client.map((x) => triple(x), [1, 2, 3]))
await client.close()
`

test('tasks wait for asynchronous imports, and tasks behind them run after them', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'late-import-'))
  t.after(() => rm(folder, { recursive: true }))
  const packageFolder = join(folder, 'node_modules', 'late')
  await mkdir(packageFolder, { recursive: true })
  const manifest = JSON.stringify({ name: 'late', type: 'module', exports: './late.js' })
  await writeFile(join(packageFolder, 'package.json'), manifest)
  await writeFile(join(packageFolder, 'late.js'), PACKAGE)
  await writeFile(join(folder, 'program.mjs'), PROGRAM)
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['program.mjs'], {
    cwd: folder,
  })
  assert.equal(stderr, '')
  assert.equal(stdout, '3 2 6\n[ 3, 6, 9 ]\n')
})

// Objects at the top of a program's modules work in tasks, in each way to run a program without a
// test runner; runner.test.ts has those.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ROOT } from './command.js'
import {
  MODULE_SCOPE,
  MODULE_SCOPE_ANSWERS,
  MODULE_SCOPE_IMPORTS,
  MODULE_SCOPE_REQUIRES,
} from './module-scope.kit.js'
import { PackedProject } from './packed-project.kit.js'

const PEERS = join(ROOT, '.peers/runners/node_modules')
const TSX = join(ROOT, '.peers/tools/node_modules/tsx/dist/loader.mjs')
const skip = [PEERS, TSX].every(existsSync) ? false : 'no packages: node scripts/peers.mjs'

const MAIN = `
async function main() {
  const client = await Client.local({ workers: 1 })
  try {
    console.log('answers: ' + JSON.stringify(await inTasks(client)))
  } finally {
    await client.close()
  }
}
void main()
`
const MODULE = `import { Client } from 'scaler-ts'${MODULE_SCOPE_IMPORTS}${MODULE_SCOPE}${MAIN}`
const SCRIPT = `const { Client } = require('scaler-ts')${MODULE_SCOPE_REQUIRES}${MODULE_SCOPE}${MAIN}`
const TYPED = MODULE.replace('inTasks(client)', 'inTasks(client: Client)')

/** Runs a program and checks its output, including the logs of its tasks. */
async function answers(
  t: TestContext,
  [path, text]: readonly [path: string, text: string],
  flags: readonly string[] = [],
): Promise<void> {
  const project = await PackedProject.make(t, { 'package.json': '{}', [path]: text })
  for (const name of ['zod', 'pino']) await project.link(name, join(PEERS, name))
  // tsx keeps what it has compiled.
  const { code, output } = await project.node([...flags, path], { TMPDIR: project.folder })
  assert.equal(code, 0, output)
  const [, json = ''] = /^answers: (.*)$/m.exec(output) ?? []
  assert.deepEqual(JSON.parse(json), MODULE_SCOPE_ANSWERS)
  assert.match(output, /"msg":"from a task"/)
  assert.match(output, /"part":"child","msg":"from another"/)
}

test('an ES module', { skip }, async (t) => {
  await answers(t, ['program.mjs', MODULE])
})

test('a CommonJS file', { skip }, async (t) => {
  await answers(t, ['program.cjs', SCRIPT])
})

test('TypeScript by tsx, as an ES module', { skip }, async (t) => {
  await answers(t, ['program.mts', TYPED], ['--import', pathToFileURL(TSX).href])
})

test('TypeScript by tsx, as CommonJS', { skip }, async (t) => {
  await answers(t, ['program.ts', TYPED], ['--import', pathToFileURL(TSX).href])
})

const REFUSED = `import { explainSerialization } from 'scaler-ts'

interface Row {
  readonly id: number
}

const rows = new WeakMap<object, Row>()

function rowOf(key: object): Row | undefined {
  // A comment.
  return rows.get(key)
}

console.log(explainSerialization(rowOf))
`

test('messages about TypeScript name the lines as they were written', { skip }, async (t) => {
  for (const name of ['program.mts', 'program.ts']) {
    const project = await PackedProject.make(t, { 'package.json': '{}', [name]: REFUSED })
    const words = ['--import', pathToFileURL(TSX).href, name]
    const { code, output } = await project.node(words, { TMPDIR: project.folder })
    assert.equal(code, 0, output)
    assert.ok(output.includes(`/${name}:9\n`), output)
    assert.ok(output.includes(`rows (captured at ${name}:11): CANNOT TRAVEL`), output)
  }
})

const ONE_INSTANCE = `import { createRequire } from 'node:module'
import { Client } from 'scaler-ts'
import { imported, required } from './helper.cjs'
const own = createRequire(__filename)('scaler-ts').Client
async function main() {
  const later = (await import('scaler-ts')).Client
  console.log([imported, required, own, later].every((each) => each === Client))
}
void main()
`
const OTHER_FILE = `import { Client } from 'scaler-ts'
export const imported = Client
export const required = require('scaler-ts').Client
`

test('with tsx, import and require share one instance', { skip }, async (t) => {
  const module = ONE_INSTANCE.replace('__filename', 'import.meta.url')
  const texts = { 'program.cts': ONE_INSTANCE, 'program.mts': module, 'helper.cts': OTHER_FILE }
  const project = await PackedProject.make(t, { 'package.json': '{}', ...texts })
  for (const program of ['program.cts', 'program.mts']) {
    const args = ['--import', pathToFileURL(TSX).href, program]
    const ended = await project.node(args, { TMPDIR: project.folder })
    assert.deepEqual(ended, { code: 0, output: 'true\n' }, program)
  }
})

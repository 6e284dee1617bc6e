import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ConfigError } from '../../../base/errors.js'
import { LoadFailure, loadTarget, splitTarget } from './target.js'

/** A file in a folder of its own, with a blank and a # in its path. */
function file(context: TestContext, name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'submit #'))
  context.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

test('a target is a file and the name of an export, or a file for the default export', () => {
  assert.deepEqual(splitTarget('a.mjs#b'), { file: 'a.mjs', name: 'b' })
  assert.deepEqual(splitTarget('a.mjs'), { file: 'a.mjs', name: 'default' })
  assert.deepEqual(splitTarget('a#b/c.mjs#d'), { file: 'a#b/c.mjs', name: 'd' })
  for (const target of ['', '#a', 'a.mjs#']) assert.throws(() => splitTarget(target), ConfigError)
})

test('loads the function that is exported under the name', async (context) => {
  const text = 'export const twice = (x) => 2 * x\nexport default () => "default"\n'
  const path = file(context, 'a.mjs', text)
  assert.equal((await loadTarget(`${path}#twice`))(4), 8)
  assert.equal((await loadTarget(`${path}#default`))(), 'default')
})

test('finds the exports of a CommonJS module, even those that Node does not detect', async (context) => {
  const path = file(context, 'a.cjs', 'Object.assign(module.exports, { one: () => 1 })\n')
  assert.equal((await loadTarget(`${path}#one`))(), 1)
})

test('the error for an unknown export names the nearest exported function', async (context) => {
  const path = file(context, 'a.mjs', 'export const PI = 3\nexport const double = () => {}\n')
  const wrong = async (name: string): Promise<string> => {
    const error: unknown = await loadTarget(`${path}#${name}`).catch((each: unknown) => each)
    assert.ok(error instanceof ConfigError)
    return error.message
  }
  assert.match(await wrong('dobule'), /has no export "dobule"; is it double\?$/)
  assert.match(await wrong('xyz'), /has no export "xyz"; there are double$/)
  assert.match(await wrong('PI'), /the export PI of .* is not a function \(found 3\)$/)
})

test('a missing file or a folder is wrong usage', async () => {
  await assert.rejects(loadTarget('/no/such/file.mjs#a'), /there is no file \/no\/such\/file.mjs/)
  await assert.rejects(loadTarget(`${tmpdir()}#a`), /is a folder/)
})

test('a module that throws while it is loaded is not wrong usage', async (context) => {
  const path = file(context, 'a.mjs', 'throw new TypeError("mine")\n')
  await assert.rejects(loadTarget(`${path}#a`), (error: unknown) => {
    assert.ok(error instanceof LoadFailure && error.cause instanceof TypeError)
    return true
  })
})

test('loads TypeScript, or the error says what to do', async (context) => {
  const path = file(context, 'a.mts', 'export const twice = (x: number): number => 2 * x\n')
  const loading = loadTarget(`${path}#twice`)
  const { typescript } = process.features as { readonly typescript?: string | false }
  if (typescript) assert.equal((await loading)(4), 8)
  else await assert.rejects(loading, /cannot run TypeScript \(.*a\.mts\); use Node 22\.18/)
})

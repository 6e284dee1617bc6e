// The generator: its output equals the committed files, it reports differences, and it works
// without the capnp tool if nothing has to be written.

import assert from 'node:assert/strict'
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { repositoryPath, skipWithoutCapnp } from './capnp-tool.js'

const PARTS = [
  'scripts',
  'protocol',
  'docs',
  'src/wire/generated',
  'package.json',
  '.prettierrc.json',
]

describe('npm run generate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-generate-'))

  before(() => {
    for (const part of PARTS) cpSync(repositoryPath(part), join(folder, part), { recursive: true })
    symlinkSync(repositoryPath('node_modules'), join(folder, 'node_modules'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  function generate(args: readonly string[], env = process.env): SpawnSyncReturns<string> {
    const script = join(folder, 'scripts', 'generate-wire.mjs')
    return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', env })
  }

  test('reports differences, and writes the committed files', { skip: skipWithoutCapnp() }, () => {
    const code = join(folder, 'src/wire/generated/status.ts')
    const document = join(folder, 'docs/protocol.md')
    const before = [readFileSync(code, 'utf8'), readFileSync(document, 'utf8')]
    appendFileSync(code, '// drift\n')
    writeFileSync(document, withWrongPlace(readFileSync(document, 'utf8')))
    const check = generate(['--check'])
    assert.equal(check.status, 1)
    assert.match(
      check.stderr,
      /^generate-wire: src\/wire\/generated\/status\.ts is out of date; .*\ngenerate-wire: docs\/protocol\.md is out of date; .*\n$/,
    )
    assert.equal(generate([]).status, 0)
    assert.deepEqual([readFileSync(code, 'utf8'), readFileSync(document, 'utf8')], before)
  })

  test('says that it was skipped if there is no capnp tool', () => {
    const check = generate(['--check'], { PATH: join(folder, 'nothing') })
    assert.equal(check.status, 0)
    assert.match(check.stdout, /^generate-wire: skipped, .*\n$/)
    assert.equal(generate([], { PATH: join(folder, 'nothing') }).status, 1)
  })
})

/** The document with a field in a wrong place. */
function withWrongPlace(text: string): string {
  const at = text.indexOf('pointer 0', text.indexOf('## Schemas'))
  assert.ok(at > 0)
  return `${text.slice(0, at)}pointer 9${text.slice(at + 9)}`
}

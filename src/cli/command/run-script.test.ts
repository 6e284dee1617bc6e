import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../../base/errors.js'
import { checkScript, nodeFlagsFor, type NodeRuntime } from './run-script.js'

const NODE_20: NodeRuntime = { version: '20.20.2', typescript: undefined, nodeOptions: '' }

test('JavaScript needs no flags', () => {
  for (const file of ['a.js', 'a.mjs', 'a.cjs', 'a', 'ts.d/a.js']) {
    assert.deepEqual(nodeFlagsFor(file, NODE_20), [])
  }
})

test('TypeScript runs if Node supports it, with a flag if needed', () => {
  const flag = ['--experimental-strip-types']
  for (const file of ['a.ts', 'a.mts', 'a.cts']) {
    const strips = { ...NODE_20, version: '22.18.0', typescript: 'strip' }
    assert.deepEqual(nodeFlagsFor(file, strips), [])
    assert.deepEqual(nodeFlagsFor(file, { ...NODE_20, version: '22.6.0' }), flag)
    assert.deepEqual(nodeFlagsFor(file, { ...NODE_20, version: '23.0.0', typescript: false }), flag)
  }
})

test('TypeScript on an older Node is refused, unless NODE_OPTIONS may load it', () => {
  for (const version of ['20.20.2', '22.5.9']) {
    assert.throws(() => nodeFlagsFor('a.ts', { ...NODE_20, version }), {
      constructor: ConfigError,
      message: `Node ${version} cannot run TypeScript (a.ts); use Node 22.18 or newer, compile it first, or set NODE_OPTIONS to a loader, as in --import=tsx`,
    })
  }
  assert.deepEqual(nodeFlagsFor('a.ts', { ...NODE_20, nodeOptions: '--import=tsx' }), [])
})

test('a script has to be an existing file', () => {
  checkScript(fileURLToPath(import.meta.url))
  assert.throws(() => checkScript('/no/such/file.js'), ConfigError)
  assert.throws(() => checkScript(tmpdir()), /is a folder; name a file in it/)
})

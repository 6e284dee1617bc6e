import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importOffences } from './check-imports.mjs'

/** The offences of a small source tree, given as an object of path -> text. */
function offencesIn(tree) {
  return importOffences(new Map(Object.entries(tree)))
}

test('a tree that follows the table has no offences', () => {
  const offences = offencesIn({
    'base/ids.ts': '',
    'wire/message.ts': "import { id } from '../base/ids.js'",
    'core/scheduler/task.ts': "import type { Task } from '../../wire/message.js'",
    'runtime/log.ts': "import { parse } from 'smol-toml'\nimport net from 'node:net'",
    'cluster/combo.ts': "import { Scheduler } from '../scheduler/scheduler.js'",
    'scheduler/scheduler.ts': "export { task } from '../core/scheduler/task.js'",
    'client/client.ts': `import type { Options } from '../cluster/combo.js'
const { Combo } = await import('../cluster/combo.js')`,
    'index.ts': "export { Client } from './client/client.js'",
  })
  assert.deepEqual(offences, [])
})

test('imports against the table are reported with file and line', () => {
  const offences = offencesIn({
    'base/ids.ts': "\nimport type { Task } from '../wire/message.js'",
    'wire/message.ts': '',
    'client/map.ts': "export { Combo } from '../cluster/combo.js'",
    'client/client.ts': "import { Combo } from '../cluster/combo.js'",
    'client/other.ts': "const combo = import('../cluster/combo.js')",
    'cluster/combo.ts': "type Task = import('../index.js').Task",
    'index.ts': '',
  })
  assert.deepEqual(offences, [
    'src/base/ids.ts:2: base may not import wire',
    'src/client/map.ts:1: client may not import cluster',
    'src/client/client.ts:1: client may not import cluster',
    'src/client/other.ts:1: client may not import cluster',
    'src/cluster/combo.ts:1: cluster may not import an entry point',
  ])
})

test('the machines of core may not import each other', () => {
  const offences = offencesIn({
    'core/scheduler/task.ts': "import { queue } from '../worker/queue.js'",
    'core/worker/queue.ts': '',
  })
  assert.deepEqual(offences, [
    'src/core/scheduler/task.ts:1: core/scheduler may not import core/worker',
  ])
})

test('pure folders import no Node module and use nothing impure', () => {
  const text = `import { createHash } from 'node:crypto'
export const now = Date.now()
export const later = async () => Math.random()
export const bytes = Buffer.alloc(1)
export const field = { process: 1 }.process`
  assert.deepEqual(offencesIn({ 'core/client/hash.ts': text }), [
    'src/core/client/hash.ts:1: core is pure, but imports node:crypto',
    'src/core/client/hash.ts:2: core is pure, but uses Date',
    'src/core/client/hash.ts:3: core is pure, but uses async code',
    'src/core/client/hash.ts:3: core is pure, but uses Math.random',
  ])
})

test('packages may be imported only where the table allows them', () => {
  const offences = offencesIn({ 'client/log.ts': "import { Command } from 'commander'" })
  assert.deepEqual(offences, ['src/client/log.ts:1: package commander may not be imported here'])
})

test('a circle of files is reported once; dynamic imports and types do not close one', () => {
  const offences = offencesIn({
    'base/a.ts': "import './b.js'",
    'base/b.ts': "import './c.js'",
    'base/c.ts': "import './a.js'\nvoid import('./d.js')\nimport type { E } from './e.js'",
    'base/d.ts': "import './a.js'",
    'base/e.ts': "import './a.js'",
  })
  assert.deepEqual(offences, [
    'src/base/a.ts: imports itself through base/b.ts -> base/c.ts -> base/a.ts',
  ])
})

test('missing files, unknown folders and imported tests are offences; tests are exempt', () => {
  const offences = offencesIn({
    'base/a.ts': "import './gone.js'\nimport './a.test.js'",
    'base/a.test.ts': "import '../cluster/combo.js'\nimport fc from 'fast-check'",
    'misc/thing.ts': "import './other.js'",
  })
  assert.deepEqual(offences, [
    'src/base/a.ts:1: ./gone.js is not a file of src/',
    'src/base/a.ts:2: imports a test, ./a.test.js',
    'src/misc/thing.ts:1: src/misc/ is not in the import table',
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOffences } from './check-text.mjs'

const OPENING = '// What this is.\n\n'

test('a file in the house style has no offences', () => {
  const text = `#!/usr/bin/env node
// A command.

/** Adds. */
export function add(one: number): number
export function add(one: number, two = 0): number {
  return one + two
}
export { subtract } from './subtract.js'
`
  assert.deepEqual(textOffences('src/cli/add.ts', text), [])
})

test('an opening comment, short lines and doc comments of exports are required', () => {
  const text = `export const long = '${'x'.repeat(100)}'\n`
  assert.deepEqual(textOffences('src/base/long.ts', text), [
    'src/base/long.ts:1: no opening comment',
    'src/base/long.ts:1: 122 columns',
    'src/base/long.ts:1: export without comment',
  ])
})

test('default exports and export * are refused, in every form', () => {
  const text = `${OPENING}export default 1\nexport default class A {}\nexport * from './a.js'\n`
  assert.deepEqual(textOffences('src/base/a.ts', text), [
    'src/base/a.ts:3: default export',
    'src/base/a.ts:4: default export',
    'src/base/a.ts:5: export * hides what is exported',
  ])
})

test('meaningless names are refused as whole words only', () => {
  const text = `${OPENING}const taskManager = 1
class HTTPHelper { util(data: string) { return data } }
import { commonName as UTIL_MAX } from './names.js'
const utilization = process.manager
`
  assert.deepEqual(textOffences('src/base/string-utils.ts', text), [
    'src/base/string-utils.ts:1: a meaningless word in the file name: utils',
    'src/base/string-utils.ts:3: taskManager: `Manager` is a meaningless word',
    'src/base/string-utils.ts:4: HTTPHelper: `Helper` is a meaningless word',
    'src/base/string-utils.ts:4: util: `util` is a meaningless word',
    'src/base/string-utils.ts:4: `data` is a meaningless name',
    'src/base/string-utils.ts:5: UTIL_MAX: `UTIL` is a meaningless word',
  ])
})

test('names of the wire protocol are allowed', () => {
  const text = `${OPENING}const status = { workerManager: 1 }\ntype T = { taskManager: number }\n`
  const schemaNames = new Set(['workerManager', 'taskManager'])
  assert.deepEqual(textOffences('src/wire/status.ts', text, schemaNames), [])
  assert.equal(textOffences('src/wire/status.ts', text).length, 2)
})

test('an entry point contains only re-exports', () => {
  const text = `${OPENING}export { Client } from './client/client.js'\nconst x = 1\nexport { x }\n`
  assert.deepEqual(textOffences('src/index.ts', text), [
    'src/index.ts:4: an entry point only re-exports',
    'src/index.ts:5: an entry point only re-exports',
  ])
})

test('tests need neither opening nor doc comments, and may have long lines', () => {
  const text = `export const golden = '${'0'.repeat(200)}'\n`
  assert.deepEqual(textOffences('src/wire/golden.test.ts', text), [])
  assert.deepEqual(textOffences('test/interop/golden.ts', text), [])
})

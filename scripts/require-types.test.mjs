// The types for `require`.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { typesText } from './require-types.mjs'

/** The lines for an entry point that consists only of `part.d.ts`. */
function linesFor(t, part, entry) {
  const folder = mkdtempSync(join(tmpdir(), 'entry-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'part.d.ts'), part)
  writeFileSync(join(folder, 'index.d.ts'), entry)
  return typesText(join(folder, 'index.d.ts'), './index.js').split('\n').slice(1)
}

const FROM = `'./index.js' with { 'resolution-mode': 'import' }`

test('classes are values and types, functions are values, and types are re-exported', (t) => {
  const part = `export declare class Box<T, U extends object = {}> { t: T; u: U }
export declare function open(): void
export interface Key { id: string }
export type Lock = Key`
  const entry = `export { Box, open, type Key } from './part.js'
export type { Lock } from './part.js'`
  assert.deepEqual(linesFor(t, part, entry), [
    `import type * as module from ${FROM}`,
    `export type { Key, Lock } from ${FROM}`,
    'export declare const Box: typeof module.Box',
    'export type Box<T, U extends object = {}> = module.Box<T, U>',
    'export declare const open: typeof module.open',
    '',
  ])
})

test('a class that is exported as a type only is not a value', (t) => {
  const lines = linesFor(t, 'export declare class Box {}', "export type { Box } from './part.js'")
  assert.deepEqual(lines.slice(1), [`export type { Box } from ${FROM}`, ''])
})

test('type parameters that refer to types out of scope are refused', (t) => {
  const part = `interface Hidden { id: string }
export declare class Box<T extends Hidden> { t: T }`
  assert.throws(() => linesFor(t, part, "export { Box } from './part.js'"), /Box: its type param/)
})

// Constants of other modules, as compilers write them, with values that cannot travel.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { TwoSides } from './two-sides.kit.js'

const folder = mkdtempSync(join(tmpdir(), 'scaler-test-'))
after(() => rmSync(folder, { recursive: true }))

interface Task {
  (): unknown
}

/** Loads `main`, whose `exports.tasks` are functions that use the other modules. */
function tasksOf(name: string, files: Readonly<Record<string, string>>): readonly Task[] {
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, `${name}-${file}.cjs`)
    writeFileSync(path, text.replaceAll('./', `./${name}-`))
    // As if it had been loaded before this process started.
    utimesSync(path, 1, 1)
  }
  const load = createRequire(join(folder, 'x.cjs'))
  return (load(`./${name}-main.cjs`) as { readonly tasks: readonly Task[] }).tasks
}

/**
 * All are written before one is read: modules loaded during reading count as loaded from the same
 * file.
 */
function answers(name: string, files: Readonly<Record<string, string>>): readonly unknown[] {
  const { here, there } = new TwoSides()
  const sent = tasksOf(name, files).map((task) => Buffer.from(here.serializer.serialize(task)))
  return sent.map((bytes) => (there.serializer.deserialize(bytes) as Task)())
}

/** Why a task is refused, after the second semicolon; `sent` if it is not. */
function refusals(name: string, files: Readonly<Record<string, string>>): readonly string[] {
  const { serializer } = new TwoSides().here
  return tasksOf(name, files).map((task) => {
    try {
      serializer.serialize(task)
      return 'sent'
    } catch (error) {
      return String(error).replace(/^.*?;[^;]*;? ?/, '')
    }
  })
}

const TASKS = `exports.tasks = [
  () => own_1.blob.size, () => own_1.part.size, () => own_1.both[0] === own_1.blob,
  () => own_1.blob.size + own_1.part.size, () => own_1.own.size,
]`

test('exports that TypeScript writes as CommonJS', () => {
  const files = {
    own: `"use strict"; Object.defineProperty(exports, "__esModule", { value: true });
exports.both = exports.part = exports.blob = exports.own = void 0;
exports.blob = new Blob(['abc']);
exports.part = exports.blob.slice(1);
const own = new Blob(['a']); exports.own = own;
exports.both = [exports.blob, exports.part];`,
    main: `"use strict"; const own_1 = require("./own.cjs"); ${TASKS}`,
  }
  assert.deepEqual(answers('typescript', files), [3, 2, true, 5, 1])
})

test('exports through other modules, one by one and all, and values created from them there', () => {
  const files = {
    own: `exports.blob = new Blob(['abc']); exports.own = new Blob(['a'])`,
    index: `"use strict"; Object.defineProperty(exports, "__esModule", { value: true });
exports.part = exports.both = void 0;
const other_1 = require("./own.cjs"); const other_2 = require("./own.cjs");
Object.defineProperty(exports, "blob", { enumerable: true, get: function () { return other_2.blob; } });
function __exportStar(m, x) { for (const p in m) if (p !== 'default' && !Object.hasOwn(x, p)) x[p] = m[p] }
__exportStar(require("./own.cjs"), exports);
exports.part = other_1.blob.slice(1); exports.both = [other_1.blob];`,
    main: `"use strict"; const own_1 = require("./index.cjs"); ${TASKS}`,
  }
  assert.deepEqual(answers('barrel', files), [3, 2, true, 5, 1])
})

test('exports that esbuild writes as CommonJS, and Babel', () => {
  const esbuild = {
    own: `var own_exports = {}; var __export = (target, all) => { for (var name in all)
  Object.defineProperty(target, name, { get: all[name], enumerable: true }) };
__export(own_exports, { blob: () => blob, part: () => part, both: () => both, own: () => own });
module.exports = ((mod) => Object.defineProperties(Object.defineProperty({}, '__esModule', { value: true }),
  Object.getOwnPropertyDescriptors(mod)))(own_exports);
const blob = new Blob(['abc']); const part = blob.slice(1); const both = [blob]; const own = new Blob(['a'])`,
    main: `var own_1 = require("./own.cjs"); ${TASKS}`,
  }
  assert.deepEqual(answers('esbuild', esbuild), [3, 2, true, 5, 1])
  const babel = {
    own: `"use strict"; Object.defineProperty(exports, "__esModule", { value: true });
exports.part = exports.both = exports.own = exports.blob = void 0;
const blob = exports.blob = new Blob(['abc']); const part = exports.part = blob.slice(1);
const both = exports.both = [blob]; var own = exports.own = new Blob(['a']);`,
    main: `"use strict"; var own_1 = require("./own.cjs"); ${TASKS}`,
  }
  assert.deepEqual(answers('babel', babel), [3, 2, true, 5, 1])
})

test('exports that something may change are refused, and others of the same module are not', () => {
  const files = {
    own: `exports.list = { blobs: [new Blob(['a'])] }; exports.twice = new Blob(['a'])
exports.twice = new Blob(['b']); exports.fine = { blob: new Blob(['a']) }
exports.within = { blob: new Blob(['a']) }; exports.within.level = 1
exports.given = { blob: new Blob(['a']) }`,
    other: `const own_1 = require('./own.cjs'); own_1.list.blobs.push(new Blob(['b']))
exports.set = (value) => { value.level = 1 }`,
    main: `const own_1 = require("./own.cjs"); const other_1 = require('./other.cjs')
other_1.set(own_1.given)
exports.tasks = [() => own_1.list.blobs.length, () => own_1.twice.size, () => own_1.within.level,
  () => own_1.given.level, () => own_1.fine.blob.size]`,
  }
  assert.deepEqual(refusals('changed', files), [
    'list is not made again on the worker because changed-other.cjs:1 may change it',
    '',
    'within is not made again on the worker because changed-own.cjs:3 may change it',
    'given is not made again on the worker because changed-other.cjs:2 may change it',
    'sent',
  ])
})

test('objects that only look like a module are not treated as one', () => {
  const files = {
    own: `exports.blob = new Blob(['abc'])`,
    main: `const wrap = ({ blob }) => ({ blob: blob.slice(1) }); const made = wrap(require("./own.cjs"))
const own_1 = require("./own.cjs"); exports.tasks = [() => own_1.blob.size, () => made.blob.size]`,
  }
  assert.deepEqual(refusals('wrapped', files), ['sent', ''])
})

test("results of the user's functions are not created again", () => {
  const files = {
    own: `exports.make = () => 1; exports.lib = { make: () => 1 }; exports.set = new Set([1])`,
    main: `const own_1 = require("./own.cjs"); const now = () => 1; const lib = { now: () => 1 }
const own = { at: now(), blob: new Blob([]) }; const method = { at: lib.now(), blob: new Blob([]) }
const other = { at: own_1.make(), blob: new Blob([]) }
const otherMethod = { at: own_1.lib.make(), blob: new Blob([]) }
const fine = { at: own_1.set.has(1), blob: new Blob([]) }
exports.tasks = [() => own.at, () => method.at, () => other.at, () => otherMethod.at, () => fine.at]`,
  }
  assert.deepEqual(refusals('unsteady', files), ['', '', '', '', 'sent'])
})

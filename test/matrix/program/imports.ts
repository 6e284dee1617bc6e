// Imports: built-ins, packages, files of the program.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import nodeFs, { existsSync, readFile } from 'node:fs'
import * as allOfFs from 'node:fs'
import * as nodePath from 'node:path'
import { join as glue } from 'path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import plain, { add } from 'matrix-plain'
import modern, { Account, makeAdder, whereAmI } from 'matrix-modern'
import * as whole from 'matrix-modern'
import { deep } from 'matrix-modern/deep'
import type { Case } from '../kit/case.js'
import perimeter, { area, Square, triangle } from './sibling/geometry.js'
import * as geometry from './sibling/geometry.js'
import { state, threeSided } from './sibling/gate.js'
import { ping } from './sibling/ping.js'
import { rate, readRate, setRate, setScale } from './sibling/state.js'
import * as changing from './sibling/state.js'

const readLater = promisify(readFile)
const { basename, sep } = nodePath
const pathAlias = nodePath
const addThree = makeAdder(3)
const encoder = new TextEncoder()

setScale('area', 2)
setRate(5)

/** Imports. */
export const cases: readonly Case[] = [
  { name: 'named import of a built-in', fn: () => existsSync('/'), want: true, isSmoke: true },
  { name: 'import * as fs', fn: () => allOfFs.statSync('/').isDirectory(), want: true },
  { name: 'import * as path', fn: () => nodePath.join('a', '..', 'b'), want: 'b' },
  { name: 'default import of a built-in', fn: () => nodeFs.existsSync('/'), want: true },
  { name: 'renamed import', fn: () => glue('a', 'b') === `a${sep}b`, want: true },
  { name: 'destructured built-in', fn: () => basename('/a/b.txt', '.txt'), want: 'b' },
  { name: 'alias of a namespace', fn: () => pathAlias.extname('a.ts'), want: '.ts' },
  {
    name: 'promisify(fs.readFile)',
    fn: async () => (await readLater('/dev/null')).length,
    want: 0,
  },
  {
    name: 'built-in classes and functions together',
    async fn(text: string) {
      await sleep(1)
      return createHash('sha1').update(text).digest('hex').slice(0, 8)
    },
    args: ['abc'],
    want: 'a9993e36',
  },
  {
    name: 'an instance made by a built-in',
    fn: () => encoder.encode('a')[0],
    want: 97,
  },
  {
    name: 'CommonJS package, default import',
    fn: () => plain.multiply(2, plain.add(1, 2)),
    want: 6,
  },
  { name: 'CommonJS package, named import', fn: () => add(1, 2), want: 3 },
  {
    name: 'package, named and default import',
    fn: () => [modern(2), new Account(5).balance],
    want: ['modern 2', 5],
    isSmoke: true,
  },
  {
    name: 'package, namespace',
    fn: () => [typeof whole.default, whole.makeAdder(1)(2)],
    want: ['function', 3],
  },
  { name: 'a namespace of a module that changes its exports', fn: () => changing.rate, want: 5 },
  {
    name: 'a namespace shows the effects of a function of its module',
    fn() {
      changing.setRate(changing.rate + 4)
      return [changing.rate, rate, readRate()]
    },
    want: [9, 9, 9],
  },
  {
    name: 'a namespace inside of a value shows it, too',
    async scenario(ship) {
      const holder = { changing }
      const change = (): unknown => {
        holder.changing.setRate(holder.changing.rate + 4)
        return [holder.changing.rate, holder.changing.readRate()]
      }
      assert.deepEqual(await ship(change), [9, 9])
    },
  },
  { name: 'package, subpath', fn: () => deep(), want: 'deep inside' },
  {
    name: 'package by reference',
    async scenario(ship) {
      assert.equal(await ship(() => whereAmI()), whereAmI())
    },
    needs: ['packages'],
  },
  {
    name: 'instance of a class of a package',
    async scenario(ship) {
      const account = await ship((given: Account) => {
        given.deposit(given instanceof Account ? 2 : 200)
        return given
      }, new Account(40))
      assert.ok(account instanceof Account)
      assert.equal(account.balance, 42)
    },
    // Under tsx a lookup of a package finds another copy.
    mayBeRefused: /no export by which/,
  },
  {
    name: 'a function that a package made',
    fn: () => addThree(1),
    want: 4,
    mayBeRefused: /./,
  },
  { name: 'function of a sibling', fn: () => area(2, 3), want: 12 },
  {
    name: 'functions of a sibling that use each other',
    fn: (x: number) => triangle(x, 3),
    args: [2],
    want: 6,
    isSmoke: true,
  },
  { name: 'default export of a sibling', fn: () => perimeter(1, 2), want: 6 },
  { name: 'class of a sibling', fn: () => new Square(3).area, want: 18 },
  {
    name: 'namespace of a sibling',
    fn: () => [geometry.area(1, 1), new geometry.Square(1).side],
    want: [2, 1],
  },
  {
    name: 'namespace of a sibling as a value',
    async scenario(ship) {
      assert.deepEqual(await ship(() => Object.keys(geometry).sort()), Object.keys(geometry).sort())
    },
  },
  { name: 're-exported', fn: () => [threeSided(2, 2), state.readRate()], want: [4, 5] },
  {
    name: 'state of a sibling',
    async scenario(ship) {
      setRate(7)
      assert.deepEqual(await ship(() => [rate, readRate()]), [7, 7])
      setRate(5)
      assert.deepEqual(await ship(() => [rate, readRate()]), [5, 5])
    },
  },
  {
    name: 'a sibling changes its state there',
    fn() {
      setRate(rate + 1)
      return [rate, readRate()]
    },
    check(result) {
      setRate(5)
      assert.deepEqual(result, [6, 6])
    },
  },
  { name: 'modules that import each other', fn: ping, args: [2], want: 'ping pong ping' },
  {
    name: 'import() of a built-in',
    fn: async () => (await import('node:os')).EOL.length > 0,
    want: true,
  },
  {
    name: 'import() of a built-in without node:',
    fn: async () => (await import('path')).posix.sep,
    want: '/',
  },
  {
    name: 'import() of a package',
    fn: async () => (await import('matrix-modern')).makeAdder(1)(1),
    want: 2,
  },
  {
    name: 'import() of a sibling',
    fn: async () => (await import('./sibling/pong.js')).pong(1),
    want: 'pong ping',
    needs: ['names'],
  },
]

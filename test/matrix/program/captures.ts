// Variables around functions: their values at the submit, and later changes.

import assert from 'node:assert/strict'
import type { Case } from '../kit/case.js'
import { readShadows } from './sibling/shadow.js'

/** V8 shows values, not which variable they are in. */
const UNDECIDED = /variable \w+ .*whether they share it is unknown/

let level = 1
const readLevel = (): number => level

const table = [1, 2, 3]
const sumTable = (): number => table.reduce((sum, n) => sum + n, 0)

let hits = 0
function hit(): number {
  hits += 1
  return hits
}
const readHits = (): number => hits

interface Counter {
  increment(): number
  get(): number
}
function makeCounter(from = 0): Counter {
  let count = from
  return { increment: () => (count += 1), get: () => count }
}

/** Each call has a function of its own beside the variable, which shows whose variable it is. */
function makeOwnCounter(from = 0): Counter {
  let count = from
  const next = (): number => (count += 1)
  return { increment: () => next(), get: () => (typeof next === 'function' ? count : -1) }
}

const squares = new Map<number, number>()
function square(n: number): number {
  let known = squares.get(n)
  if (known === undefined) {
    known = n * n
    squares.set(n, known)
  }
  return known + squares.size
}

let memo: Record<string, number> | undefined
function remembered(key: string): number {
  memo ??= {}
  memo = { ...memo, [key]: (memo[key] ?? 0) + 1 }
  return memo[key] ?? -1
}

let a = 0
let b: number[] = []
let current = ''
let last: { value: number } | undefined
function assignsInManyWays(): unknown {
  a++
  a **= 3
  ;[a, b] = [a + 4, [1, ...b]]
  ;({ current, ...last } = { current: 'c', value: 5 })
  for (current of ['x', 'y']) b.push(current.length)
  last &&= { value: last.value + 1 }
  const arrows = [1, 2].map((n) => (a += n))
  return [a, b, current, last, arrows]
}

const {
  width,
  inner: [, second],
  ...others
} = { width: 4, inner: [1, 2], depth: 3, height: 9 }

function caught(): () => string {
  try {
    throw new Error('captured from catch')
  } catch (error) {
    return () => (error as Error).message
  }
}

const heavy = new WeakMap()
const useless = { heavy }
const light = 1
const keepUseless = (): unknown => useless

const outerName = 'module'
function shadowing(outerName: string): () => string {
  {
    const outerName = 'block'
    void outerName
  }
  return () => outerName
}

const v = 1
const $ = 2
const _ = 3
const of = 4
const get = 5
const async = 6
const captures = 7
const self = 8
function clashing(): () => unknown {
  const require = 9
  const module = 10
  const exports = 11
  const v = 12
  return () => [require, module, exports, v]
}

function countOuter(..._parameters: number[]): () => number {
  return () => arguments.length
}
const countsOuter = countOuter(1, 2, 3)

const loops: { readonly name: string; readonly read: () => string; self?: unknown } = {
  name: 'loop',
  read: () => loops.name,
}
loops.self = loops

const step = (x: number): number => x + 1
const viaObject = { step }

declare const neverDeclared: unknown

/** Captured variables. */
export const cases: readonly Case[] = [
  {
    name: 'a let has its value at the submit',
    async scenario(ship) {
      level = 1
      const first = ship(readLevel)
      level = 2
      assert.deepEqual([await first, await ship(readLevel)], [1, 2])
      level = 1
    },
    isSmoke: true,
  },
  {
    name: 'a changed element of a captured array',
    async scenario(ship) {
      table[1] = 2
      const first = ship(sumTable)
      table[1] = 20
      assert.deepEqual([await first, await ship(sumTable)], [6, 24])
    },
  },
  {
    name: 'a counter counts',
    async scenario(ship) {
      const before = hits
      const counted = await ship(() => [hit(), hit(), readHits()])
      assert.deepEqual(counted, [before + 1, before + 2, before + 2])
    },
  },
  {
    name: 'two closures over one let',
    async scenario(ship) {
      const { increment, get: read } = makeCounter(5)
      assert.deepEqual(await ship(() => [increment(), read(), increment(), read()]), [6, 6, 7, 7])
    },
    mayBeRefused: UNDECIDED,
  },
  {
    name: 'two counters of separate calls',
    async scenario(ship) {
      const one = makeCounter()
      const other = makeCounter()
      const fn = (): number[] => {
        one.increment()
        one.increment()
        other.increment()
        return [one.get(), other.get()]
      }
      assert.deepEqual(await ship(fn), [2, 1])
    },
    mayBeRefused: UNDECIDED,
  },
  {
    name: 'closures that come back share their variable',
    async scenario(ship) {
      const counter = (await ship((from: number) => makeCounter(from), 3)) as Counter
      assert.deepEqual([counter.increment(), counter.increment(), counter.get()], [4, 5, 5])
    },
    mayBeRefused: UNDECIDED,
  },
  {
    name: 'counters with a function of their own',
    async scenario(ship) {
      const one = makeOwnCounter()
      const other = makeOwnCounter()
      const fn = (): number[] => {
        one.increment()
        one.increment()
        other.increment()
        return [one.get(), other.get()]
      }
      assert.deepEqual(await ship(fn), [2, 1])
    },
  },
  {
    name: 'closures that come back with a function of their own',
    async scenario(ship) {
      const counter = (await ship((from: number) => makeOwnCounter(from), 3)) as Counter
      assert.deepEqual([counter.increment(), counter.increment(), counter.get()], [4, 5, 5])
    },
    mayBeRefused: UNDECIDED,
  },
  { name: 'a memo table', fn: () => [square(3), square(3), square(4)], want: [10, 10, 18] },
  {
    name: 'a memo in a let',
    fn: () => [remembered('k'), remembered('k'), remembered('l')],
    want: [1, 2, 1],
  },
  {
    name: 'every way to assign',
    fn: assignsInManyWays,
    want: [8, [1, 1, 1], 'y', { value: 6 }, [6, 8]],
  },
  {
    name: 'destructured variables',
    fn: () => [width, second, others],
    want: [4, 2, { depth: 3, height: 9 }],
  },
  { name: 'variable of a catch', fn: caught(), want: 'captured from catch' },
  { name: 'only used variables travel', fn: () => light + 1, want: 2 },
  { name: 'used variables travel whole', fn: keepUseless, refused: /heavy.*WeakMap/s },
  { name: 'shadowed variables', fn: shadowing('parameter'), want: 'parameter' },
  { name: 'the same name in module and function', fn: () => outerName, want: 'module' },
  { name: 'global shadowing', fn: readShadows, want: ['mine', 'no log', [1, 2], 'a string'] },
  {
    name: 'names that could clash',
    fn: () => [v, $, _, of, get, async, captures, self],
    want: [1, 2, 3, 4, 5, 6, 7, 8],
  },
  { name: 'names of CommonJS', fn: clashing(), want: [9, 10, 11, 12] },
  { name: 'typeof something undeclared', fn: () => typeof neverDeclared, want: 'undefined' },
  {
    name: 'something undeclared',
    fn: () => neverDeclared,
    throws: (thrown) => assert.ok(thrown instanceof ReferenceError),
  },
  {
    name: 'a variable that is not initialized yet',
    async scenario(ship) {
      const read = (): string => later
      const outcome = await ship(read).catch((error: unknown) => error)
      const later = 'late'
      assert.ok(outcome instanceof Error, `it was ${later}`)
      if (!(outcome instanceof ReferenceError)) throw outcome
    },
    mayBeRefused: /./,
  },
  {
    name: 'the arguments of an outer function',
    fn: countsOuter,
    want: 3,
    mayBeRefused: /arguments/,
  },
  {
    name: 'an object that its own function captures',
    fn: () => [loops.read(), loops.self === loops],
    want: ['loop', true],
  },
  {
    name: 'one function by two ways',
    fn: () => [viaObject.step === step, step(viaObject.step(1))],
    want: [true, 3],
  },
  {
    name: 'the same function again',
    async scenario(ship) {
      const pass = (x: number): number => step(x)
      assert.deepEqual([await ship(pass, 1), await ship(pass, 2), await ship(pass, 3)], [2, 3, 4])
    },
  },
]

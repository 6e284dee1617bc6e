// Closures over a local variable that one of them assigns: they arrive with one variable, or each
// with its own, exactly as they were; or they are refused.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { compileFunction } from 'node:vm'
import { sized } from '../base/short-run.kit.js'
import { TestAnalyst } from './function/analyst.kit.js'
import { Refusal } from './refusal.js'
import { TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()

function roundTrip<F>(fn: F): F {
  return sides.send(fn)
}

interface Counter {
  readonly next: () => number
  readonly seen: () => number
}

type CounterMaker = (turn: number) => Counter

const UNKNOWN = /variable count .*whether they share it is unknown/

/** A maker of counters; `before`: what else is declared there. */
function makerOf(before: string, isStrict: boolean): CounterMaker {
  const own = '{ next: () => [w, count += 1][1], seen: () => count }'
  const text = `${isStrict ? '"use strict";' : ''} return (turn) => { ${before}; return ${own} }`
  return Reflect.apply(compileFunction(text), undefined, []) as CounterMaker
}

/** Whether it gives the same results there as here. */
function isRight(make: CounterMaker): void {
  const results = ({ next, seen }: Counter, other: Counter): readonly number[] => [
    next(),
    next(),
    seen(),
    other.seen(),
    other.next(),
    seen(),
  ]
  const [one, other] = roundTrip([make(1), make(2)])
  assert.deepEqual(results(one ?? make(0), other ?? make(0)), results(make(1), make(2)))
  const { next, seen } = make(1)
  const mixed = roundTrip({ next, seen: make(2).seen })
  assert.deepEqual([mixed.next(), mixed.seen(), mixed.next()], [1, 0, 2])
  const again = roundTrip({ next, seen })
  assert.deepEqual([again.next(), again.seen(), seen()], [1, 1, 0])
}

test('what each call creates beside a variable shows which closures share it', () => {
  for (const isStrict of [true, false]) {
    for (const before of [
      'let count = 0; const w = {}',
      'let count = 0; const w = []',
      'let count = 0; const w = () => 1',
      'let count = 0; const w = class {}',
      'let count = 0; const w = /x/',
      'let count = 0; const w = new Map()',
      'let count = 0; const w = Symbol("w")',
      'let count = 0; let w = {}',
      'var count = 0; var w = {}',
      'let count = 0; function w() {}',
      'let count = 0; class w {}',
    ]) {
      isRight(makerOf(before, isStrict))
    }
  }
})

test('any difference shows that variables are not shared, but only a witness that they are', () => {
  const make = makerOf('let count = 0, w = turn', true)
  const mixed = roundTrip({ next: make(1).next, seen: make(2).seen })
  assert.deepEqual([mixed.next(), mixed.seen()], [1, 0])
  assert.throws(() => roundTrip(make(1)), UNKNOWN)
  assert.throws(() => roundTrip({ next: make(1).next, seen: make(1).seen }), UNKNOWN)
})

test('closures are refused if nothing shows whether they share the variable', () => {
  const refused = [
    'let count = 0, w = 1',
    'let count = 0; const [w] = [{}]',
    'let count = 0; let w = {}; w = makerOf',
    'let count = 0; const w = Object(makerOf)',
  ]
  for (const before of refused) {
    const make = makerOf(before.replaceAll('makerOf', 'Object'), true)
    assert.throws(() => roundTrip(make(1)), UNKNOWN, before)
    // Each alone has its variable.
    const { next, seen } = make(1)
    assert.deepEqual([roundTrip(next)(), roundTrip(seen)(), seen()], [1, 0, 0])
  }
})

test('the advice of the refusal works, and each part of it alone', () => {
  const refused = (): Counter => {
    let count = 0
    return { next: () => (count += 1), seen: () => count }
  }
  const advice =
    /keep it in an object that they all use \(`const state = \{ count \}`\), or declare a `const` with an object literal or a function next to it, and use it in them/
  assert.throws(() => roundTrip(refused()), advice)
  isRight(() => {
    const state = { count: 0 }
    return { next: () => (state.count += 1), seen: () => state.count }
  })
  isRight(() => {
    let count = 0
    const own = {}
    const next = (): number => (count += own === undefined ? 0 : 1)
    return { next, seen: () => (own === undefined ? 0 : count) }
  })
  isRight(() => {
    let count = 0
    const next = (): number => (count += 1)
    return { next: () => next(), seen: () => (next === undefined ? 0 : count) }
  })
})

test('methods of one object do not show it', () => {
  const make = (): { next(): number; seen(): number } => {
    let count = 0
    return {
      next() {
        return (count += 1)
      },
      seen() {
        return count
      },
    }
  }
  assert.throws(() => roundTrip(make()), UNKNOWN)
})

test('functions that each call makes once have a variable each', () => {
  const counter = (): (() => number) => {
    let count = 0
    return () => (count += 1)
  }
  const [one, other] = [counter(), counter()]
  const [copy, otherCopy] = roundTrip([one, other])
  assert.deepEqual([copy?.(), copy?.(), otherCopy?.()], [1, 2, 1])
  const made: (() => number)[] = []
  const share = (count: number): void => {
    for (let turn = 0; turn < 2; turn += 1) made.push(() => (count += 1))
  }
  share(0)
  assert.throws(() => roundTrip(made), UNKNOWN)
  made.length = 0
  const shareInHead = (count: number): void => {
    const none: { readonly next?: () => number }[] = [{}, {}]
    for (const { next = () => (count += 1) } of none) made.push(next)
  }
  shareInHead(0)
  assert.throws(() => roundTrip(made), UNKNOWN)
})

test('functions that use the name of a function around them may share its variables', () => {
  const make = (): ((isInner: boolean) => unknown) => {
    let count = 0
    return function outer(isInner): unknown {
      return isInner ? () => outer(false) : (count += 1)
    }
  }
  const outer = make()
  const pair = [outer(true), outer(true)] as (() => number)[]
  assert.throws(() => roundTrip(pair), UNKNOWN)
  const [alone] = roundTrip([pair[0]])
  assert.deepEqual([alone?.(), alone?.()], [1, 2])
})

test('a scope inside shows which scopes are around it', () => {
  isRight((turn) => {
    let count = 0
    const inner = (): Counter => {
      const log: number[] = [turn - turn]
      return { next: () => (count += 1) + Number(log[0]), seen: () => count + Number(log[0]) }
    }
    return inner()
  })
})

test('each iteration of a loop has its own, whatever they have in common otherwise', () => {
  const made: Counter[] = []
  for (const turn of [0, 0]) {
    let count = turn
    const next = (): number => (count += 1)
    made.push({ next: () => next(), seen: () => (next === undefined ? 0 : count) })
  }
  const copies = roundTrip(made)
  copies[0]?.next()
  assert.deepEqual([copies[0]?.seen(), copies[1]?.seen()], [1, 0])
  const copied: Counter[] = []
  for (let count = 0, next = (): number => (count += 1); copied.length < 2;) {
    copied.push({ next: () => next(), seen: () => count })
  }
  assert.throws(() => roundTrip(copied), UNKNOWN)
})

test('a witness that is not set yet shows nothing', () => {
  const make = (): { readonly early: readonly unknown[]; readonly both: Counter } => {
    let count = 0
    const both: Counter = { next: () => (count += 1), seen: () => count }
    const other = (): unknown => own
    let isRefused = false
    try {
      roundTrip(both)
    } catch (error) {
      isRefused = UNKNOWN.test(String(error))
    }
    const own = {}
    assert.equal(other(), own)
    return { early: [isRefused], both }
  }
  const { early, both } = make()
  assert.deepEqual(early, [true])
  const copy = roundTrip(both)
  assert.deepEqual([copy.next(), copy.seen()], [1, 1])
})

test('a debugger that may attach, and a large heap, change nothing', async () => {
  const kit = JSON.stringify(new URL('two-sides.kit.js', import.meta.url).href)
  const program = `
    const { TwoSides } = await import(${kit})
    const sides = new TwoSides()
    const make = (w) => { let count = 0; return [() => [w, count += 1], () => count] }
    const reasons = [{}, 1].flatMap((w) => [make(w), [make(w)[0], make(w)[1]]]).map((pair) => {
      try { return sides.send(pair).length } catch (error) { return error.message }
    })
    const own = () => { let count = 0; const w = {}; return [() => [w, count += 1], () => count] }
    const [next, seen] = sides.send(own())
    console.log(reasons.join('|'), next()[1], seen())`
  const run = async (code: string, ...flags: readonly string[]): Promise<string> => {
    const options = [...flags, '--input-type=module', '--eval', code]
    return (await promisify(execFile)(process.execPath, options)).stdout
  }
  const expected = await run(program)
  assert.equal(expected.match(/unknown/g)?.length, 4)
  assert.match(expected, / 1 1\n$/)
  assert.equal(await run(program, '--inspect=0'), expected)
  const heap = 'globalThis.heap = Array.from({ length: 1_000_000 }, (_, n) => ({ n }));'
  assert.equal(await run(heap + program), expected)
})

// Random programs: closures in nested scopes, and what is found out about their variable.

/** A source of repeatable random numbers. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return (state >> 8) % below
  }
}

const WITNESSES = ['const w = {}', 'let w = []', 'var w = () => 1', 'class w {}']
const OTHERS = ['let w = 1', 'let w = {}; w = shared', 'const w = shared', 'var w = turn++']
const DECLARATIONS = [...WITNESSES, 'function w() {}', ...OTHERS, 'let w']

/** Adds closures over `x` to `made`, in scopes that begin and end at random. */
function programOf(random: (below: number) => number): string {
  let names = 0
  const pick = (texts: readonly string[]): string => texts[random(texts.length)] ?? ''
  const witness = (): { readonly text: string; readonly name: string } => {
    // Sometimes a name that a scope around it has as well.
    const name = random(6) === 0 ? 'w0' : `w${(names += 1)}`
    return { text: pick(DECLARATIONS).replaceAll(/\bw\b/g, name), name }
  }
  const closures = (uses: readonly string[]): string => {
    const used = uses.filter(() => random(2) === 0).join()
    return `made.push((v) => [${used}].length < 0 ? 0 : v === undefined ? x : (x = v)); `
  }
  const block = (depth: number, uses: readonly string[]): string => {
    const { text, name } = random(3) > 0 ? witness() : { text: '', name: '1' }
    const all = [...uses, name]
    const declaresX = random(4) === 0 ? pick(['let x = 0; ', 'let x = [0][0]; ']) : ''
    const parts = [declaresX, `${text}; `, closures(all)]
    for (let part = random(3); part >= 0 && depth > 0; part -= 1) {
      const inner = block(depth - 1, all)
      const around = [
        `{ ${inner} }`,
        `if (turn >= 0) { ${inner} }`,
        `for (let i = 0; i < 2; i += 1) { ${inner} }`,
        `for (let x = 0, k = 0, h = {}; k < 2; k += 1) { ${closures([...all, 'h'])}; ${inner} }`,
        `for (const each of [1, 1]) { ${inner} }`,
        `for (const { f = (v) => v === undefined ? x : (x = v) } of [{}, {}]) made.push(f); { ${inner} }`,
        `for (const k of [1, 1]) ((f = (v) => v === undefined ? x : (x = v)) => made.push(f))();`,
        `[1, 1].map((k, at, all, f = (v) => v === undefined ? x : (x = v)) => made.push(f));`,
        `(function* () { ${inner} })().next();`,
        `made.push(class { static m(v) { return v === undefined ? x : (x = v) } }.m);`,
        `(() => { ${inner} })();`,
        `[1, 1].forEach(function (each) { ${inner} });`,
        `do { ${inner} } while (turn < 0);`,
        `try { throw 0 } catch { ${inner} }`,
      ]
      parts.push(pick(around))
    }
    if (random(3) === 0) parts.push(closures(all))
    return parts.join('')
  }
  return `let x = 0; { ${block(3, [])} }`
}

test('random closures: what is decided is right, and much is', () => {
  const outcomes = { decided: 0, refused: 0, shared: 0 }
  const seeds = sized(150, 12)
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = randomOf(seed * 7_919)
    const text = programOf(random)
    const mode = seed % 2 === 0 ? '"use strict"; ' : ''
    type Closure = (value?: unknown) => unknown
    const made: Closure[] = []
    try {
      const program = `${mode}const shared = {}; return (turn, made) => { ${text} }`
      const run = (compileFunction(program) as () => (turn: number, made: Closure[]) => void)()
      run(0, made)
      run(0, made)
    } catch (error) {
      // A name is declared twice, or used too early.
      assert.ok(error instanceof SyntaxError || error instanceof ReferenceError)
    }
    for (let pair = 0; pair < 30; pair += 1) {
      const [one, other] = [made[random(made.length)], made[random(made.length)]]
      if (one === undefined || other === undefined || one === other) continue
      const kit = new TestAnalyst()
      const keys = (): unknown[] =>
        [one, other].map((fn) => {
          const content = kit.content(fn, 'x')
          return content.kind === 'cell' ? content.key : assert.fail(content.kind)
        })
      keys()
      const answer = kit.analyst.settle([one, other])
      const mark = {}
      const before = one()
      one(mark)
      const isShared = other() === mark
      one(before)
      if (answer instanceof Refusal) {
        outcomes.refused += 1
        continue
      }
      const [key, otherKey] = keys()
      assert.equal(key === otherKey, isShared, `seed ${seed}: ${text}\n${one}\n${other}`)
      outcomes.decided += 1
      if (isShared) outcomes.shared += 1
    }
  }
  assert.ok(outcomes.decided > 8 * seeds && outcomes.shared > 0 && outcomes.refused > 0)
})

test('a CommonJS file that was loaded again has variables of its own, if any differs', () => {
  const text = `let count = 0
    let tag = '?'
    return { next: () => (count += 1), seen: () => [tag, count], set: (to) => (tag = to) }`
  // What Node does with such a file: one script, which may run several times.
  const load = compileFunction(text) as () => {
    readonly next: () => number
    readonly seen: () => readonly [string, number]
    readonly set: (to: string) => void
  }
  const [a, b] = [load(), load()]
  a.set('A')
  b.set('B')
  a.next()
  const { nextA, seenA, seenB } = roundTrip({ nextA: a.next, seenA: a.seen, seenB: b.seen })
  assert.deepEqual([nextA(), seenA(), seenB()], [2, ['A', 2], ['B', 0]])
})

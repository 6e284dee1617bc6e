// oxlint-disable typescript/unbound-method -- methods without their object are what is tested

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFunction } from 'node:vm'
import type { AnyFunction } from '../native-names.js'
import { Inspector } from './inspector.js'

const inspector = Inspector.open() as Inspector

interface Counter {
  readonly next: () => number
  readonly get: () => number
  method(): number
}

function counter(): Counter {
  let count = 0
  return {
    next: () => (count += 1),
    get: () => count,
    method() {
      return count
    },
  }
}

function contextsOf(...functions: readonly AnyFunction[]): readonly (readonly number[])[] {
  const contexts = inspector.contextsOf(functions)
  return functions.map((fn) => contexts?.get(fn) ?? [])
}

test('closures of one call share its variables, those of two calls do not', () => {
  const [first, second] = [counter(), counter()]
  const [next, get, method, other] = contextsOf(first.next, first.get, first.method, second.next)
  assert.equal(next?.length, inspector.functionView(first.next).scopes.length)
  assert.deepEqual(get, next)
  assert.deepEqual(method, next)
  assert.notEqual(other?.[0], next?.[0])
  assert.equal(other?.[1], next?.[1])
})

test('each turn of a loop has variables of its own', () => {
  const made: AnyFunction[] = []
  for (let turn = 0; turn < 2; turn += 1) {
    made.push(
      () => turn,
      () => turn + 1,
    )
  }
  const [first, same, second] = contextsOf(...made)
  assert.equal(first?.[0], same?.[0])
  assert.notEqual(first?.[0], second?.[0])
})

test('numbers of two snapshots are never equal', () => {
  const { get } = counter()
  const [before = []] = contextsOf(get)
  const [after = []] = contextsOf(get)
  assert.equal(before.length, after.length)
  assert.deepEqual(
    before.filter((number) => after.includes(number)),
    [],
  )
})

test('a function without an inside is left out, or has no scopes', () => {
  const contexts = inspector.contextsOf([Math.sqrt, counter().get.bind(undefined)])
  for (const numbers of contexts?.values() ?? []) assert.deepEqual(numbers, [])
  assert.equal(inspector.heapExcess, undefined)
})

/** Numbers that look random and are the same each time. */
function sequence(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor((state / 0x8000_0000) * below)
  }
}

const NAMES = ['a', 'b', 'c', 'd']

/**
 * A program of scopes in scopes, which gives functions of all of them to `give`. Variables hold an
 * object of their own (`own()`), or a number.
 */
function program(draw: (below: number) => number, depth: number): string {
  const name = NAMES[draw(NAMES.length)] ?? ''
  const used = NAMES.filter((other) => other === name || draw(3) === 0)
  const use = used.map((other) => `typeof ${other}`).join()
  const givers = [
    `give(() => [${use}])`,
    `give(() => [this, ${use}])`,
    `give({ m() { return [super.x, ${use}] } }.m)`,
    `give(class { #p = 1; static s() { return [${use}] } has(o) { return #p in o } }.s)`,
    `give((function named(k) { return () => [named, ${use}] })(1))`,
    `give((function named(k) { return () => [named, k, ${use}] })(1))`,
    'give(() => new.target)',
  ]
  const inner = depth === 0 ? [] : [program(draw, depth - 1), program(draw, depth - 1)]
  const start = `let ${name} = ${draw(2) === 0 ? 'own()' : '1'}`
  const body = [start, givers[draw(givers.length)], ...inner].join(';')
  const scopes = [
    `{ ${body} }`,
    `(() => { ${body} })()`,
    `(function () { ${body} }).call({})`,
    `(function f() { ${body}; give(() => f) })()`,
    `for (let i = 0; i < 2; i++) { ${body}; give(() => i) }`,
    `try { throw own() } catch (e) { ${body}; give(() => e) }`,
    `(function (x, y = () => x) { var x = own(); give(y); give(() => x); ${body} })(own())`,
    `(class { #q = 1; static { ${body}; give(() => this); give((o) => #q in o) } })`,
    `switch (1) { case 1: ${body} }`,
    `give({ m() { ${body}; return () => super.x } }.m())`,
    `(function () { eval('var v = own()'); ${body}; give(() => v) })()`,
  ]
  return `;${scopes[draw(scopes.length)]}`
}

test('contexts are right in programs of any shape', () => {
  for (let seed = 1; seed <= 2; seed += 1) {
    const functions: AnyFunction[] = []
    const give = (fn: AnyFunction): number => functions.push(fn)
    const run = compileFunction(program(sequence(seed), 4), ['give', 'own'])
    Reflect.apply(run, undefined, [give, () => ({})])
    const contexts = inspector.contextsOf(functions)
    const seen = new Seen()
    for (const fn of functions) {
      const { scopes } = inspector.functionView(fn)
      const numbers = contexts?.get(fn) ?? []
      assert.equal(numbers.length, scopes.length, `${seed}: ${fn.toString()}`)
      for (const [at, { type, variables }] of scopes.entries()) {
        if (type !== 'script') seen.add(numbers[at] ?? 0, variables)
      }
    }
    assert.ok(seen.count > 5, `${seed} has too few variables to say anything`)
  }
})

/** The objects in variables: each belongs to one variable of one context. */
class Seen {
  readonly #values = new Map<string, unknown>()
  readonly #places = new Map<unknown, string>()

  add(context: number, variables: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(variables)) {
      // `arguments` is the only object that is not made for one variable.
      if (typeof value !== 'object' || name === 'arguments') continue
      const place = `${context} ${name}`
      assert.equal(this.#values.get(place) ?? value, value, place)
      assert.equal(this.#places.get(value) ?? place, place)
      this.#values.set(place, value)
      this.#places.set(value, place)
    }
  }

  get count(): number {
    return this.#places.size
  }
}

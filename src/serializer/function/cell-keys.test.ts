import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VariableAccess } from '../inspect/variables.js'
import type { AnyFunction } from '../module/native.js'
import { Refusal } from '../refusal.js'
import type { Binding } from '../source/sites.js'
import { CellKeys, type VariableSource } from './cell-keys.js'

const count: Binding = {
  name: 'count',
  kind: 'let',
  isOnce: false,
  isConstant: false,
  isCell: true,
  isInitialized: true,
  isNeverUndefined: true,
  literal: undefined,
  origin: undefined,
  wrappedSpecifier: undefined,
  isModuleObject: false,
  isPrivateStore: false,
  witness: undefined,
  line: 0,
}

/** Functions that share the variables of these numbers; they all hold 0. */
class FakeSource implements VariableSource {
  readonly #variables = new Map<number, unknown>()
  readonly #numbers = new Map<AnyFunction, number>()
  searches = 0
  witnessOf: (number: number) => unknown = () => undefined

  functionOf(number: number): AnyFunction {
    const fn = (): number => number
    this.#variables.set(number, 0)
    this.#numbers.set(fn, number)
    return fn
  }

  functionView(fn: AnyFunction): ReturnType<VariableSource['functionView']> {
    const number = this.#numbers.get(fn) ?? -1
    const variables = { count: this.#variables.get(number), add: this.witnessOf(number) }
    return { location: undefined, scopes: [{ type: 'closure', variables }] }
  }

  searching<T>(action: () => T): T {
    return action()
  }

  accessTo(fn: AnyFunction): VariableAccess | undefined {
    this.searches += 1
    const number = this.#numbers.get(fn) ?? -1
    return {
      get: () => this.#variables.get(number),
      set: (value) => void this.#variables.set(number, value),
    }
  }
}

function keysOf(
  keys: CellKeys,
  functions: readonly AnyFunction[],
  binding: Binding = count,
): readonly object[] {
  return functions.map((fn) => keys.keyOf(fn, binding, 0, true))
}

test('functions that share a variable have one key, others have others', () => {
  const source = new FakeSource()
  const keys = new CellKeys(source)
  const functions = [1, 2, 1, 2, 3].map((number) => source.functionOf(number))
  keysOf(keys, functions)
  assert.equal(keys.settle(functions), 'again')
  const [a, b, sameA, sameB, c] = keysOf(keys, functions)
  assert.ok(a === sameA && b === sameB && new Set([a, b, c]).size === 3)
  assert.equal(keys.settle(functions), 'certain')
  assert.equal(source.searches, 2)
})

test('what holds another value is another variable, without a search', () => {
  const source = new FakeSource()
  const keys = new CellKeys(source)
  const [one, other] = [source.functionOf(1), source.functionOf(2)]
  source.accessTo(other)?.set(7)
  source.searches = 0
  keysOf(keys, [one, other])
  assert.equal(keys.settle([one, other]), 'again')
  assert.equal(source.searches, 0)
})

test('what is captured beside them tells which variables are one, without a search', () => {
  const source = new FakeSource()
  const functions = [1, 2, 1, 2].map((number) => source.functionOf(number))
  const witnesses: unknown[] = [{}, {}]
  source.witnessOf = (number) => witnesses[number - 1]
  const witnessed = { ...count, witness: 'add' }
  const told = new CellKeys(source)
  keysOf(told, functions, witnessed)
  assert.equal(told.settle(functions), 'again')
  const [a, b, sameA, sameB] = keysOf(told, functions, witnessed)
  assert.ok(a === sameA && b === sameB && a !== b)
  assert.equal(source.searches, 0)
  // One that is not there yet tells nothing.
  witnesses[1] = undefined
  const untold = new CellKeys(source)
  keysOf(untold, functions, witnessed)
  assert.equal(untold.settle(functions), 'again')
  assert.equal(source.searches, 2)
})

test('a variable that cannot be had, or too many of them, are refused with a way out', () => {
  const hidden = new FakeSource()
  hidden.accessTo = () => undefined
  for (const source of [hidden, new FakeSource()]) {
    const keys = new CellKeys(source)
    const functions = Array.from({ length: 12 }, (_, number) => source.functionOf(number))
    keysOf(keys, functions)
    const refusal = keys.settle(functions)
    assert.ok(refusal instanceof Refusal)
    assert.match(refusal.reason, /^the variable count .*share it is unknown.*keep it in an object/)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScopeView } from '../inspect/inspector.js'
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
  witnesses: ['add'],
  isOfModuleFunction: false,
  ownNameAt: undefined,
  line: 0,
}

type Variables = Readonly<Record<string, unknown>>

/** Functions in one scope of their own, which has the variable, and others. */
class FakeSource implements VariableSource {
  readonly #scopes = new Map<AnyFunction, readonly ScopeView[]>()

  /** From the inside out. */
  functionIn(...scopes: readonly Variables[]): AnyFunction {
    const fn = (): number => scopes.length
    this.#scopes.set(
      fn,
      scopes.map((variables) => ({ type: 'closure', variables })),
    )
    return fn
  }

  functionView(fn: AnyFunction): ReturnType<VariableSource['functionView']> {
    return { location: undefined, scopes: this.#scopes.get(fn) ?? [] }
  }
}

interface Asked {
  readonly scope?: number
  readonly innerWitnesses?: readonly string[]
  readonly isApart?: boolean
  readonly isStandIn?: boolean
}

/** The keys once they are settled, as numbers; or why that is refused. */
function settled(
  source: FakeSource,
  functions: readonly AnyFunction[],
  { scope = 0, innerWitnesses = [], isApart = false, isStandIn = false }: Asked = {},
): string {
  const cells = new CellKeys(source)
  const about = { isAssigned: true, innerWitnesses, isApart }
  const keys = (): object[] =>
    functions.map((fn) => cells.keyOf({ fn, isStandIn }, count, scope, about))
  keys()
  const answer = cells.settle(functions)
  if (answer instanceof Refusal) return answer.reason
  assert.equal(answer, 'again')
  assert.equal(cells.settle(functions), 'certain')
  const all = keys()
  return all.map((key) => all.indexOf(key)).join(' ')
}

test('what holds another value is another variable', () => {
  const source = new FakeSource()
  const functions = [1, 2, 3].map((value) => source.functionIn({ count: value }))
  assert.equal(settled(source, functions), '0 1 2')
})

test('any other value in the scope or around it shows another variable', () => {
  const source = new FakeSource()
  const functions = [
    source.functionIn({ count: 0, step: 1 }),
    source.functionIn({ count: 0, step: 2 }),
    source.functionIn({ count: 0, step: 2 }, { outer: 1 }),
    source.functionIn({ count: 0, step: 2 }, { outer: 2 }),
  ]
  assert.equal(settled(source, functions.slice(0, 2)), '0 1')
  assert.equal(settled(source, functions.slice(2)), '0 1')
  // What only some of them show proves nothing.
  assert.match(settled(source, functions.slice(1, 3)), /unknown/)
})

test('a witness beside the variable shows which functions share it', () => {
  const source = new FakeSource()
  const [one, other] = [{}, {}]
  const functions = [one, other, one, other].map((add) => source.functionIn({ count: 0, add }))
  assert.equal(settled(source, functions), '0 1 0 1')
})

test('a witness that is not set yet, or no object, proves nothing', () => {
  const early = Object.defineProperty({ count: 0 }, 'add', {
    get: () => assert.fail('it is not initialized'),
    enumerable: true,
  })
  for (const variables of [{ count: 0, add: undefined }, { count: 0, add: 1 }, early]) {
    const source = new FakeSource()
    const functions = [source.functionIn(variables), source.functionIn(variables)]
    assert.match(settled(source, functions), /^the variable count .*they share it is unknown/)
  }
})

test('one of several witnesses is enough, and functions in between join others', () => {
  const source = new FakeSource()
  const [add, outer, inner] = [{}, {}, {}]
  const scope = { count: 0, add: undefined }
  const functions = [
    source.functionIn({ inner, both: outer }, scope),
    source.functionIn({ both: outer }, { count: 0, add }),
    source.functionIn({ inner: {} }, { count: 0, add }),
  ]
  const innerWitnesses = ['inner', 'both']
  assert.equal(settled(source, functions, { scope: 1, innerWitnesses }), '0 0 0')
})

test('different witnesses inside prove nothing about the variable outside', () => {
  const source = new FakeSource()
  const functions = [{}, {}].map((inner) => source.functionIn({ inner }, { count: 0 }))
  const asked = { scope: 1, innerWitnesses: ['inner'] }
  assert.match(settled(source, functions, asked), /^the variable count .*const state = \{ count \}/)
})

test('functions that each call makes once are of different calls, unless others are among them', () => {
  const source = new FakeSource()
  const [add, other] = [{}, {}]
  const functions = [1, 2, 3].map(() => source.functionIn({ count: 0 }))
  assert.equal(settled(source, functions, { isApart: true }), '0 1 2')
  const refused = /^the variable count .*they share it is unknown/
  assert.match(settled(source, functions, { isApart: true, isStandIn: true }), refused)
  const cells = new CellKeys(source)
  const about = { isAssigned: true, innerWitnesses: [], isApart: true }
  for (const [index, fn] of functions.entries()) {
    cells.keyOf({ fn }, count, 0, { ...about, isApart: index < 2 })
  }
  assert.match((cells.settle(functions) as Refusal).reason, refused)
  // A witness still shows that two are of one call.
  const alike = [add, add, other].map((each) => source.functionIn({ count: 0, add: each }))
  assert.equal(settled(source, alike), '0 0 2')
})

test('variables that no function of the message assigns are left as they are', () => {
  const source = new FakeSource()
  const cells = new CellKeys(source)
  const functions = [1, 2].map(() => source.functionIn({ count: 0 }))
  for (const fn of functions) {
    cells.keyOf({ fn }, count, 0, { isAssigned: false, innerWitnesses: [], isApart: false })
  }
  assert.equal(cells.settle(functions), 'certain')
})

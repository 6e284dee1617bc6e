import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alignContexts } from './context-alignment.js'
import type { ScopeView } from './function-view.js'
import type { HeapContext } from './heap-graph.js'

const ROOT = 100

function scope(type: ScopeView['type'], ...names: readonly string[]): ScopeView {
  return { type, variables: Object.fromEntries(names.map((name) => [name, 1])) }
}

function context(node: number, ...names: readonly string[]): HeapContext {
  return { node, names, extension: 'none' }
}

function moduleContext(node: number, ...names: readonly string[]): HeapContext {
  return { node, names, extension: 'module' }
}

function aligned(
  contexts: readonly HeapContext[],
  ...scopes: readonly ScopeView[]
): readonly number[] | undefined {
  return alignContexts({ contexts, root: ROOT }, scopes)
}

test('each scope has a context', () => {
  assert.deepEqual(
    aligned(
      [context(1, 'a'), context(2, 'b'), moduleContext(3, 'c')],
      scope('block', 'a'),
      scope('closure', 'b'),
      scope('module', 'c', 'imported'),
    ),
    [1, 2, 3],
  )
})

test('a context of which nothing is listed is passed over', () => {
  const scopes = [scope('closure', 'a'), scope('module', 'c')]
  const [a, c] = [context(1, 'a'), moduleContext(3, 'c')]
  for (const unlisted of [['this'], ['.new.target'], ['#x', '.brand'], ['nameOfFunction'], []]) {
    const hidden = context(9, ...unlisted)
    assert.deepEqual(aligned([hidden, a, c], ...scopes), [1, 3])
    assert.deepEqual(aligned([a, hidden, c], ...scopes), [1, 3])
  }
  assert.deepEqual(aligned([a, moduleContext(3)], scope('closure', 'a')), [1])
})

test('names that are not listed do not count', () => {
  const contexts = [context(1, 'this', 'n', '.new.target', '#p', 'nameOfFunction')]
  assert.deepEqual(aligned(contexts, scope('closure', 'n')), [1])
})

test('the scope of scripts stands for all scripts', () => {
  const [a, script] = [context(1, 'a'), context(2, 'top', 'other')]
  const shared = scope('script', 'top', 'other', 'ofAnotherScript')
  assert.deepEqual(aligned([a, script], scope('closure', 'a'), shared), [1, ROOT])
  assert.deepEqual(aligned([a], scope('closure', 'a'), shared), [1, ROOT])
  assert.deepEqual(aligned([], shared), [ROOT])
})

test('what a sloppy eval declared is listed with the rest', () => {
  const extended: HeapContext = { node: 1, names: ['arguments'], extension: 'object' }
  assert.deepEqual(aligned([extended], scope('closure', 'arguments', 'declared')), [1])
})

test('a with block has a context of its own', () => {
  const extended: HeapContext = { node: 1, names: [], extension: 'object' }
  assert.deepEqual(
    aligned([extended, context(2, 'a')], scope('with'), scope('closure', 'a')),
    [1, 2],
  )
})

test('names in a table match only a scope with many variables', () => {
  const table: HeapContext = { node: 1, names: undefined, extension: 'none' }
  const many = scope('closure', ...Array.from({ length: 80 }, (_, at) => `v${at}`))
  assert.deepEqual(aligned([table], many), [1])
  assert.equal(aligned([table], scope('closure', 'a')), undefined)
})

test('nothing is said where there are two ways', () => {
  // One of them is the name of a function expression, and nobody knows which.
  assert.equal(aligned([context(1, 'n'), context(2, 'n')], scope('closure', 'n')), undefined)
})

test('nothing is said where there is no way', () => {
  assert.equal(aligned([context(1, 'a')], scope('closure', 'b')), undefined)
  assert.equal(aligned([], scope('closure', 'b')), undefined)
  assert.equal(aligned([context(1, 'a', 'b', 'c')]), undefined)
})

test('a name beyond 16 bits is compared as the snapshot has it', () => {
  assert.deepEqual(aligned([context(1, '\u0bb7')], scope('closure', '\u{20bb7}')), [1])
})

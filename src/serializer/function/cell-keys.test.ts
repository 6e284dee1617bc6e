import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyFunction } from '../native-names.js'
import { Refusal } from '../refusal.js'
import type { Binding } from '../source/function-site.js'
import { CellKeys, type ContextSource } from './cell-keys.js'

const count: Binding = {
  name: 'count',
  kind: 'let',
  isOnce: false,
  isConstant: false,
  isCell: true,
  isNeverUndefined: true,
  origin: undefined,
  isModuleObject: false,
  wrappedSpecifier: undefined,
  isPrivateStore: false,
  line: 0,
}

/** Why two functions of which one changes a variable cannot travel together. */
function reasonWith(source: ContextSource): string {
  const keys = new CellKeys(source)
  const functions: AnyFunction[] = [() => 1, () => 2]
  for (const fn of functions) keys.keyOf(fn, count, 0, true)
  const refusal = keys.settle(functions)
  return refusal instanceof Refusal ? refusal.reason : assert.fail(refusal)
}

test('where the heap is too large to look into it, the refusal says its size and the limit', () => {
  const heapExcess = { heapBytes: 300.2 * 1024 ** 2, limitBytes: 128 * 1024 ** 2 }
  const reason = reasonWith({ contextsOf: () => undefined, heapExcess })
  assert.match(
    reason,
    /^the variable count .*snapshot of the heap .* 301 MiB, .* limit is 128 MiB; keep it/,
  )
})

test('what a snapshot does not show is refused without numbers', () => {
  const reason = reasonWith({ contextsOf: () => new Map(), heapExcess: undefined })
  assert.match(reason, /cannot be told whether they share it; keep it in an object/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bringUpToDate, ownCopy } from './peer.js'

interface Sample {
  readonly name: string
  readonly usage: { readonly cpu: number }
  readonly list: readonly number[]
  readonly bytes: Uint8Array
  readonly processes: readonly { readonly pid: number; readonly tasks: readonly number[] }[]
}

const NONE: readonly number[] = Object.freeze([])

test('a copy shares nothing but bytes, and follows later values', () => {
  const bytes = new Uint8Array(2)
  const first: Sample = {
    bytes,
    name: 'a',
    usage: { cpu: 1 },
    list: NONE,
    processes: [{ pid: 1, tasks: NONE }],
  }
  const copy = ownCopy(first)
  assert.deepEqual(copy, first)
  assert.equal(copy.bytes, bytes)
  const { usage, processes } = copy
  const second: Sample = {
    ...first,
    name: 'b',
    usage: { cpu: 2 },
    list: [7],
    bytes: new Uint8Array(1),
  }
  bringUpToDate(copy, second)
  assert.deepEqual(copy, second)
  assert.equal(copy.usage, usage, 'no new part where the old one can be used')
  assert.equal(copy.processes, processes)
  assert.notEqual(copy.list, second.list)
  assert.deepEqual([first.usage, NONE], [{ cpu: 1 }, []])
  const third: Sample = { ...second, list: NONE, processes: [{ pid: 2, tasks: [1, 2] }] }
  bringUpToDate(copy, third)
  assert.deepEqual(copy, third)
  bringUpToDate(copy, { ...third, processes: [] })
  assert.deepEqual(copy.processes, [])
})

test('what was there may be missing, and the reverse', () => {
  const copy = ownCopy<{ readonly part: { readonly a: number } | undefined }>({ part: { a: 1 } })
  for (const part of [undefined, { a: 2 }]) {
    bringUpToDate(copy, { part })
    assert.deepEqual({ ...copy }, { part })
  }
})

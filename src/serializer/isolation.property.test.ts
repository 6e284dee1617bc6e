// No task sees the effects of another one: random functions over random state, sent once and called
// by many overlapping tasks, each compared with a fresh evaluation here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../base/short-run.kit.js'
import { TwoSides } from './two-sides.kit.js'

/** The captures of the functions. Each program has them anew. */
const STATE = `
  let n = 1
  const list = [3, 1, 2]
  const rows = [{ x: 1, inner: [1] }, { x: 2, inner: [2] }]
  const map = new Map([['a', { x: 1 }]])
  const set = new Set([1])
  const obj = { a: { b: 1 }, k: 2, size: { w: 1 } }
  const bytes = new Uint8Array(4)
  const view = new DataView(bytes.buffer)
  const packet = Buffer.from('HEAD----')
  const parcels = [Buffer.from('ab'), Buffer.alloc(80, 1)]
  const date = new Date(5)
  const pattern = /a/g
  const frozen = Object.freeze({ q: Object.freeze([1]), open: [1] })
  class C {
    static c = 0
    static list = []
    bump() { return ++C.c }
  }
  const counter = () => { n += 1; return n }
  const helper = (v) => { rows[0].x += v; return rows[0].x }
  const pure = (v) => v * 2
  const pick = (i) => rows[i]
  const whole = () => list
  function self(v) { self.calls = (self.calls ?? 0) + v; return self.calls }
  const bag = { add(v) { this.total = (this.total ?? 0) + v; return this.total } }
  const bound = bag.add.bind(bag)
`

/** The body of a function, with its argument `x`. */
const STATEMENTS = [
  'out.push(n)',
  'n += 1',
  'out.push(list.length, list[0])',
  'list.push(x)',
  'list[0] += x',
  'list.sort()',
  'for (const v of list) out.push(v)',
  'out.push(list.map((v) => v + 1).join())',
  'list.map((v, i, all) => { all[0] = i })',
  'list.forEach(function () { arguments[2].push(0) })',
  'out.push(list.reduce((sum, v) => sum + v, 0))',
  'rows[1].x = x',
  'out.push(rows.map((row) => row.x).join())',
  '{ const row = rows[0]; row.x += 1 }',
  '{ const [first] = rows; first.x += 1 }',
  '{ let row = rows[0]; row = rows[1]; row.x += 1 }',
  'for (const row of rows) row.x += 1',
  'rows.forEach((row) => { row.x += 1 })',
  'rows.find((row) => row.x > 0).x += 1',
  'rows.filter((row) => row.x > 0)[0].x += 1',
  'rows[0].inner.push(x)',
  'out.push(rows[0].inner.length)',
  '[...rows][0].x += 1',
  'out.push([...rows].length, rows.slice(0, 1).length)',
  'out.push(rows.filter((row) => row.x > 1).length)',
  'out.push(rows.slice().sort((a, b) => b.x - a.x)[0].x)',
  'rows.slice().sort((a, b) => b.x - a.x)[0].x += 1',
  'list.slice().sort()',
  '[...list].push(x)',
  'out.push(Math.max(...list.slice(0, 2)))',
  'out.push(JSON.stringify(rows[1]), Object.keys(rows[0]).join())',
  '[...rows].pop().inner.push(x)',
  '[...map][0][1].x += 1',
  'for (const [, row] of rows.entries()) row.x += 1',
  'for (const [i, row] of rows.entries()) out.push(i, row.x)',
  'Object.entries(obj)[0][1].b += 1',
  'Object.values(rows)[0].x += 1',
  'map.set("k" + x, 1)',
  'map.get("a").x += 1',
  'out.push([...map.keys()].join(), map.get("a").x, map.size)',
  'for (const [, value] of map) value.x += 1',
  'for (const [, value] of map) { value.x += 1; out.push(value.x) }',
  'for (const entry of map) { entry[1].x += 1; out.push(entry[1].x) }',
  '{ const [[, value]] = map; value.x += x; out.push(value.x) }',
  'set.add(x)',
  'out.push(set.size)',
  'obj.a.b = x',
  'out.push(obj.a.b)',
  'delete obj.k',
  'delete obj?.k',
  'out.push("k" in obj)',
  '{ const { a } = obj; a.b += 1 }',
  '{ const { size } = obj; size.w += 1 }',
  'obj.size.w += 1',
  'out.push(obj.size.w)',
  'obj.a = rows[0]; obj.a.x += 1',
  'Object.assign(obj, { z: x })',
  '({ a: obj.y } = { a: x })',
  'out.push(Object.keys(obj).join())',
  'bytes[0] += 1',
  'view.setUint8(1, x)',
  'new Uint8Array(bytes.buffer)[2] += 1',
  'bytes.subarray(1)[0] += 1',
  'bytes.slice(1)[0] += 1',
  '{ const { buffer } = bytes; new Uint8Array(buffer)[0] += 1 }',
  'packet.slice(4)[0] += 1',
  '{ const field = packet.slice(2, 4); field.fill(x); out.push(field[0]) }',
  'packet.slice(1).slice(1).write("x")',
  'for (const part of [packet.slice(0, 1)]) part[0] += 1',
  'parcels.map((one) => one.slice(0, 1))[0][0] += 1',
  'parcels.forEach((one) => { one.slice(1)[0] += 1 })',
  'parcels.slice(0, 1)[0].slice()[1] += 1',
  '{ const [{ slice }] = parcels; slice.call(parcels[0], 0)[0] += 1 }',
  'new Uint8Array(packet.parent, packet.offset, 1)[0] += 1',
  '{ const { parent, offset } = packet; new Uint8Array(parent, offset, 1)[0] += 1 }',
  'out.push(packet.slice(0, 2).toString(), packet[4], parcels[0].slice(1).length)',
  'out.push(packet.toString(), parcels.map((one) => one.slice(0, 1)).join())',
  'out.push(bytes.join())',
  'date.setTime(date.getTime() + x)',
  'out.push(date.getTime())',
  'out.push(pattern.test("aa"))',
  'out.push(frozen.q[0])',
  'frozen.open.push(x)',
  'out.push(frozen.open.length)',
  'C.c += 1',
  'out.push(C.c, new C().bump())',
  'C.list.push(x)',
  'out.push(C.list.length)',
  'C.prototype.extra = x',
  'out.push("extra" in C.prototype)',
  'new C().constructor.c += 1',
  'out.push(counter())',
  'out.push(helper(x))',
  'out.push(pure(x))',
  'helper.tag = 1',
  'out.push(helper.tag ?? 0)',
  'pick(0).x += 1',
  'out.push(pick(0).x)',
  '{ const f = pick; f(1).x = 9 }',
  'whole().push(x)',
  'out.push(whole().length)',
  'out.push(self(1))',
  'out.push(bag.add(x))',
  'out.push(bound(x))',
  'out.push([list, rows].map((all) => all.length).join())',
  '[list, rows].forEach((all) => all.pop())',
  'await null',
] as const

type Statement = (typeof STATEMENTS)[number]
type Program = (x: number) => Promise<string>

/** Functions of one program; made anew at each call. */
function programs(bodies: readonly (readonly string[])[]): readonly Program[] {
  const functions = bodies.map(
    (body) => `async (x) => { const out = []; ${body.join('; ')}; return JSON.stringify(out) }`,
  )
  // oxlint-disable-next-line typescript/no-implied-eval -- random programs
  const make = new Function(`'use strict';${STATE}return [${functions.join()}]`)
  return Reflect.apply(make, undefined, []) as readonly Program[]
}

const body = fc.array(fc.constantFrom(...STATEMENTS), { minLength: 1, maxLength: 7 })

const plan = fc.record({
  bodies: fc.array(body, { minLength: 1, maxLength: 3 }),
  calls: fc.array(fc.record({ fn: fc.nat(2), x: fc.nat(3) }), { minLength: 2, maxLength: 6 }),
})

test('each task gives the same as a fresh evaluation, whatever others do at the same time', async () => {
  let steadyCount = 0
  const property = fc.asyncProperty(plan, async ({ bodies, calls }) => {
    const sides = new TwoSides()
    const sent = programs(bodies).map((fn) => {
      const bytes = Buffer.from(sides.here.serializer.serialize(fn))
      const first = sides.there.serializer.deserializeFunction(bytes, [])
      steadyCount += first.isSteady ? 1 : 0
      return { bytes, first }
    })
    const answers = calls.map(({ fn, x }) => {
      const { bytes, first } = sent[fn % sent.length] ?? assert.fail()
      sides.beginTask()
      const { value } = first.isSteady
        ? first
        : sides.there.serializer.deserializeFunction(bytes, [])
      return (value as Program)(x)
    })
    const expected = calls.map(({ fn, x }) => {
      const fresh = programs(bodies)
      return (fresh[fn % fresh.length] ?? assert.fail())(x)
    })
    const outcomes = (all: readonly Promise<string>[]): Promise<unknown[]> =>
      Promise.all(all.map((one) => one.catch(String)))
    assert.deepEqual(await outcomes(answers), await outcomes(expected))
  })
  // At least one is always creatable once for all.
  const steady = { bodies: [['out.push(frozen.q[0])' as const]], calls: [{ fn: 0, x: 1 }] }
  // Each alone, twice: with others beside it, hardly any function is created once.
  const shown: Statement =
    'out.push(packet.toString(), parcels.map((one) => one.slice(0, 1)).join())'
  const memory = STATEMENTS.filter((statement) => /packet|parcels|bytes/.test(statement))
  const alone = memory.map((statement: Statement) => ({
    bodies: [[shown, statement]],
    calls: [
      { fn: 0, x: 1 },
      { fn: 0, x: 1 },
    ],
  }))
  const examples = [steady, ...alone].map((one) => [one] as [typeof one])
  const numRuns = examples.length + Number(process.env['ISOLATION_RUNS'] ?? sized(40, 20))
  await fc.assert(property, { numRuns, examples })
  assert.ok(steadyCount > 0, 'no function was made once for all')
})

test('data that a function only reads is created once, whatever globals it uses before', () => {
  const rows = [{ x: 1 }, { x: 2 }]
  const isSteady = (fn: () => unknown): boolean => {
    const { here, there } = new TwoSides()
    const bytes = Buffer.from(here.serializer.serialize(fn))
    return there.serializer.deserializeFunction(bytes, []).isSteady
  }
  assert.equal(
    isSteady(() => rows.filter((row) => row.x > 1).length),
    true,
  )
  assert.equal(
    isSteady(() => JSON.stringify(rows[1])),
    true,
  )
  assert.equal(
    isSteady(() => Object.keys(rows[0] ?? {}).length),
    true,
  )
  assert.equal(
    isSteady(() => Object.values(rows)[0]),
    true,
  )
  assert.equal(
    isSteady(() => Object.assign(rows[0] ?? {}, { x: 3 })),
    false,
  )
})

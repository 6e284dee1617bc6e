import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analysisOf } from './site.kit.js'
import type { Changes } from './sites.js'

const IMPORTS = `import { z } from 'zod'; import pino from 'pino'; import addFormats from 'ajv-formats';
import * as formats from 'ajv-formats'; import { help } from './help.js'; let ws\n`

function changesIn(text: string, name: string = 'x'): Changes | undefined {
  return analysisOf(IMPORTS + text).changesOf(name)
}

/** Each with the line, from 0, that changes it. */
const CHANGED: readonly (readonly [line: number, text: string])[] = [
  [3, 'const x = pino();\nx.level = 1'],
  [3, 'const x = { list: [] };\ndelete x.list[0]'],
  [3, 'const x = pino();\nx.setLevel(1)'],
  [3, 'const x = { list: [] };\nconst add = () => x.list.push(ws); add()'],
  [2, 'const x = {}; const define = (into, key) => { into[key] = 1 }\ndefine(x, 1)'],
  [2, 'function define(into, key) { into[key] = 1 } const x = {};\ndefine(x, 1)'],
  [2, 'const x = pino(); function mark(l) { l.marked = true; return l }\nconst y = mark(x)'],
  [2, 'const x = { n: 1 }; const bump = ({ n }, one) => { one.n++ }\nbump({}, x)'],
  [2, 'const x = { n: 1 }; const bump = (...all) => { all[1].n++ }\nbump({}, x)'],
  [2, 'const x = pino(); function set({ x: l }) { l.level = 1 }\nset({ x })'],
  [2, 'const x = pino(); const a = (l) => b(l); const b = (l) => { l.level = 1 }\na(x)'],
  [3, 'const x = []; const y = x;\ny.x = 1'],
  [3, 'const x = []; const y = x; const { length } = y;\ny.push(ws)'],
  [3, 'const x = { list: [] }; const { list } = x;\nlist.push(ws)'],
  [3, 'const x = []; const holder = {}; holder.x = x;\nholder.x.y = 1'],
  [3, 'const x = []; const holder = []; holder.push(x);\nholder[0].y = 1'],
  [3, 'const x = []; let y; y = x;\ny.x = 1'],
  [3, 'const x = [];\nfor (const y of [x]) y.push(ws)'],
  [3, 'const x = pino(); const services = { x };\nservices.x.level = 1'],
  [3, 'const x = pino(); const get = () => x;\nget().level = 1'],
  [3, 'const x = pino(); function get() { if (ws) { return x } }\nget().level = 1'],
  [3, 'const x = [];\nArray.prototype.push.call(x, ws)'],
  [3, 'const x = [];\nObject.assign(x, { y: 1 })'],
  [3, 'const x = {};\nconst is = Reflect.set(x, 1, 1)'],
  [3, 'const x = z.object();\naddFormats(x)'],
  [3, 'const x = z.object();\n(0, formats.default)(x)'],
  [3, 'const x = z.object();\nws && void formats.add(x)'],
  [3, 'const x = z.object();\nawait addFormats(x)'],
  [3, 'const x = z.object();\n[1].map(() => 1), addFormats({ x })'],
  [3, 'const x = new Map([[1, {}]]); const y = x.get(1)\ny.n = 1'],
  [3, 'const x = new Map([[1, {}]]);\nx.get(1).m.get(2).n++'],
  [3, 'const x = new Map([[1, {}]]); const bump = () => {\nfor (const y of x.values()) y.n += 1 }'],
  [3, 'const x = new Map([[1, {}]]);\nfor (const [, y] of x.entries()) delete y.n'],
  [3, 'const x = new Map([[1, {}]]); const [y] = Array.from(x.values())\ny.n = 1'],
  [3, 'const x = new Set([{}]);\nconst y = [...x].map((each) => { each.n = 1; return each })'],
  [2, 'const x = new Map([[1, {}]]); const touch = (one) => { one.n = 1 }\ntouch(x.get(1))'],
  [2, 'const x = [{}]; const touch = (all) => { for (const y of all.slice(1)) y.n = 1 }\ntouch(x)'],
  [3, 'const x = [{}]; const y = x; const w = y.at(0)\nw.n = 1'],
  [3, 'const x = z.container();\nx.bind(1).toConstant(2)'],
  [3, 'const x = z.command();\nx.command("a").description("b").option("c")'],
  [3, 'const x = z.graph();\n[1, 2].forEach((n) => x.link(n))'],
  [3, 'const x = z.graph();\nws.forEach(async ([n]) => await x.link(n).twice())'],
  [3, 'const x = z.graph();\nawait Promise.all(ws.map((n) => x.link(n)))'],
  [3, 'const x = z.engine();\nObject.entries({}).forEach(([n, f]) => x.registerHelper(n, f))'],
  [3, 'const x = z.net();\nconst stats = x.train([1])'],
]

const UNCHANGED: readonly string[] = [
  'const x = z.object(); const list = z.array(x); export { list }; export default x',
  'const x = z.object(); const all = []; all.push(x); all.length = 1',
  'const x = z.object(); const all = { x }; all.y = 1',
  'const x = z.object(); const all = new Map([[1, x]]); all.set(2, x)',
  'const x = z.object(); function price(s) { return s.parse(1) } console.log(price(x))',
  'const x = z.object(); const app = {}; app.use(x); app.port = 1',
  'const x = z.object(); class Service { constructor(l) { this.l = l } } new Service(x).y = 1',
  'const x = pino(); const child = x.child({}); child.info(1); x.info(1); console.log(x)',
  'const x = z.object(); function create(l) { return { run: () => l.info(1) } } create(x)',
  'const x = z.object(); run(() => x); function run(f) { f.done = 1 }',
  'const x = [z.object()]; const sorted = [...x].sort()',
  'const x = [1]; function f(x) { x.y = 1 } f([])',
  'const x = z.object(); const task = (v) => help(x, v)',
  'const x = [{}]; const y = x.slice(); y.push(1); y[0] = 2; x.filter(Boolean).sort()',
  'const x = new Map([[1, 2]]); const all = [...x.values()].sort(); for (let y of x.values()) y += 1',
  'const x = pino(); const y = x.get(1); y.n = 1',
  'const x = z.api(); x.get(1).then((r) => console.log(r)); x.list().forEach((r) => r.show())',
  'const x = z.object(); z.array(x).parse(1); z.array(x).min(1).parse(2)',
  'const x = z.object(); const all = [1, 2].map((n) => x.coerce(n)); const f = (n) => x.coerce(n)',
  'const x = z.object(); const all = await Promise.all([1].map((n) => x.coerce(n)))',
  'const x = z.object(); [1].forEach((n) => x.parse(n)); ws.on("a", (n) => x.coerce(n))',
  'const x = z.object(); const y = x.merge(x); const w = x.extend({})',
]

test('changes to the value of a variable, also through another variable, are found', () => {
  for (const [line, text] of CHANGED) {
    assert.equal(changesIn(text)?.own?.line, line, text)
  }
})

test('uses that only read it, keep it, or change something around it are not changes', () => {
  for (const text of UNCHANGED) assert.equal(changesIn(text)?.own, undefined, text)
})

test('a level gives the depth of the change', () => {
  const levelOf = (text: string): number | undefined => changesIn(text)?.own?.level
  assert.equal(levelOf('const x = {}; x.y = 1'), 0)
  assert.equal(levelOf('const x = {}; x.a.b.c = 1; x.y = 1'), 2)
  assert.equal(levelOf('const x = {}; const { a } = x; a.b = 1'), 1)
  assert.equal(levelOf('const x = {}; const all = [x]; all[0].b = 1'), 0)
})

test('changes in functions may come late, and others are at their last place', () => {
  const timesOf = (text: string): unknown => {
    const own = changesIn(text)?.own
    return own && [own.areLate, own.lastAt - IMPORTS.length]
  }
  assert.deepEqual(timesOf('const x = {}; x.y = 1; x.z = 2; f()'), [false, 23])
  assert.deepEqual(timesOf('const x = {}; const y = x; y.a.b = 1; x.z = 2'), [false, 38])
  assert.deepEqual(timesOf('const x = {}; const f = () => { x.y = 1 }; x.z = 2'), [true, 43])
})

test('functions of other modules that receive it are named, and the effects of those here are known', () => {
  const origin = { specifier: './help.js', form: 'import', path: ['help'] }
  const given = changesIn('const x = z.object()\nconst y = { x }\nconst r = help(1, y)')
  assert.deepEqual(given?.givenTo, [
    { origin, index: 1, distance: 1, line: 4, column: 10, isSuspect: true },
  ])
  const fn = changesIn('export function set(a, { b }, ...c) { b.x = 1; c[0].x = 1 }', 'set')
  const levels = fn?.parameters?.map((each) =>
    each.map(({ distance, changes }) => [distance, changes?.own?.level]),
  )
  assert.deepEqual(levels, [[[0, undefined]], [[-1, 0]], [[1, 1]]])
})

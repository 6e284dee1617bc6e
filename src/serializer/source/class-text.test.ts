import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluate, siteIn } from './site.kit.js'

function codeOfClass(text: string, before = ''): ReturnType<typeof siteIn>['code'] {
  const site = siteIn(`${before}\nconst C = ${text}`, text)
  assert.deepEqual(site.obstacles, [])
  return site.code
}

test('a class keeps the parts that make instances and loses the static parts', () => {
  const text = `class A {
  a = 1
  static b = effect();
  *c() { yield this.#d }
  #d = 4;
  static {
    effect()
  }
  [Symbol.iterator]() { return this.c() }
  static e() { return 'e' }
  static get f() { return 'f' }
  static #g() { return 'g' }
  static h
  static 'i' = 1; static [effect()] = 2
  static callG() { return this.#g() }
  get;
  static j = 1
}`
  const code = codeOfClass(text)
  assert.deepEqual(
    code.names.map(({ name }) => name),
    ['Symbol'],
  )
  assert.equal(code.expression.split('\n').length, text.split('\n').length)
  assert.ok(!code.expression.includes('effect'))
  const A = evaluate(code) as unknown as {
    new (): Record<string, unknown> & Iterable<number>
    e(): string
    f: string
    callG(): string
  }
  const instance = new A()
  assert.deepEqual(Object.keys(instance), ['a', 'get'])
  assert.deepEqual([...instance], [4])
  assert.deepEqual(Object.keys(A), [])
  assert.deepEqual([A.e(), A.f, A.callG()], ['e', 'f', 'g'])
})

test('the parent of a class is passed in under another name', () => {
  const text = `class A extends (
    effect(), Base
  ) { m() { return super.m() + Parent } constructor() { super(1) } }`
  const site = siteIn(`const Parent = 1; const Base = class {}; ${text}`, text)
  assert.deepEqual(
    site.freeNames.map(({ name }) => name),
    ['Parent'],
  )
  const { code } = site
  assert.equal(code.parentName, 'Parent1')
  assert.equal(code.expression.split('\n').length, text.split('\n').length)
  class Given {
    readonly given: number
    constructor(given: number) {
      this.given = given
    }
    m(): number {
      return this.given
    }
  }
  const A = evaluate(code, { Parent1: Given, Parent: 10 }) as unknown as new () => Given
  assert.equal(new A().m(), 11)
  assert.ok(new A() instanceof Given)
  assert.equal(site.classSite?.hasParent, true)
  assert.equal(site.classSite.extendsNull, false)
})

test('the parent of a class may contain await', () => {
  const parent = "(await import('a')).B"
  const text = `class A extends ${parent} {\n a = 1 }`
  const site = siteIn(text, text)
  assert.equal(site.code.expression, text.replace(parent, 'Parent'.padEnd(parent.length)))
  assert.deepEqual(site.freeNames, [])
  const key = 'class A { [await name()]() {} }'
  assert.deepEqual(siteIn(key, key).obstacles, [{ kind: 'class definition', line: 0, column: 11 }])
})

test('a class that extends null, or nothing, needs no parent', () => {
  const nothing = siteIn(
    'class A { m() { return super.toString } }',
    'class A { m() { return super.toString } }',
  )
  assert.equal(nothing.code.parentName, undefined)
  assert.equal(nothing.classSite?.hasParent, false)
  const text = 'class A extends null { static m() { return 1 } }'
  const site = siteIn(text, text)
  assert.equal(site.code.parentName, undefined)
  assert.equal(site.code.expression, text)
  assert.deepEqual([site.classSite?.hasParent, site.classSite?.extendsNull], [true, true])
})

test('private static fields are handed out when the class is defined', () => {
  const text = `class A {
    static #a = effect(
    )
    static #b
    static #c = 1; static d() { return [this.#a, A.#b, this.#c++] }
    #e
    get #f() { return 1 }
    set #f(v) {}
    #g() {}
    static #h() {}
  }`
  const site = siteIn(text, text)
  assert.deepEqual(site.classSite?.staticPrivates, ['#a', '#b', '#c'])
  assert.deepEqual(site.classSite.instancePrivates, ['#e', '#f', '#g'])
  assert.deepEqual(site.freeNames, [])
  assert.equal(site.code.adoptName, 'adopt')
  assert.equal(site.code.expression.split('\n').length, text.split('\n').length)
  interface Field {
    readonly name: string
    get(): unknown
    set(value: unknown): void
  }
  const fields = new Map<string, Field>()
  const adopt = (field: Field): void => void fields.set(field.name, field)
  const A = evaluate(site.code, { adopt }) as unknown as { d(): unknown }
  assert.deepEqual([...fields.keys()], ['#a', '#b', '#c'])
  assert.equal(fields.get('#a')?.get(), undefined)
  fields.get('#a')?.set('a')
  fields.get('#b')?.set('b')
  fields.get('#c')?.set(5)
  assert.deepEqual(A.d(), ['a', 'b', 5])
  assert.equal(fields.get('#c')?.get(), 6)
})

test('computed names may use constants, which are needed immediately', () => {
  const text = `class {
    [key]() { return later }
    [\`\${key}2\`] = 1;
    ['a' + 1]() {}
    static [names.b]() {}
    [Symbol.iterator]() {}
    static [effect()] = 1
  }`
  const code = codeOfClass(text, "const key = 'k', names = { b: 'B' }, later = 1")
  assert.deepEqual(
    code.names.map(({ name, isEarly }) => [name, isEarly]),
    [
      ['key', true],
      ['later', false],
      ['names', true],
      ['Symbol', true],
    ],
  )
  const C = evaluate(code, { key: 'k', names: { b: 'B' }, later: 5 }) as unknown as {
    new (): { k(): number; k2: number; a1(): void }
    B(): void
  }
  assert.equal(new C().k(), 5)
  assert.equal(new C().k2, 1)
  assert.equal(typeof C.B, 'function')
})

test('computed names that may change are an obstacle', () => {
  const before = 'let key = 1; key = 2; let cell; const change = () => { cell = 1 }\n'
  const lines = (text: string): unknown =>
    siteIn(before + text, text).obstacles.map(({ kind, line }) => [kind, line])
  assert.deepEqual(lines('class A {\n [call()]() {}\n [key] = 1;\n [cell]() {} }'), [
    ['class definition', 2],
    ['class definition', 3],
    ['class definition', 4],
  ])
  // The fields of an object that changes: methods have the names that they got.
  const text =
    'class A {\n [names.a] = 1;\n [names.a]() {}\n [fixed.a] = 1; [Symbol.iterator] = 1 }'
  const names =
    "const names = { a: 'x' }; const fixed = { a: 'y' }\nconst f = () => { names.a = 'z' }"
  const { obstacles } = siteIn(`${names}\n${text}`, text)
  assert.deepEqual(obstacles, [{ kind: 'class definition', line: 3, column: 2 }])
  assert.deepEqual(lines('class A { [this.x]() {} }'), [['class definition', 1]])
  assert.deepEqual(lines('class A { [(() => 1)()]() {} }'), [['class definition', 1]])
  assert.deepEqual(lines('class A { [`${{}.a = 1}`]() {} }'), [['class definition', 1]])
})

test('the name of a class means the class itself inside it', () => {
  const text = 'class A { m() { return A } static n = A }'
  const site = siteIn(`${text}; A = 1`, text)
  assert.deepEqual(site.freeNames, [])
  const A = evaluate(site.code) as unknown as new () => { m(): unknown }
  assert.equal(new A().m(), A)
})

test('classes inside a function stay unchanged', () => {
  const text = `() => class A extends B { static a = x; static { f() } static #b = 1; [g()]() {} }`
  const site = siteIn(`const x = 1; const fn = ${text}`, text)
  assert.deepEqual(site.obstacles, [])
  assert.equal(site.code.expression, text)
  assert.equal(site.classSite, undefined)
  assert.deepEqual(
    site.freeNames.map(({ name }) => name),
    ['B', 'x', 'f', 'g'],
  )
})

test('variables that closures change are cells inside classes, too', () => {
  const text = 'class A { a = x++; m() { return { x } } }'
  const site = siteIn(`let x = 1; ${text}`, text)
  assert.equal(site.code.expression, 'class A { a = x.v++; m() { return { x: x.v } } }')
})

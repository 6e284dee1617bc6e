import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usesOwner } from './site.js'

test('a function that reads `this` or calls `super` uses the object that it is called on', () => {
  for (const text of [
    'function f() { return this.a }',
    'function f() { "use strict"; return () => this.a }',
    'function f(a = this.a) { with (a) return b }',
    'm() { return this.a }',
    'get a() { return this.b }',
    'async *m() { yield super.m() }',
    'function f() { return class extends this.A { [this.b]() {} } }',
    'function f() { return __awaiter(this, void 0, void 0, function* () { return this.a }) }',
    'function f() { return __awaiter(this, void 0, void 0, g) }',
    'function f() { return this[[[ }',
  ]) {
    assert.equal(usesOwner(text), true, text)
  }
})

test('a function that only has functions and classes with a `this` of their own does not', () => {
  for (const text of [
    'function f() { return 1 }',
    'function f() { return "this is a text" /* super */ }',
    'function f() { return function () { return this.a } }',
    'function f() { return { m() { return super.m() } } }',
    'function f() { return class { a = this; m() { return this.a } } }',
    '() => this.a',
    'class { m() { return this.a } }',
    'function f() { return __awaiter(this, void 0, void 0, function* () { return 1 }) }',
  ]) {
    assert.equal(usesOwner(text), false, text)
  }
})

// Functions and classes as in the days before modules. This file is not strict.

const assert = require('node:assert/strict')

function factorial(n) {
  return n <= 1 ? 1 : n * factorial(n - 1)
}

function Point(x, y) {
  this.x = x
  this.y = y
}
Point.prototype.norm = function () {
  return Math.hypot(this.x, this.y)
}
Point.origin = new Point(0, 0)

function Named(name) {
  Point.call(this, 3, 4)
  this.name = name
}
require('util').inherits(Named, Point)

function globalThisHere() {
  return this
}

function asksForStrictness() {
  'use strict'
  return this
}

function boxes() {
  return typeof this
}

function aliased(a) {
  arguments[0] = 'changed'
  return a
}

function leaks() {
  matrixLeaked = 'leaked'
  return [matrixLeaked, typeof globalThis.matrixLeaked]
}

const fixed = Object.freeze({ value: 1 })
function writesSilently() {
  fixed.value = 2
  return fixed.value
}

function hoists() {
  var seen = typeof inner
  if (seen === 'undefined') {
    function inner() {
      return 'inner'
    }
  }
  return [seen, inner()]
}

function search(table, wanted) {
  rows: for (var i = 0; i < table.length; i++) {
    for (var j = 0; j < table[i].length; j++) {
      if (table[i][j] < 0) continue rows
      if (table[i][j] === wanted) break rows
    }
  }
  return [i, j]
}

var legacy = 017
function replaced() {
  return 'first'
}
replaced = (function (before) {
  return function () {
    return before() + ' second'
  }
})(replaced)

function makeCounter() {
  var count = 0
  return {
    increment: function () {
      return (count += 1)
    },
    get: function () {
      return count
    },
  }
}

var total = 0
function addToTotal(n) {
  total += n
  return readTotal()
}
function readTotal() {
  return total
}

class Base {
  #hidden = 1
  field = legacy
  hidden() {
    return this.#hidden
  }
}
class Derived extends Base {
  hidden() {
    return super.hidden() + this.field
  }
}

async function* pages() {
  yield* [1, 2]
}

function evaluates(x) {
  return eval('x + legacy')
}

exports.cases = [
  { name: 'cjs: recursion', fn: factorial, args: [5], want: 120, isSmoke: true },
  {
    name: 'cjs: old prototypes',
    fn: function () {
      return [new Point(3, 4).norm(), Point.origin.norm(), new Point(1, 1) instanceof Point]
    },
    want: [5, 0, true],
  },
  {
    name: 'cjs: util.inherits',
    fn: function () {
      var one = new Named('n')
      return [one.norm(), one.name, one instanceof Point, Named.super_ === Point]
    },
    want: [5, 'n', true, true],
  },
  {
    name: 'cjs: this is globalThis',
    fn: function () {
      return globalThisHere() === globalThis
    },
    want: true,
    needs: ['sloppy'],
  },
  {
    name: 'cjs: a strict function in a file that is not',
    fn: () => asksForStrictness() === undefined,
    want: true,
  },
  { name: 'cjs: this is boxed', fn: () => boxes.call(5), want: 'object', needs: ['sloppy'] },
  {
    name: 'cjs: arguments are parameters',
    fn: aliased,
    args: [1],
    want: 'changed',
    needs: ['sloppy'],
  },
  {
    name: 'cjs: arguments.callee',
    fn: function (n) {
      return n < 2 ? 1 : n * arguments.callee(n - 1)
    },
    args: [4],
    want: 24,
    needs: ['sloppy'],
  },
  {
    name: 'cjs: assignment to an undeclared name',
    fn: leaks,
    want: ['leaked', 'string'],
    needs: ['sloppy'],
  },
  { name: 'cjs: silent failures', fn: writesSilently, want: 1, needs: ['sloppy'] },
  { name: 'cjs: functions in blocks', fn: hoists, want: ['undefined', 'inner'], needs: ['sloppy'] },
  {
    name: 'cjs: labels',
    fn: search,
    args: [
      [
        [1, -1],
        [2, 3],
      ],
      3,
    ],
    want: [1, 1],
  },
  { name: 'cjs: var', fn: () => legacy, want: 15 },
  { name: 'cjs: a function that was replaced', fn: () => replaced(), want: 'first second' },
  {
    name: 'cjs: two closures over one var',
    scenario: async function (ship) {
      const counter = makeCounter()
      const fn = () => [counter.increment(), counter.increment(), counter.get()]
      assert.deepEqual(await ship(fn), [1, 2, 2])
    },
    mayBeRefused: /./,
  },
  {
    name: 'cjs: shared variable of the file',
    fn: () => [addToTotal(1), addToTotal(2), readTotal()],
    want: [1, 3, 3],
  },
  { name: 'cjs: classes', fn: () => new Derived().hidden(), want: 16 },
  {
    name: 'cjs: async generator',
    fn: async function () {
      const seen = []
      for await (const page of pages()) seen.push(page)
      return seen
    },
    want: [1, 2],
  },
  { name: 'cjs: direct eval', fn: evaluates, args: [1], want: 16, mayBeRefused: /eval/ },
]

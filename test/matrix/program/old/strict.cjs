// CommonJS files and functions that ask for strictness.

'use strict'

const assert = require('node:assert/strict')

function assigns() {
  matrixUndeclared = 1
}

function self() {
  return this
}

const box = Object.freeze({ value: 1 })

exports.cases = [
  { name: 'cjs: strict this', fn: () => self() === undefined, want: true },
  {
    name: 'cjs: strict assignment to an undeclared name',
    fn: assigns,
    throws: (thrown) => assert.ok(thrown instanceof ReferenceError),
  },
  {
    name: 'cjs: strict write to a frozen object',
    fn: () => {
      box.value = 2
    },
    throws: (thrown) => assert.ok(thrown instanceof TypeError),
  },
]

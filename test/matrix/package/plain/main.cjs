// A package in CommonJS.

'use strict'

exports.add = (a, b) => a + b
exports.multiply = function multiply(a, b) {
  return a * b
}

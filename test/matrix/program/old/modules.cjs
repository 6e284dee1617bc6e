// require, exports, and what else the wrapper of a CommonJS file gives. This file is not strict.

const assert = require('node:assert/strict')
const fs = require('fs')
const path = require('node:path')
const { readFileSync, readFile } = require('fs')
const { join: glue } = path
const { promisify } = require('util')
const plain = require('matrix-plain')
const { multiply } = require('matrix-plain')
const modern = require('matrix-modern')
const sibling = require('./sibling.cjs')
const { increase } = require('./sibling.cjs')
const { ping } = require('./ping.cjs')
const config = require('./config.json')

const readLater = promisify(readFile)
const lineFeed = require('os').EOL

exports.double = function (x) {
  return 2 * x
}
exports.quadruple = function (x) {
  return exports.double(exports.double(x))
}
const viaModule = (x) => module.exports.double(x) + 1

const process = { pid: 'mine' }
const console = 'shadowed'

exports.cases = [
  { name: 'cjs: fs module object', fn: () => fs.existsSync('/'), want: true, isSmoke: true },
  { name: 'cjs: destructured built-in', fn: () => readFileSync('/dev/null').length, want: 0 },
  { name: 'cjs: renamed part of a built-in', fn: () => glue('a', 'b'), want: 'a' + path.sep + 'b' },
  { name: 'cjs: require of a property', fn: () => lineFeed.length > 0, want: true },
  {
    name: 'cjs: promisify(fs.readFile)',
    fn: async () => (await readLater('/dev/null')).length,
    want: 0,
    mayBeRefused: /./,
  },
  { name: 'cjs: package', fn: () => plain.add(1, multiply(2, 3)), want: 7 },
  { name: 'cjs: package of ES modules', fn: () => modern.makeAdder(1)(1), want: 2 },
  {
    name: 'cjs: exports of a sibling',
    fn: () => [sibling.increase(1), increase(2)],
    want: [11, 12],
  },
  {
    name: 'cjs: state of a sibling',
    scenario: async function (ship) {
      sibling.setStep(100)
      assert.deepEqual(await ship(() => [increase(1), sibling.readStep()]), [101, 100])
      sibling.setStep(10)
      assert.deepEqual(await ship(() => [increase(1), sibling.readStep()]), [11, 10])
    },
  },
  { name: 'cjs: files that require each other', fn: ping, args: [2], want: 'ping pong ping' },
  { name: 'cjs: a required JSON file', fn: () => config.list[1], want: 2 },
  // A bundle hides which object is the exports of a file: then all of them travel, or are refused.
  {
    name: 'cjs: exports inside a function',
    fn: exports.quadruple,
    args: [2],
    want: 8,
    mayBeRefused: /./,
  },
  {
    name: 'cjs: module.exports inside a function',
    fn: viaModule,
    args: [2],
    want: 5,
    mayBeRefused: /./,
  },
  { name: 'cjs: require of a built-in inside', fn: () => require('path').posix.sep, want: '/' },
  {
    name: 'cjs: require of a package inside',
    fn: () => require('matrix-plain').add(1, 1),
    want: 2,
  },
  {
    name: 'cjs: require of a sibling inside',
    fn: () => require('./sibling.cjs').twice(4),
    want: 8,
  },
  {
    name: 'cjs: require.resolve inside',
    scenario: async function (ship) {
      const resolve = () => require.resolve('./sibling.cjs')
      assert.equal(await ship(resolve), resolve())
    },
    needs: ['files'],
  },
  {
    name: 'cjs: __filename and __dirname',
    scenario: async function (ship) {
      assert.deepEqual(await ship(() => [__filename, __dirname]), [__filename, __dirname])
    },
    needs: ['files'],
  },
  {
    name: 'cjs: import() inside',
    fn: async () => (await import('node:path')).posix.sep,
    want: '/',
  },
  { name: 'cjs: global shadowing', fn: () => [process.pid, console], want: ['mine', 'shadowed'] },
]

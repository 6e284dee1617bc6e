import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastLineOf } from './death.js'

const REPORT = `/app/price.js:3
  throw new RangeError('late')
  ^

RangeError: late
    at price (/app/price.js:3:9) {
  code: 'E'
}

Node.js v20.20.2
`

test('the last line of a process is what it said, not what Node adds to that', () => {
  const cases: readonly (readonly [stderr: string, line: string])[] = [
    ['', ''],
    ['\n \n', ''],
    ['one\ntwo\n', 'two'],
    ['one\r\n  two  \r\n\r\n', 'two'],
    [REPORT, 'RangeError: late'],
    [`before\n${REPORT}`, 'RangeError: late'],
    [`TypeError: logged\nlast words\n`, 'last words'],
    [
      `x:1\n[UnhandledPromiseRejection: This error]\n\nNode.js v22.1.0\n`,
      '[UnhandledPromiseRejection: This error]',
    ],
    [`x:1\nUncaught:\n'text'\n\nNode.js v22.1.0\n`, 'Uncaught:'],
    ['Node.js v20.20.2\n', ''],
    ['x\n----- Native stack trace -----\n\n 1: 0xd3a3c0  [/usr/bin/node]\n\n', 'x'],
    ['x'.repeat(1_000), 'x'.repeat(400)],
  ]
  for (const [stderr, line] of cases) assert.equal(lastLineOf(stderr), line)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { parseToml } from './toml.js'

const SLIPS: readonly (readonly [text: string, place: string, advice: string])[] = [
  ['[cluster', '1:2', ' (write a section as [NAME])'],
  ['[cluster]\naddress tcp://a:1', '2:9', ' (write a setting as KEY = VALUE)'],
  ['[cluster]\naddress = tcp://a:1', '2:11', ' (write text in quotes)'],
  ['[cluster]\nprotected = True', '2:13', ' (write a switch as true or false, in lower case)'],
  [
    '[cluster]\npath = "C:\\Users"',
    '2:13',
    ' (write a backslash in "…" as \\\\; in \'…\' it is literal)',
  ],
  ['[cluster]\nname = "a', '2:8', ''],
]

for (const [text, place, advice] of SLIPS) {
  test(`an error says where it is and what was meant: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseToml('f.toml', text),
      (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.ok(error.message.startsWith(`f.toml:${place}: `), error.message)
        const ending = error.message.slice(`f.toml:${place}: `.length)
        assert.match(ending, /^[a-z: -]+(?: \(.*\))?$/)
        assert.ok(ending.endsWith(advice) && (advice !== '' || !ending.endsWith(')')), ending)
        return true
      },
    )
  })
}

test('valid TOML is parsed', () => {
  const tables = parseToml('f.toml', 'a = 1\n[b]\nc = ["d"]')
  assert.equal(JSON.stringify(tables), '{"a":1,"b":{"c":["d"]}}')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { parseToml } from './toml.js'

const SLIPS: readonly (readonly [text: string, place: string, advice: string])[] = [
  ['[cluster', '1:2', ' (a section is written [NAME])'],
  ['[cluster]\naddress tcp://a:1', '2:9', ' (a setting is written KEY = VALUE)'],
  ['[cluster]\naddress = tcp://a:1', '2:11', ' (text is written in quotes)'],
  ['[cluster]\nprotected = True', '2:13', ' (a switch is true or false, in small letters)'],
  [
    '[cluster]\npath = "C:\\Users"',
    '2:13',
    ' (a backslash in "…" is written \\\\; in \'…\' it stands for itself)',
  ],
  ['[cluster]\nname = "a', '2:8', ''],
]

for (const [text, place, advice] of SLIPS) {
  test(`an error says where it is and what is meant: ${JSON.stringify(text)}`, () => {
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

test('what is TOML is parsed', () => {
  const tables = parseToml('f.toml', 'a = 1\n[b]\nc = ["d"]')
  assert.equal(JSON.stringify(tables), '{"a":1,"b":{"c":["d"]}}')
})

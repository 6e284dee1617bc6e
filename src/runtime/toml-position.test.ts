import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tomlPosition, type TomlPath } from './toml.js'

const TEXT = `# level = 1
top = "x" # [not] = 1
 a.b."c d" = [ # ]
  "]", '''
not = 1
''', { y = 1 },
] # end
[scheduler]
worker-timeout-seconds = 3
text = """
[cluster]
workers = 1 \\"""
"""
'quoted "key"' = 1

  [ cluster . deep ]
  workers = 2
[[output]]
path = "a"
[output.inner]
z = 1
[[ output ]]
  path = "b"
inline = { path = 1 }\r
after = 1979-05-27 07:32:00`

function lineAndColumn(...path: TomlPath): string {
  const position = tomlPosition(TEXT, path)
  return position === undefined ? 'nowhere' : `${position.line}:${position.column}`
}

test('keys and tables are located', () => {
  assert.equal(lineAndColumn('top'), '2:1')
  assert.equal(lineAndColumn('a', 'b', 'c d'), '3:2')
  assert.equal(lineAndColumn('scheduler'), '8:1')
  assert.equal(lineAndColumn('scheduler', 'worker-timeout-seconds'), '9:1')
  assert.equal(lineAndColumn('scheduler', 'quoted "key"'), '14:1')
  assert.equal(lineAndColumn('cluster', 'deep'), '16:3')
  assert.equal(lineAndColumn('cluster', 'deep', 'workers'), '17:3')
})

test('elements of arrays of tables are distinguished', () => {
  assert.equal(lineAndColumn('output'), '18:1')
  assert.equal(lineAndColumn('output', 0, 'path'), '19:1')
  assert.equal(lineAndColumn('output', 0, 'inner', 'z'), '21:1')
  assert.equal(lineAndColumn('output', 1), '22:1')
  assert.equal(lineAndColumn('output', 1, 'path'), '23:3')
  assert.equal(lineAndColumn('output', 1, 'after'), '25:1')
})

test('a nested value is located where its container begins', () => {
  assert.equal(lineAndColumn('output', 1, 'inline', 'path'), '24:1')
  assert.equal(lineAndColumn('a', 'b', 'c d', 2, 'y'), '3:2')
})

test('text in comments and strings is not a key', () => {
  assert.equal(lineAndColumn('not'), 'nowhere')
  assert.equal(lineAndColumn('level'), 'nowhere')
  assert.equal(lineAndColumn('cluster', 'workers'), lineAndColumn('cluster'))
})

test('text that is not TOML ends the search', () => {
  assert.equal(tomlPosition('= 3', ['b']), undefined)
  assert.equal(tomlPosition('[a', ['b']), undefined)
  assert.equal(tomlPosition('', ['b']), undefined)
})

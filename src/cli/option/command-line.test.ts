import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyOptionTable } from '../../base/option.js'
import { finished, type CommandDefinition, type Positional } from '../command.js'
import { readCommandLine } from './command-line.js'
import { flagsOf } from './flag.js'

const TABLE: AnyOptionTable = {
  workers: {
    type: { kind: 'integer', min: 1, max: 9 },
    description: '',
    flag: 'num-of-workers',
    short: ['-n'],
  },
  waitMs: {
    type: { kind: 'duration', min: 100, max: 60_000 },
    description: '',
    flag: 'wait-seconds',
    short: ['-ws'],
  },
  waitTimes: {
    type: { kind: 'integer', min: -1, max: 9 },
    description: '',
    flag: 'wait-times',
    short: ['-wst'],
  },
  protected: {
    type: { kind: 'boolean' },
    description: '',
    flag: 'protected',
    short: ['-p'],
  },
  paths: {
    type: { kind: 'list', separator: 'words' },
    description: '',
    flag: 'logging-paths',
    short: ['-lp'],
  },
  names: { type: { kind: 'list', separator: 'commas' }, description: '', flag: 'names' },
  loop: {
    type: { kind: 'choice', choices: ['builtin', 'uvloop'] },
    description: '',
    flag: 'event-loop',
    short: ['-e', '-el'],
  },
}

const ADDRESS: readonly Positional[] = [{ name: 'address', description: '' }]

function definitionOf(positionals: readonly Positional[]): CommandDefinition {
  return {
    name: 'try',
    summary: '',
    positionals,
    tables: [TABLE],
    examples: [],
    hasLog: false,
    start: () => Promise.resolve(finished()),
  }
}

/** The words of a command line, and its options by their names in code. */
function read(line: readonly string[], positionals = ADDRESS): readonly [string[], object] {
  const definition = definitionOf(positionals)
  const { positionals: words, options } = readCommandLine(line, flagsOf(definition), positionals)
  const values = [...options].map(([name, { value }]) => [name, value] as const)
  return [[...words], Object.fromEntries(values)]
}

const RIGHT: readonly (readonly [string, readonly string[], readonly string[], object])[] = [
  ['long flags', ['--num-of-workers', '4', 'x'], ['x'], { workers: 4 }],
  ['long flags with =', ['--num-of-workers=4'], [], { workers: 4 }],
  ['abbreviated long flags', ['--num', '4', '--prot'], [], { workers: 4, protected: true }],
  ['an abbreviation of only one flag that has a short name', ['--n', '4'], [], { workers: 4 }],
  ['a flag that starts with another flag', ['-ws', '1'], [], { waitMs: 1_000 }],
  ['short flags', ['-n', '4'], [], { workers: 4 }],
  ['a value right after a letter', ['-n4'], [], { workers: 4 }],
  ['a value after a letter and =', ['-n=4'], [], { workers: 4 }],
  ['short flags of several letters', ['-wst', '3', '-ws=0.5'], [], { waitTimes: 3, waitMs: 500 }],
  ['a longer flag before a letter with a value', ['-el', 'uvloop'], [], { loop: 'uvloop' }],
  ['a letter with a word as its value', ['-euvloop'], [], { loop: 'uvloop' }],
  ['negative numbers as values', ['-wst', '-1'], [], { waitTimes: -1 }],
  ['negative numbers as words', ['-5'], ['-5'], {}],
  ['a lone dash as a word', ['-'], ['-'], {}],
  ['a switch', ['-p', 'x'], ['x'], { protected: true }],
  ['a switch that is off', ['-p', 'False', 'x'], ['x'], { protected: false }],
  ['a switch that is off after =', ['--protected=no'], [], { protected: false }],
  ['a switch with 1', ['--protected', '1'], [], { protected: true }],
  ['no words for a list', ['-lp', '-p'], [], { paths: [], protected: true }],
  ['a list up to an address', ['-lp', 'a', 'b', 'tcp://x:1'], ['tcp://x:1'], { paths: ['a', 'b'] }],
  ['a list of one after =', ['--logging-paths=a', 'b'], ['b'], { paths: ['a'] }],
  ['comma-separated lists', ['--names', 'a, b,c'], [], { names: ['a', 'b', 'c'] }],
  ['the last of two', ['-n', '1', '-n', '2'], [], { workers: 2 }],
  ['words after --', ['--', '-p', '--', 'x'], ['-p', '--', 'x'], {}],
]

for (const [what, line, words, options] of RIGHT) {
  test(`a command line can have ${what}`, () => assert.deepEqual(read(line), [words, options]))
}

const WRONG: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['an unknown flag', ['--protcted'], /^unknown option --protcted; is it --protected\?$/],
  [
    'a flag with swapped letters',
    ['--portected'],
    /^unknown option --portected; is it --protected\?$/,
  ],
  ['an unknown flag with a value', ['--nm=1'], /^unknown option --nm/],
  ['an unknown short flag', ['-x'], /^unknown option -x$/],
  ['an unknown long flag of a letter', ['--y'], /^unknown option --y$/],
  ['a long flag with one dash', ['-protected'], /^unknown option -protected; is it --protected\?$/],
  ['a switch followed by letters', ['-px'], /^unknown option -px/],
  ['an ambiguous flag', ['--wait', '1'], /--wait is ambiguous: --wait-seconds, --wait-times$/],
  ['a flag without its value', ['-n'], /^-n \(--num-of-workers\): expected a value$/],
  [
    'a flag instead of a value',
    ['-n', '-p'],
    /^-n \(--num-of-workers\): expected a value, got -p$/,
  ],
  [
    'a key instead of its file',
    ['-n', '-----BEGIN PRIVATE KEY-----'],
    /^-n \(--num-of-workers\): expected a value, got other text$/,
  ],
  ['a value out of bounds', ['-n', '10'], /^-n \(--num-of-workers\): .* from 1 to 9, got "10"$/],
  [
    'a value that makes no sense',
    ['--wait-s', 'soon'],
    /^--wait-seconds: expected seconds from 0.1 to 60/,
  ],
  ['an unknown choice', ['-e', 'uvlop'], /^-e \(--event-loop\): .*; is it uvloop\?$/],
  ['a switch with an unknown value', ['--protected=maybe'], /^--protected: expected true or false/],
]

for (const [what, line, message] of WRONG) {
  test(`a command line is refused with ${what}`, () => {
    assert.throws(() => read(line), { code: 'ERR_SCALER_CONFIG', message })
  })
}

test('an address is a word or a flag, whichever a command prefers', () => {
  const place: Positional = { name: 'address', description: '', env: 'ADDRESS' }
  for (const line of [
    ['x', 'tcp://x:1', 'y'],
    ['--address', 'tcp://x:1', 'x', 'y'],
    ['x', 'y', '--address=tcp://x:1'],
  ]) {
    const positionals = [
      { name: 'first', description: '' },
      place,
      { name: 'last', description: '' },
    ]
    assert.deepEqual(read(line, positionals), [['x', 'tcp://x:1', 'y'], {}])
  }
  const task: Positional = { name: 'task', description: '', takesAddress: true }
  for (const line of [
    ['abcd', 'tcp://x:1'],
    ['ipc:///x', 'abcd'],
  ]) {
    const address = line.find((word) => word !== 'abcd')
    assert.deepEqual(read(line, [task]), [['abcd'], { address }])
  }
})

test('a list of words ends before an address, with or without tcp://', () => {
  for (const address of ['tcp://127.0.0.1:2345', '127.0.0.1:2345', 'host.example:1', '*:2345']) {
    const [words, options] = read(['--logging-paths', 'a.log', 'b:log', address])
    assert.deepEqual(words, [address])
    assert.deepEqual(Object.values(options), [['a.log', 'b:log']])
  }
})

test('words after a script belong to the script', () => {
  const positionals: readonly Positional[] = [
    { name: 'file', description: '' },
    { name: 'args', description: '', isOptional: true, isVariadic: true, isVerbatim: true },
  ]
  const line = ['-n', '2', 'a.js', '-n', '3', '--help', '--', '-p']
  assert.deepEqual(read(line, positionals), [
    ['a.js', '-n', '3', '--help', '--', '-p'],
    { workers: 2 },
  ])
})

test('a switch before arguments takes none of them as its value', () => {
  const positionals: readonly Positional[] = [{ name: 'args', description: '', isVariadic: true }]
  assert.deepEqual(read(['-p', 'false', '1'], positionals), [['false', '1'], { protected: true }])
})

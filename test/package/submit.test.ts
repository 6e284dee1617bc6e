// `scaler submit`: one function of a file, JSON in and out.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { SchedulerClusterCombo } from 'scaler-ts'
import { runCommand, startCommand, type CommandEnd } from './command.js'
import { writeScript } from './script.js'
import { freeAddress } from './wrong-server.js'

const MODULE = `
const greeting = 'hello '
export const add = (a, b) => a + b
export default (name) => greeting + name
export const types = (...args) => args.map((arg) => typeof arg)
export const nothing = () => {}
export const big = () => 10n
export const table = () => ({ rows: [new Map()] })
export const later = async () => [await new Promise((resolve) => setTimeout(resolve, 1, 'yes'))]
export function boom(what) { throw new RangeError('no ' + what, { cause: new TypeError('inner') }) }
export const throwText = () => { throw 'just text' }
export const forever = () => new Promise(() => setInterval(() => {}, 1e6))
export const PI = 3
`

let combo: SchedulerClusterCombo
before(async () => {
  combo = await SchedulerClusterCombo.start({ workers: 1 })
})
after(() => combo.shutdown())

function submit(
  t: TestContext,
  name: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<CommandEnd> {
  const target = `${writeScript(t, MODULE)}${name === '' ? '' : `#${name}`}`
  const env = { SCALER_ADDRESS: combo.address }
  return runCommand(t, 'scaler', ['submit', ...flags, target, ...args], env)
}

const RESULTS: readonly (readonly [string, readonly string[], string])[] = [
  ['add', ['1', '-2'], '-1'],
  ['add', ['1', '"2"'], '"12"'],
  ['', ['world'], '"hello world"'],
  ['types', ['1', 'a', 'true', '{"a":1}', ''], '["number","string","boolean","object","string"]'],
  ['nothing', [], 'null'],
  ['later', [], '["yes"]'],
]

for (const [name, args, expected] of RESULTS) {
  test(`arguments are JSON or text, the result is JSON: ${name}(${args.join(', ')})`, async (t) => {
    const end = await submit(t, name, args)
    assert.deepEqual(end, { code: 0, signal: null, stdout: `${expected}\n`, stderr: '' })
  })
}

test('the arguments may come from stdin, as a JSON list', async (t) => {
  const target = `${writeScript(t, MODULE)}#add`
  const args = ['submit', '--address', combo.address, target, '-']
  const command = startCommand(t, 'scaler', args, { SCALER_ADDRESS: '' })
  command.child.stdin?.end('["a",\n"b"]\n')
  const end = await command.ended
  assert.deepEqual(end, { code: 0, signal: null, stdout: '"ab"\n', stderr: '' })
})

test('the address for monitors leads to the scheduler', async (t) => {
  const env = { SCALER_ADDRESS: combo.monitorAddress }
  const target = `${writeScript(t, MODULE)}#add`
  const end = await runCommand(t, 'scaler', ['submit', target, '1', '2'], env)
  assert.deepEqual(end, { code: 0, signal: null, stdout: '3\n', stderr: '' })
})

test('an error of the function goes to stderr with its stack there', async (t) => {
  const { code, stdout, stderr } = await submit(t, 'boom', ['way'])
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
  assert.match(stderr, /^RangeError: no way\n +at boom \(file:.*script\.mjs:10:\d+\)/)
  assert.match(stderr, /\[cause\]: TypeError: inner/)
  assert.doesNotMatch(stderr, /dist\/cli/)
  const text = await submit(t, 'throwText')
  assert.deepEqual([text.code, text.stderr], [1, "scaler submit: the function threw 'just text'\n"])
})

test('a result that JSON cannot represent is one line that names the place', async (t) => {
  for (const [name, place] of [
    ['big', 'result is a bigint'],
    ['table', 'result.rows[0] is a Map'],
  ] as const) {
    const end = await submit(t, name)
    const text = `scaler submit: the result cannot be represented as JSON: ${place}; return plain values\n`
    assert.deepEqual(end, { code: 1, signal: null, stdout: '', stderr: text })
  }
})

test('the options of tasks take effect', async (t) => {
  const { code, stderr } = await submit(t, 'forever', [], ['--task-timeout-seconds', '0.05'])
  assert.equal(code, 1)
  assert.match(stderr, /^scaler submit: [^\n]*50 ms[^\n]*\n$/)
})

test('a signal cancels the task and ends the command', async (t) => {
  await using own = await SchedulerClusterCombo.start({ workers: 1 })
  const started = `export const forever = () => {
    console.log('begun')
    return new Promise(() => setInterval(() => {}, 1e6))
  }`
  const args = ['submit', '--address', own.address, `${writeScript(t, started)}#forever`]
  const command = startCommand(t, 'scaler', args, { SCALER_ADDRESS: '' })
  await hasTask(own.monitorAddress)
  command.child.kill('SIGINT')
  assert.deepEqual(await command.ended, { code: 130, signal: null, stdout: '', stderr: '' })
})

test('a module with an await that never settles is one line and exit code 1', async (t) => {
  const script = writeScript(t, 'await new Promise(() => {}); export default () => 1')
  const args = ['submit', '--address', combo.address, script]
  const end = await runCommand(t, 'scaler', args, { SCALER_ADDRESS: '' })
  const stderr = `scaler submit: cannot load ${script}: its top-level await never settles\n`
  assert.deepEqual(end, { code: 1, signal: null, stdout: '', stderr })
})

test('a missing scheduler is one line and exit code 1', async (t) => {
  const args = ['--address', await freeAddress(), '--timeout-seconds', '0.2']
  const { code, stdout, stderr } = await submit(t, 'add', ['1', '2'], args)
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
  assert.match(stderr, /^scaler submit: no scheduler at [^\n]*\n$/)
})

test('the error for a module that cannot be loaded has its stack', async (t) => {
  const target = `${writeScript(t, 'throw new RangeError("mine")')}#add`
  const args = ['submit', '--address', combo.address, target]
  const { code, stderr } = await runCommand(t, 'scaler', args)
  assert.equal(code, 1)
  assert.match(stderr, /^scaler submit: cannot load .*script\.mjs: RangeError: mine\n +at /)
})

const WRONG_USAGE: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['ad', [], /script\.mjs has no export "ad"; is it add\?/],
  ['PI', [], /the export PI of .*script\.mjs is not a function \(found 3\)/],
  ['add', ['{a: 1}'], /argument 1 is not valid JSON: /],
  ['', ['--no-such-flag'], /unknown option --no-such-flag/],
]

for (const [name, args, expected] of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${name} ${args.join(' ')}`, async (t) => {
    const { code, stdout, stderr } = await submit(t, name, args)
    assert.match(stderr, /^scaler submit: [^\n]+\n$/)
    assert.match(stderr, expected)
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
  })
}

test('without an address the error says how to give one', async (t) => {
  const target = `${writeScript(t, MODULE)}#add`
  const { code, stderr } = await runCommand(t, 'scaler', ['submit', target], { SCALER_ADDRESS: '' })
  assert.equal(code, 2)
  assert.match(stderr, /^scaler submit: [^\n]*--address[^\n]*SCALER_ADDRESS[^\n]*\n$/)
})

/** Resolves once a worker has a task. */
async function hasTask(monitorAddress: string): Promise<void> {
  const { readMonitor } = await import('#src/client/connect/probe.js')
  for (;;) {
    const view = await readMonitor(monitorAddress, 60_000)
    if (view !== undefined && view.runningTasks > 0) return
  }
}

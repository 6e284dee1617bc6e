import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadAllCommands } from './commands.js'
import { flagsOf, settableFlags, variableOf } from './option/flag.js'
import { commandHelp, overviewHelp, styleOf } from './help.js'

const PLAIN = { width: 80, color: false }

test('the help of a command shows its flags, their defaults, bounds and variables', async () => {
  for (const definition of await loadAllCommands()) {
    const help = commandHelp(definition, `scaler ${definition.name}`, PLAIN)
    assert.ok(help.startsWith(`Usage: scaler ${definition.name} [options]`))
    // Only indentation tells wrapped lines apart from others.
    const text = help.replaceAll(/\s+/g, ' ')
    for (const { key, short, spec } of flagsOf(definition)) {
      assert.ok(text.includes(` ${[...short, `--${key}`].join(', ')} `), key)
      assert.ok(text.includes(spec.description), key)
    }
    for (const flag of settableFlags(flagsOf(definition)))
      assert.ok(help.includes(variableOf(flag)))
    for (const example of definition.examples) assert.ok(help.includes(`$ ${example}`), example)
  }
})

test('defaults and bounds are in the units of the command line', async () => {
  const [scheduler] = await loadAllCommands()
  assert.ok(scheduler)
  const help = commandHelp(scheduler, 'scaler_scheduler', PLAIN)
  assert.match(help, /\[default: 60; 0\.1 to 86400; SCALER_WORKER_TIMEOUT_SECONDS\]/)
  assert.match(help, /\[default: port \+ 2; SCALER_MONITOR_ADDRESS\]/)
})

test('help and its examples use the name by which the command was called', async () => {
  const [scheduler] = await loadAllCommands()
  assert.ok(scheduler)
  const help = commandHelp(scheduler, 'scaler_scheduler', PLAIN)
  assert.match(help, /^Usage: scaler_scheduler /)
  assert.match(help, /\$ scaler_scheduler tcp:/)
})

test('help fits the terminal, except for command lines', async () => {
  for (const width of [50, 80, 100]) {
    for (const definition of await loadAllCommands()) {
      const lines = commandHelp(definition, 'scaler x', { width, color: false }).split('\n')
      const texts = lines.filter((line) => !/^ +(\$|-)|^Usage:/.test(line))
      for (const line of texts) assert.ok(line.length < width || !line.trim().includes(' '), line)
    }
  }
})

test('the help of scaler names all commands', async () => {
  const definitions = await loadAllCommands()
  const help = overviewHelp('scaler', definitions, PLAIN)
  for (const { name, summary } of definitions) {
    assert.match(help, new RegExp(`^  ${name} `, 'm'))
    assert.ok(help.replaceAll(/\s+/g, ' ').includes(summary), summary)
  }
  assert.ok(!help.includes('\u001b'))
})

test('headings are bold if colours are enabled', async () => {
  assert.match(
    overviewHelp('scaler', await loadAllCommands(), { width: 80, color: true }),
    /\u001b/,
  )
})

test('no two flags of a command have the same name', async () => {
  for (const definition of await loadAllCommands()) {
    const names = flagsOf(definition).flatMap(({ key, short }) => [`--${key}`, ...short])
    assert.deepEqual(names, [...new Set(names)], definition.name)
    const inCode = flagsOf(definition).map(({ name }) => name)
    assert.deepEqual(inCode, [...new Set(inCode)], definition.name)
  }
})

test('colours follow FORCE_COLOR, NO_COLOR and the terminal, in this order', () => {
  const terminal = { isTTY: true, columns: 132, hasColors: () => true }
  assert.deepEqual(styleOf(terminal, {}), { width: 132, color: true })
  assert.deepEqual(styleOf(terminal, { NO_COLOR: '1' }), { width: 132, color: false })
  assert.equal(styleOf(terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }).color, true)
  assert.equal(styleOf(terminal, { FORCE_COLOR: '0' }).color, false)
  assert.deepEqual(styleOf({}, {}), { width: 80, color: false })
  assert.deepEqual(styleOf({ isTTY: true, columns: 0 }, {}), { width: 80, color: false })
  assert.equal(styleOf({}, { FORCE_COLOR: '1' }).color, true)
})

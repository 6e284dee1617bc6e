import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bashScript, fishScript, zshScript } from './shells.js'
import { completionModel, type OfferedCommand } from './completion.js'
import { loadAllCommands } from '../commands.js'

async function commandOf(name: string): Promise<OfferedCommand> {
  const { commands } = completionModel(await loadAllCommands())
  const command = commands.find((each) => each.name === name)
  assert.ok(command, name)
  return command
}

test('completion offers every command and alias', async () => {
  const definitions = await loadAllCommands()
  const { commands } = completionModel(definitions)
  const names = definitions.map(({ name }) => name)
  assert.deepEqual(
    commands.map(({ name }) => name),
    [...names, 'worker', 'help'],
  )
})

test('completion offers values for flags', async () => {
  const { flags } = await commandOf('scheduler')
  const valueOf = (name: string): unknown =>
    flags.find(({ names }) => names.includes(name))?.value ?? 'nothing'
  assert.deepEqual(valueOf('-el'), ['builtin', 'uvloop'])
  assert.equal(valueOf('--logging-paths'), 'file')
  assert.equal(valueOf('--config'), 'file')
  assert.equal(valueOf('--logging-config-file'), 'file')
  assert.equal(valueOf('-wt'), 'anything')
  assert.equal(valueOf('--protected'), 'nothing')
  assert.deepEqual(valueOf('--logging-level'), ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'])
})

test('completion offers files for scripts, and shells for completion', async () => {
  assert.equal((await commandOf('run')).words[0], 'file')
  assert.deepEqual((await commandOf('completion')).words, [['bash', 'zsh', 'fish']])
})

test('every script contains every flag of every command', async () => {
  const model = completionModel(await loadAllCommands())
  for (const write of [bashScript, zshScript, fishScript]) {
    const script = write(model)
    const isFish = write === fishScript
    for (const name of model.commands.flatMap(({ flags }) => flags.flatMap(({ names }) => names))) {
      const shown = isFish ? ` ${name.replace(/^--/, '-l ').replace(/^-(?=.$)/, '-s ')}` : name
      const short = isFish ? ` -o ${name.slice(1)} ` : name
      assert.ok(script.includes(shown) || script.includes(short), `${write.name}: ${name}`)
    }
  }
})

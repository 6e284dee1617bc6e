import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkAllocatorOptions } from '../options.js'
import { CommandProvider } from './command.js'

function provider(commands: { submit?: string; list?: string; cancel?: string }): CommandProvider {
  return new CommandProvider(
    checkAllocatorOptions({
      provider: 'command',
      address: 'tcp://127.0.0.1:1',
      name: 'night',
      submitCommand: commands.submit ?? 'false',
      listCommand: commands.list ?? 'false',
      cancelCommand: commands.cancel ?? 'false',
    }),
  )
}

test('units are those whose names are of this allocator, unless they have ended', async () => {
  const lines = [
    'ID NAME STATE',
    '------',
    '1 scaler-night-00000001 R',
    '  2  scaler-night-00000002  qw  more',
    '3 scaler-night-00000003 C',
    '4 scaler-night-2-00000004 R',
    '5 scaler-night- R',
    '6 scaler-night-0000000g R',
    '7 scaler-night-$(reboot) R',
    '8 other R',
    '9 scaler-night-00000009',
  ]
  const units = await provider({ list: `printf '%s\\n' '${lines.join("' '")}'` }).list()
  assert.deepEqual(units, [
    { id: '1', key: '00000001', state: 'running' },
    { id: '2', key: '00000002', state: 'queued' },
    { id: '9', key: '00000009', state: 'running' },
  ])
})

test('a list that is too long is an error', async () => {
  const list = `awk 'BEGIN { for (i = 0; i < 100001; i += 1) printf "%d %s%08x R\\n", i, "'{name}'", i }'`
  await assert.rejects(provider({ list }).list(), {
    message: '--list-command lists 100001 units, more than any allocator has',
  })
})

test('ids and names are words for the shell, whatever they contain', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'command-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'ids')
  const id = `1;touch '$(x)' "\``
  const night = provider({ cancel: `printf '%s %s\\n' {id} {name} >> ${file}` })
  await night.cancel([{ id, key: '00000001', state: 'running' }])
  assert.equal(readFileSync(file, 'utf8'), `${id} scaler-night-00000001\n`)
})

test('the id of a unit is the last word that its submission prints', async () => {
  const night = provider({ submit: 'test -x {script} && echo Your job is 17' })
  const { units, problem } = await night.start(1)
  assert.equal(problem, '')
  assert.deepEqual(
    units.map(({ id, state }) => [id, state]),
    [['17', 'queued']],
  )
})

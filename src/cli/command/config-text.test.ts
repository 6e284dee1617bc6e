import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CLUSTER } from './cluster.js'
import { configText, jsonText, tomlText, type CommandSettings } from './config.js'
import { SCHEDULER } from './scheduler.js'
import { gatherSettings, readCall, type Settings } from '../option/settings.js'

const SURROUNDINGS = { environment: {} }

/** The settings of scheduler and cluster; each gets the words given under its name. */
async function sectionsOf(
  words: Readonly<Record<string, readonly string[]>>,
): Promise<CommandSettings[]> {
  const definitions = [SCHEDULER, CLUSTER]
  return Promise.all(
    definitions.map(async (definition) => {
      const call = readCall(definition, words[definition.name] ?? [], definition.name)
      return { definition, settings: await gatherSettings(call, SURROUNDINGS) }
    }),
  )
}

function valuesOf({ options, words }: Settings): unknown {
  return [words.map(({ text }) => text), options.map(({ flag, value }) => [flag.name, value])]
}

test('settings printed as TOML can be read back', async (t) => {
  const odd = ['a "b"\\\n\u007f', '/tmp/ä']
  const sections = await sectionsOf({
    scheduler: ['tcp://127.0.0.1:1', '-p', '-ls', '0.25', '-mt', '-1', '-lp', ...odd, '-ct', '1e3'],
    cluster: ['-n', '3', '-wn', 'a,b,c', '-lp'],
  })
  const folder = mkdtempSync(join(tmpdir(), 'config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'printed.toml')
  writeFileSync(path, tomlText(sections))
  const file = ['--config', path]
  const again = await sectionsOf({ scheduler: file, cluster: file })
  assert.deepEqual(
    again.map(({ settings }) => valuesOf(settings)),
    sections.map(({ settings }) => valuesOf(settings)),
  )
})

test('each value is followed by its origin', async () => {
  const text = tomlText(await sectionsOf({ scheduler: ['-p', '-wt', '5', 'tcp://a:1'] }))
  assert.match(text, /^\[scheduler\]\naddress = "tcp:\/\/a:1" +# command line$/m)
  assert.match(text, /^protected = true +# --protected$/m)
  assert.match(text, /^worker-timeout-seconds = 5 +# --worker-timeout-seconds$/m)
  assert.match(text, /^client-timeout-seconds = 60 +# default$/m)
  assert.match(text, /^# monitor-address: port \+ 2$/m)
  assert.match(text, /^\[cluster\]\n# address: not set$/m)
})

test('keys are not shown', async () => {
  const key = '--tls-key=-----BEGIN PRIVATE KEY-----\nMIG'
  const sections = await sectionsOf({ scheduler: [key] })
  assert.match(tomlText(sections), /^# tls-key: PEM from --tls-key, not shown$/m)
  assert.doesNotMatch(tomlText(sections) + jsonText(sections), /MIG/)
})

test('JSON has values and origins, too', async () => {
  const sections = await sectionsOf({ scheduler: ['-wt', '5'] })
  const { scheduler } = JSON.parse(jsonText(sections)) as Record<string, Record<string, unknown>>
  assert.deepEqual(scheduler?.['worker-timeout-seconds'], {
    value: 5,
    from: '--worker-timeout-seconds',
  })
  assert.deepEqual(scheduler?.['monitor-address'], { value: null, from: 'default' })
})

/** What `scaler config cluster` says against some words; undefined if nothing. */
async function refusalOf(words: readonly string[]): Promise<string | undefined> {
  const input = { positionals: ['cluster', ...words], values: {}, calledAs: 'scaler config' }
  return configText(input).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  )
}

test('values that the cluster command refuses are refused with its words', async () => {
  const wrong = [
    ['gpu=1.5', 'expected a whole number of gpu from 0 to 100000, got "gpu=1.5"'],
    ['=1', 'expected names such as linux, or gpu=2 with a number, got "=1"'],
    ['gpu=2=3', 'expected names such as linux, or gpu=2 with a number, got "gpu=2=3"'],
    ['a,a', 'expected each name once, got "a"'],
  ] as const
  for (const [text, why] of wrong) {
    assert.equal(await refusalOf(['--capabilities', text]), `--capabilities: ${why}`)
    const words = ['--capabilities', text, 'tcp://127.0.0.1:1']
    assert.equal(await refusalOf(words), `--capabilities: ${why}`)
  }
  const names = ['-n', '2', '-wn', 'a']
  assert.match((await refusalOf(names)) ?? '', /^-wn \(--worker-names\): expected one name per/)
  assert.equal(await refusalOf(['--capabilities', 'linux,gpu=2']), undefined)
  assert.match((await refusalOf(['tcp://*:1'])) ?? '', /the host \* is only for listening/)
})

test('so are those of variables', async (t) => {
  process.env['SCALER_CAPABILITIES'] = 'gpu=1.5'
  t.after(() => delete process.env['SCALER_CAPABILITIES'])
  assert.equal(
    await refusalOf([]),
    'SCALER_CAPABILITIES: expected a whole number of gpu from 0 to 100000, got "gpu=1.5"',
  )
})

test('an address is printed with its origin, also where it is not the first word', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'scaler.toml')
  const values = { config: path }
  const printed = (...positionals: string[]): Promise<string> =>
    configText({ positionals, values, calledAs: 'scaler config' })
  writeFileSync(path, '[allocate]\naddress = "tcp://a.example:1"\n')
  const line = /^address = "tcp:\/\/a\.example:1" +# .*scaler\.toml:2$/m
  assert.match(await printed(), line)
  assert.match(await printed('allocate'), line)
  assert.match(await printed('allocate', 'local'), line)
  assert.match(
    await printed('allocate', 'local', 'tcp://b.example:2'),
    /^address = "tcp:\/\/b\.example:2" +# command line$/m,
  )
  writeFileSync(path, '[allocate]\naddress = "tcp://*:1"\n')
  await assert.rejects(printed('allocate'), {
    message: /^.*scaler\.toml:2:1: \[allocate\] address: .*only for listening/,
  })
  writeFileSync(path, '')
  assert.match(await printed('allocate'), /^# address: not set$/m)
})

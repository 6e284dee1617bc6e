import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { loadAllCommands } from '../commands.js'
import { checkWords, gatherSettings, givenOf, readCall, type Settings } from './settings.js'
import { type CommandDefinition, errorLine } from '../command.js'
import {
  type Flag,
  flagsOf,
  hasSection,
  nameFrom,
  placeOf,
  settableFlags,
  variableOf,
} from './flag.js'
import { ALLOCATE } from '../command/allocate.js'
import { RUN } from '../command/run.js'
import { OBJECT_STORAGE_SERVER } from '../command/object-storage-server.js'
import { SCHEDULER } from '../command/scheduler.js'
import { UI } from '../command/ui.js'

/** The settings of a scheduler with these words and this environment. */
function settingsOf(
  words: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<Settings> {
  const call = readCall(SCHEDULER, words, 'scaler_scheduler')
  return gatherSettings(call, { environment })
}

/** A configuration file with this text. */
function configFile(t: TestContext, text: string | Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'scaler.toml')
  writeFileSync(path, text)
  return path
}

/** The value of an option, and where it is from. */
function settingOf({ options }: Settings, name: string): readonly [unknown, string] {
  const setting = options.find(({ flag }) => flag.name === name)
  assert.ok(setting, name)
  return [setting.value, placeOf(setting.origin)]
}

test('flags override the environment, which overrides the file, then defaults', async (t) => {
  const path = configFile(t, '[scheduler]\nworker-timeout-seconds = 3\n')
  const environment = { SCALER_WORKER_TIMEOUT_SECONDS: '2' }
  const of = async (words: readonly string[], env = {}): Promise<readonly [unknown, string]> =>
    settingOf(await settingsOf(words, env), 'workerTimeoutMs')
  const file = ['--config', path]
  assert.deepEqual(await of([...file, '-wt', '1'], environment), [
    1_000,
    '--worker-timeout-seconds',
  ])
  assert.deepEqual(await of(file, environment), [2_000, 'SCALER_WORKER_TIMEOUT_SECONDS'])
  assert.deepEqual(await of(file), [3_000, `${path}:2`])
  assert.deepEqual(await of([]), [60_000, 'default'])
})

test('the address is a word, a variable, or a key', async (t) => {
  const path = configFile(t, '[scheduler]\naddress = "tcp://c:1"\n')
  const environment = { SCALER_ADDRESS: 'tcp://b:1', SCALER_CONFIG: path }
  const of = async (words: readonly string[], env = {}): Promise<unknown> =>
    (await settingsOf(words, env)).words.map(({ text, origin }) => [text, nameFrom(origin)])
  assert.deepEqual(await of(['tcp://a:1'], environment), [['tcp://a:1', 'address']])
  assert.deepEqual(await of([], environment), [['tcp://b:1', 'SCALER_ADDRESS']])
  assert.deepEqual(await of([], { SCALER_CONFIG: path }), [
    ['tcp://c:1', `${path}:2:1: [scheduler] address`],
  ])
  assert.deepEqual(await of([]), [])
})

test('--config overrides SCALER_CONFIG', async (t) => {
  const one = configFile(t, '[scheduler]\nper-worker-queue-size = 1\n')
  const two = configFile(t, '[scheduler]\nper-worker-queue-size = 2\n')
  const settings = await settingsOf(['--config', two], { SCALER_CONFIG: one })
  assert.deepEqual(settingOf(settings, 'perWorkerQueueSize'), [2, `${two}:2`])
  assert.equal(settings.configPath, two)
})

test('keys may have underscores, and sections may use an alias', async (t) => {
  const text = '[worker]\nnum_of_workers = 2\n[scheduler]\nload_balance_trigger_times = 5\n'
  const path = configFile(t, text)
  const settings = await settingsOf(['--config', path])
  assert.deepEqual(settingOf(settings, 'loadBalanceTriggerTimes'), [5, `${path}:4`])
})

test('an empty variable is ignored', async () => {
  const settings = await settingsOf([], { SCALER_PROTECTED: '', SCALER_ADDRESS: '' })
  assert.deepEqual(settingOf(settings, 'protected'), [false, 'default'])
  assert.deepEqual([settings.words, givenOf(settings)], [[], []])
})

test('variables of other commands and internal variables are ignored', async () => {
  const environment = { SCALER_NUM_OF_WORKERS: 'x', SCALER_LIFELINE: 'stdin', SCALERS_X: '1' }
  assert.deepEqual(givenOf(await settingsOf([], environment)), [])
})

test('variables that Kubernetes sets for services are ignored', async () => {
  const names = ['SERVICE_HOST', 'SERVICE_PORT', 'SERVICE_PORT_ZMTP', 'PORT', 'PORT_2345_TCP_ADDR']
  const variables = names.flatMap((name) => [`SCALER_${name}`, `SCALER_SCHEDULER_${name}`])
  const environment = Object.fromEntries(variables.map((name) => [name, 'tcp://10.0.0.1:2345']))
  assert.deepEqual(givenOf(await settingsOf([], environment)), [])
  // One of them is also a variable of a command.
  const call = readCall(UI, [], 'scaler_ui')
  const ours = { ...environment, SCALER_PORT: '8081' }
  assert.deepEqual(givenOf(await gatherSettings(call, { environment })), [])
  assert.equal(settingOf(await gatherSettings(call, { environment: ours }), 'port')[0], 8_081)
})

test('an unknown variable causes one warning, and changes nothing', async () => {
  const call = readCall(SCHEDULER, [], 'scaler_scheduler')
  const lines: string[] = []
  const environment = { SCALER_WORKER_TIMEOUT: '5', SCALER_XYZZY: 'something' }
  const warn = (line: string): number => lines.push(line)
  const settings = await gatherSettings(call, { environment, warn })
  assert.deepEqual(givenOf(settings), [])
  assert.deepEqual(lines, [
    'SCALER_WORKER_TIMEOUT: no command has such an option; is it SCALER_WORKER_TIMEOUT_SECONDS?',
    'SCALER_XYZZY: no command has such an option',
  ])
})

const WRONG_VARIABLES: readonly (readonly [NodeJS.ProcessEnv, string])[] = [
  [
    { SCALER_WORKER_TIMEOUT_SECONDS: 'soon' },
    'SCALER_WORKER_TIMEOUT_SECONDS: expected seconds from 0.1 to 86400, got "soon"',
  ],
  [{ SCALER_PROTECTED: 'maybe' }, 'SCALER_PROTECTED: expected true or false, got "maybe"'],
  [
    { SCALER_CONFIG: '/no/such/file' },
    'cannot read the configuration file /no/such/file: there is no such file',
  ],
]

for (const [environment, message] of WRONG_VARIABLES) {
  test(`a variable is refused: ${Object.entries(environment).join()}`, async () => {
    await assert.rejects(settingsOf([], environment), { code: 'ERR_SCALER_CONFIG', message })
  })
}

const WRONG_FILES: readonly (readonly [string | Uint8Array, string])[] = [
  ['[scheduler]\nprotected = yes\n', 'FILE:2:13: '],
  ['[scheduler\n', 'FILE:1:'],
  [
    '[scheduler]\nworker-timeout-second = 5\n',
    'FILE:2:1: [scheduler] worker-timeout-second: there is no such option; is it worker-timeout-seconds?',
  ],
  [
    '[scheduler]\n  worker-timeout-seconds = 0\n',
    'FILE:2:3: [scheduler] worker-timeout-seconds: expected seconds from 0.1 to 86400, got 0',
  ],
  [
    '[scheduler]\nprotected = "yes"\n',
    'FILE:2:1: [scheduler] protected: expected true or false, got "yes"',
  ],
  [
    '[scheduler]\nprotected = true\n[cluster]\nheartbeat-interval = -1\n',
    'FILE:4:1: [cluster] heartbeat-interval: expected seconds from 0.01 to 3600, got -1',
  ],
  ['[sheduler]\n', 'FILE:1:1: there is no section [sheduler]; is it scheduler?'],
  ['[config]\njson = true\n', 'FILE:1:1: there is no section [config]; '],
  ['protected = true\n', 'FILE:1:1: protected is not in a section; there are [scheduler], '],
  [
    '[cluster]\nnum-of-workers = 1\n[worker]\nnum-of-workers = 1\n',
    'FILE:3:1: [worker] is another name of [cluster]; keep one of them',
  ],
  [
    '[scheduler]\nprotected = true\nper-worker-queue-size = 1\nper_worker_queue_size = 2\n',
    'FILE:4:1: [scheduler] per_worker_queue_size: it is given twice, as per-worker-queue-size before',
  ],
  ['[scheduler]\nhelp = true\n', 'FILE:2:1: [scheduler] help: there is no such option; there are '],
  ['[run]\nscheduler.x = 1\n', 'FILE:2:1: [run] scheduler: there is no such option'],
  [
    new Uint8Array([0xff, 0xfe, 0x00]),
    'cannot read the configuration file FILE: it is not text in UTF-8',
  ],
]

for (const [text, start] of WRONG_FILES) {
  test(`a file is refused: ${JSON.stringify(text)}`, async (t) => {
    const path = configFile(t, text)
    const isRight = (error: unknown): boolean => {
      const line = errorLine(error, undefined)
      assert.ok(line.startsWith(start.replaceAll('FILE', path)), line)
      assert.equal((error as { code?: unknown }).code, 'ERR_SCALER_CONFIG')
      return true
    }
    await assert.rejects(settingsOf(['--config', path]), isRight)
  })
}

test('a folder is refused as a file', async () => {
  const message = `cannot read the configuration file ${tmpdir()}: it is a directory`
  await assert.rejects(settingsOf(['--config', tmpdir()]), { message })
})

test('the number of words is checked', async () => {
  const check = async (words: readonly string[]): Promise<void> => {
    const call = readCall(SCHEDULER, words, 'x')
    checkWords(call, (await settingsOf(words)).words)
  }
  await check(['tcp://a:1'])
  await assert.rejects(check([]), /<address> is missing; give it, or set SCALER_ADDRESS$/)
  await assert.rejects(check(['tcp://a:1', 'b']), /unexpected word "b"$/)
})

test('an error names an option as it was given', async (t) => {
  const path = configFile(t, '[scheduler]\nlogging-level = "loud"\n')
  const error = new Error('option loggingLevel: expected DEBUG, got "loud"')
  const said = 'expected DEBUG, got "loud"'
  const line = async (words: readonly string[], environment = {}): Promise<string> =>
    errorLine(error, await settingsOf(words, environment))
  assert.equal(await line(['-ll', 'loud']), `-ll (--logging-level): ${said}`)
  assert.equal(await line([], { SCALER_LOGGING_LEVEL: 'loud' }), `SCALER_LOGGING_LEVEL: ${said}`)
  const where = `${path}:2:1: [scheduler] logging-level`
  assert.equal(await line(['--config', path]), `${where}: ${said}`)
  assert.equal(await line([]), `--logging-level: ${said}`)
})

test('another option that is the limit is named as it was given, too', async (t) => {
  const path = configFile(t, '[run]\nnum-of-workers = 2\n')
  const error = new Error('option minWorkers: expected at most workers (2), got 3')
  const line = async (words: readonly string[], environment = {}): Promise<string> => {
    const call = readCall(RUN, words, 'scaler run')
    return errorLine(error, await gatherSettings(call, { environment }))
  }
  const start = '--min-workers: expected at most'
  assert.equal(await line(['-n', '2', '--min-workers', '3', 'x.js']), `${start} -n (2), got 3`)
  assert.equal(await line(['x.js']), `${start} --num-of-workers (2), got 3`)
  const variables = { SCALER_NUM_OF_WORKERS: '2', SCALER_RUN_MIN_WORKERS: '3' }
  assert.equal(
    await line(['x.js'], variables),
    'SCALER_RUN_MIN_WORKERS: expected at most SCALER_NUM_OF_WORKERS (2), got 3',
  )
  assert.equal(await line(['--config', path, 'x.js']), `${start} [run] num-of-workers (2), got 3`)
})

test('an error in an address names where it comes from', async () => {
  const error = new Error('address "nowhere": expected tcp://host:port')
  const of = async (words: readonly string[], environment = {}): Promise<string> =>
    errorLine(error, await settingsOf(words, environment))
  const rest = 'expected tcp://host:port, got "nowhere"'
  assert.equal(await of(['nowhere']), error.message)
  assert.equal(await of([], { SCALER_ADDRESS: 'nowhere' }), `SCALER_ADDRESS: ${rest}`)
  assert.equal(await of(['-ma', 'nowhere', 'x']), `-ma (--monitor-address): ${rest}`)
})

test('an error is one line, whatever it contains', () => {
  assert.equal(errorLine(new Error('one\n  two\u001b[2J'), undefined), 'one two\\x1b[2J')
  assert.equal(errorLine('text', undefined), 'text')
  assert.equal(errorLine(new AggregateError([new Error('inner')]), undefined), 'inner')
})

/** A value of an option: on a command line, in the environment, in a file, and in code. */
function sampleOf({ spec }: Flag): readonly [readonly string[], string, string, unknown] {
  const { type } = spec
  switch (type.kind) {
    case 'integer':
      return [[String(type.max)], String(type.max), String(type.max), type.max]
    case 'duration': {
      const text = String(type.max / 1_000)
      return [[text], text, text, type.max]
    }
    case 'boolean':
      return [[], 'yes', 'true', true]
    case 'choice': {
      const last = type.choices.at(-1) ?? ''
      return [[last], last, `'${last}'`, last]
    }
    case 'list': {
      const words = type.separator === 'commas' ? ['a,b'] : ['a', 'b']
      return [words, 'a,b', '["a", "b"]', ['a', 'b']]
    }
    case 'text':
    case 'object':
      return [['some text'], 'some text', '"some text"', 'some text']
  }
}

test('every option of every command can be given as a flag, a variable and a key', async (t) => {
  const definitions = (await loadAllCommands()).filter(hasSection)
  assert.ok(definitions.length >= 5)
  for (const definition of definitions) {
    const flags = settableFlags(flagsOf(definition))
    assert.ok(flags.length > 0, definition.name)
    for (const flag of flags) {
      const { name, key } = flag
      const [words, variable, toml, value] = sampleOf(flag)
      const path = configFile(t, `[${definition.name}]\n${key} = ${toml}\n`)
      const of = async (line: readonly string[], environment = {}): Promise<unknown> => {
        const call = readCall(definition, line, 'x')
        const settings = await gatherSettings(call, { environment })
        return settingOf(settings, name)
      }
      for (const typed of [`--${key}`, ...flag.short]) {
        assert.deepEqual(await of([typed, ...words]), [value, `--${key}`], typed)
      }
      const inEnvironment = { [variableOf(flag)]: variable }
      assert.deepEqual(await of([], inEnvironment), [value, variableOf(flag)], key)
      assert.deepEqual(await of(['--config', path]), [value, `${path}:2`], key)
    }
  }
})

test('a name is not for all commands: allocators and servers have variables of their own', async () => {
  const named = async (
    definition: CommandDefinition,
    environment: NodeJS.ProcessEnv,
  ): Promise<readonly [unknown, string]> => {
    const call = readCall(definition, [], 'x')
    return settingOf(await gatherSettings(call, { environment }), 'name')
  }
  for (const [definition, variable] of [
    [ALLOCATE, 'SCALER_ALLOCATE_NAME'],
    [OBJECT_STORAGE_SERVER, 'SCALER_OBJECT_STORAGE_SERVER_NAME'],
  ] as const) {
    assert.deepEqual(await named(definition, { SCALER_NAME: 'x' }), [undefined, 'default'])
    assert.deepEqual(await named(definition, { [variable]: 'x' }), ['x', variable])
  }
})

test('the address of an allocator is its second word, a variable, or a key', async (t) => {
  const file = ['--config', configFile(t, '[allocate]\naddress = "tcp://c:1"\n')]
  const of = async (words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const call = readCall(ALLOCATE, words, 'x')
    const settings = await gatherSettings(call, { environment: env })
    return settings.words.map(({ text }) => text).join(' ')
  }
  const env = { SCALER_ADDRESS: 'tcp://b:1' }
  assert.equal(await of([...file, 'local', 'tcp://a:1'], env), 'local tcp://a:1')
  assert.equal(await of([...file, 'local'], env), 'local tcp://b:1')
  assert.equal(await of([...file, 'local']), 'local tcp://c:1')
  assert.equal(await of(file, env), '')
})

test('an allocator has a section, whose keys are its flags', async (t) => {
  const valuesOf = async (text: string): Promise<Readonly<Record<string, unknown>>> => {
    const words = ['--config', configFile(t, text), 'local', 'tcp://127.0.0.1:1']
    const settings = await gatherSettings(readCall(ALLOCATE, words, 'x'), { environment: {} })
    const given = givenOf(settings).map(({ flag, value }) => [flag.name, value])
    return Object.fromEntries(given) as Readonly<Record<string, unknown>>
  }
  const text = `[allocate]
name = "night"
max-workers = 8
backlog-seconds = 1.5
hosts = ["a", "b"]
dry-run = true
worker-runtime = "python"`
  assert.deepEqual(await valuesOf(text), {
    name: 'night',
    maxWorkers: 8,
    backlogMs: 1_500,
    hosts: ['a', 'b'],
    dryRun: true,
    workerRuntime: 'python',
  })
  for (const [line, message] of [
    ['max-worker = 8', /scaler.toml:2:1: .*max-worker.*max-workers/],
    ['maxWorkers = 8', /scaler.toml:2:1: .*max-workers/],
    ['max-workers = 0', /scaler.toml:2:1: \[allocate\] max-workers: .*from 1 to 100000, got 0$/],
    ['backlog-seconds = "soon"', /\[allocate\] backlog-seconds: expected/],
    ['worker-runtime = "ruby"', /\[allocate\] worker-runtime: expected javascript or python/],
  ] as const) {
    await assert.rejects(valuesOf(`[allocate]\n${line}\n`), message)
  }
})

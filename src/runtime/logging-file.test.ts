import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { readLoggingFile, type LogDescription } from './logging-file.js'
import { openLogger } from './log/open.js'

async function fileWith(t: TestContext, text: string | Uint8Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'scaler-log-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'log.toml')
  await writeFile(path, text)
  return path
}

async function read(t: TestContext, text: string): Promise<LogDescription> {
  return readLoggingFile(await fileWith(t, text), 'option loggingConfigFile')
}

test('a file describes outputs, each with level and format, and fields of all lines', async (t) => {
  const text = `
    level = "warning"
    fields = { site = "east", rack = 7, spare = false }
    [[output]]
    path = "/dev/stderr"
    [[output]]
    path = "a.log"
    level = "debug"
    format = "text"
  `
  assert.deepEqual(await read(t, text), {
    outputs: [
      { path: '/dev/stderr', level: 'warn', format: 'auto' },
      { path: 'a.log', level: 'debug', format: 'text' },
    ],
    fields: { site: 'east', rack: 7, spare: false },
  })
})

test('an empty file means the default log; an empty list of outputs none', async (t) => {
  assert.deepEqual(await read(t, ''), {
    outputs: [{ path: '/dev/stdout', level: 'info', format: 'auto' }],
    fields: {},
  })
  assert.deepEqual((await read(t, 'output = []')).outputs, [])
})

test('an error is one line, with its position and what is allowed', async (t) => {
  const cases: readonly (readonly [text: string, message: string])[] = [
    ['levl = "INFO"', '1:1: levl: unknown key; is it level?'],
    ['\n[[outputs]]\npath = "a"', '2:1: outputs: unknown key; is it output?'],
    [
      '[[output]]\npath = "a"\n[[output]]\npath = "b"\n  levels = 1',
      '5:3: [[output]] levels: unknown key; is it level?',
    ],
    [
      '[[output]]\npath = "a"\nlevel = "INFOO"',
      '3:1: [[output]] level: expected DEBUG, INFO, WARNING, ERROR or CRITICAL, got "INFOO"; is it INFO?',
    ],
    [
      '[[output]]\npath = "a"\nformat = "xml"',
      '3:1: [[output]] format: expected "auto", "text" or "json", got "xml"',
    ],
    ['[[output]]\nformat = "text"', '1:1: [[output]]: expected path'],
    ['[[output]]\npath = 3', '2:1: [[output]] path: expected a path, got 3'],
    ['output = 3', '1:1: [[output]]: expected [[output]], got 3'],
    ['output = [3]', '1:1: [[output]]: expected a table, got 3'],
    ['fields = 3', '1:1: fields: expected a table, got 3'],
    [
      '[fields]\na = "b"\nx = [1]',
      '3:1: fields.x: expected text, a number or a boolean, got an array',
    ],
    ['[fields]\ntime = 1', '2:1: fields.time: this name is reserved; expected another'],
  ]
  for (const [text, message] of cases) {
    const path = await fileWith(t, text)
    await assert.rejects(readLoggingFile(path, 'x'), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.equal(error.message, `${path}:${message}`)
      return true
    })
  }
})

test('a syntax error is reported with line and column', async (t) => {
  const path = await fileWith(t, 'level = "INFO"\nfields = {\n')
  await assert.rejects(readLoggingFile(path, 'x'), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message.slice(path.length), /^:\d+:\d+: [^\n]+$/)
    return true
  })
})

test('a file that cannot be read is reported with the option that named it', async (t) => {
  const missing = join(tmpdir(), 'scaler-no-such-folder', 'log.toml')
  await assert.rejects(openLogger({ loggingConfigFile: missing }), {
    name: 'ConfigError',
    message: `option loggingConfigFile: cannot read ${missing}: there is no such file or directory`,
  })
  const bytes = await fileWith(t, new Uint8Array([0xff, 0xfe, 0x00]))
  await assert.rejects(openLogger({ loggingConfigFile: bytes }), /expected TOML, got bytes/)
})

test('the file overrides the other options of logs', async (t) => {
  const path = join(await mkdtemp(join(tmpdir(), 'scaler-log-')), 'a.log')
  t.after(() => rm(join(path, '..'), { recursive: true, force: true }))
  const file = await fileWith(
    t,
    `level = "DEBUG"\nfields = { site = "east" }\n[[output]]\npath = '${path}'\nformat = "text"`,
  )
  const options = { loggingConfigFile: file, loggingLevel: 'ERROR', loggingPaths: ['/dev/null'] }
  const log = await openLogger(options)
  log.logger.debug('hello', { tasks: 2 })
  await log.close()
  assert.match(await readFile(path, 'utf8'), /^\[DEBG\].*: hello tasks=2 site=east\n$/)
})

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ConfigError, ScalerError } from '../../base/errors.js'
import type { LogStream } from './output.js'
import { openLogger } from './open.js'

/** A stream that keeps what is written. */
function stream(isTTY: boolean): { lines: string[]; target: LogStream } {
  const lines: string[] = []
  const target: LogStream = {
    isTTY,
    hasColors: () => false,
    write: (text, onWritten) => {
      if (text !== '') lines.push(text)
      onWritten?.()
    },
  }
  return { lines, target }
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'scaler-log-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

/** The messages in a file of JSON lines. */
async function messages(path: string): Promise<unknown[]> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  return lines.map((line) => (JSON.parse(line) as { message: unknown }).message)
}

test('each output has its own format: lines on a terminal, JSON lines in a file', async (t) => {
  const path = join(await folder(t), 'a.log')
  const { lines, target } = stream(true)
  const log = await openLogger({ loggingPaths: ['/dev/stdout', path] }, { stdout: target })
  log.logger.info('hello', { tasks: 3 })
  await log.close()
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /^\[INFO\].*: hello tasks=3\n$/)
  assert.deepEqual(await messages(path), ['hello'])
  assert.deepEqual(log.description, [`logging to ('/dev/stdout', '${path}')`])
})

test('by default important lines go to stdout', async () => {
  const out = stream(false)
  const err = stream(false)
  const log = await openLogger({}, { stdout: out.target, stderr: err.target })
  log.logger.debug('a')
  log.logger.info('b')
  log.logger.error('c')
  assert.equal(out.lines.length, 2)
  assert.deepEqual(err.lines, [])
  assert.deepEqual(log.description, [`logging to ('/dev/stdout',)`])
  await log.close()
})

test('without paths there is no log', async () => {
  const out = stream(true)
  const log = await openLogger({ loggingPaths: [] }, { stdout: out.target })
  log.logger.error('a')
  await log.close()
  assert.deepEqual(out.lines, [])
  assert.deepEqual(log.description, ['logging to ()'])
})

test('a level includes higher ones, in upper or lower case', async () => {
  const counts = new Map([
    ['DEBUG', 4],
    ['info', 3],
    ['Warning', 2],
    ['WARN', 2],
    ['error', 1],
    ['CRITICAL', 1],
  ])
  for (const [loggingLevel, count] of counts) {
    const { lines, target } = stream(false)
    const { logger } = await openLogger({ loggingLevel }, { stdout: target })
    for (const level of ['debug', 'info', 'warn', 'error'] as const) logger[level]('a')
    assert.equal(lines.length, count, loggingLevel)
  }
})

test('an unknown level is refused with the nearest one', async () => {
  await assert.rejects(openLogger({ loggingLevel: 'infoo' }), (error) => {
    assert.ok(error instanceof ConfigError)
    const want = 'DEBUG, INFO, WARNING, ERROR or CRITICAL'
    assert.equal(error.message, `option loggingLevel: expected ${want}, got "infoo"; is it INFO?`)
    return true
  })
  await assert.rejects(openLogger({ loggingLevel: '' }), ConfigError)
})

test('mistakes possible only in code are refused as well', async () => {
  const path = 'a.log' as unknown as string[]
  await assert.rejects(openLogger({ loggingPaths: path }), {
    name: 'ConfigError',
    message: /^option loggingPaths: expected a list of strings, got "a.log"/,
  })
  await assert.rejects(openLogger({ logingLevel: 'INFO' } as object), /is it loggingLevel\?$/)
})

test('a file is appended to, and several logs of one process are independent', async (t) => {
  const path = join(await folder(t), 'a.log')
  await writeFile(path, '{"message":"before"}\n')
  const first = await openLogger({ loggingPaths: [path] })
  const second = await openLogger({ loggingPaths: [path], loggingLevel: 'ERROR' })
  first.logger.info('one')
  second.logger.info('no')
  second.logger.error('two')
  await second.close()
  first.logger.info('three')
  await first.close()
  assert.deepEqual(await messages(path), ['before', 'one', 'two', 'three'])
})

test('nothing is written after close, which may be called twice', async (t) => {
  const path = join(await folder(t), 'a.log')
  const out = stream(false)
  const log = await openLogger({ loggingPaths: [path, '-'] }, { stdout: out.target })
  log.logger.info('a')
  await log.close()
  await log.close()
  log.logger.info('b')
  log.reopen()
  assert.deepEqual(await messages(path), ['a'])
  assert.equal(out.lines.length, 1)
})

test('after a rotation by rename the log continues in a new file', async (t) => {
  const path = join(await folder(t), 'a.log')
  const log = await openLogger({ loggingPaths: [path] })
  log.logger.info('one')
  await rename(path, `${path}.1`)
  log.logger.info('two')
  log.reopen()
  log.logger.info('three')
  await log.close()
  assert.deepEqual(await messages(`${path}.1`), ['one', 'two'])
  assert.deepEqual(await messages(path), ['three'])
})

test('after a rotation by copy the log continues at the beginning of the file', async (t) => {
  const path = join(await folder(t), 'a.log')
  const log = await openLogger({ loggingPaths: [path] })
  log.logger.info('one')
  await truncate(path)
  log.logger.info('two')
  await log.close()
  assert.deepEqual(await messages(path), ['two'])
})

test('a file that cannot be reopened stays open, and stderr says why', async (t) => {
  const directory = await folder(t)
  const path = join(directory, 'a.log')
  const err = stream(false)
  const log = await openLogger({ loggingPaths: [path] }, { stderr: err.target })
  await rename(directory, `${directory}-gone`)
  t.after(() => rm(`${directory}-gone`, { recursive: true, force: true }))
  log.reopen()
  log.logger.info('one')
  await log.close()
  assert.deepEqual(await messages(join(`${directory}-gone`, 'a.log')), ['one'])
  assert.deepEqual(err.lines, [
    `cannot write the log to ${path}: there is no such file or directory\n`,
  ])
})

test('an output that cannot be opened is an error, and nothing is left open', async (t) => {
  const directory = await folder(t)
  const good = join(directory, 'a.log')
  await assert.rejects(openLogger({ loggingPaths: [good, directory] }), (error) => {
    assert.ok(error instanceof Error && !(error instanceof ConfigError))
    assert.equal(error.message, `cannot write the log to ${directory}: it is a directory`)
    assert.ok(error instanceof ScalerError && error.code === 'ERR_SCALER_LOG')
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'EISDIR')
    return true
  })
  await assert.rejects(openLogger({ loggingPaths: [''] }), ConfigError)
})

test('a full disk is reported once, and does not stop the program', async (t) => {
  if (process.platform !== 'linux') return t.skip('there is no /dev/full')
  const err = stream(false)
  const log = await openLogger({ loggingPaths: ['/dev/full'] }, { stderr: err.target })
  log.logger.info('one')
  log.logger.info('two')
  await log.close()
  assert.deepEqual(err.lines, [
    'cannot write the log to /dev/full: no space left on the device; continuing without it\n',
  ])
})

test('a stream that fails does not take the process down', async () => {
  let onError: ((error: Error) => void) | undefined
  const target: LogStream = {
    write: (_text, onWritten) => onWritten?.(),
    on: (_event, listener) => (onError = listener),
    off: (_event, listener) => {
      if (onError === listener) onError = undefined
    },
  }
  const log = await openLogger({}, { stdout: target })
  log.logger.info('a')
  assert.doesNotThrow(() => onError?.(new Error('EPIPE')))
  assert.notEqual(onError, undefined)
  await log.close()
  assert.equal(onError, undefined, 'a log that has ended leaves no listener behind')
})

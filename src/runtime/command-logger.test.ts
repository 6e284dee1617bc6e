import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandLogger, type LogLevel, type LogStream } from './command-logger.js'

/** A stream that keeps what is written, and the logger on it. */
function logTo(stream: { isTTY: boolean; colors?: boolean }, level?: LogLevel) {
  const lines: string[] = []
  const target: LogStream = {
    isTTY: stream.isTTY,
    hasColors: () => stream.colors === true,
    write: (text) => lines.push(text),
  }
  const logger = commandLogger(level === undefined ? { stream: target } : { stream: target, level })
  return { lines, logger }
}

test('a terminal gets lines with level, local time, text and fields', () => {
  const { lines, logger } = logTo({ isTTY: true })
  logger.info('worker joined', {
    worker: '12|host|ab',
    workers: 4,
    note: 'two words',
    none: undefined,
  })
  assert.equal(lines.length, 1)
  assert.match(
    lines[0] ?? '',
    /^\[INFO\]\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4}: worker joined worker=12\|host\|ab workers=4 note="two words"\n$/,
  )
})

test('each level has its four letters', () => {
  const { lines, logger } = logTo({ isTTY: true }, 'debug')
  logger.debug('a')
  logger.info('a')
  logger.warn('a')
  logger.error('a')
  assert.deepEqual(
    lines.map((line) => line.slice(0, 6)),
    ['[DEBG]', '[INFO]', '[WARN]', '[EROR]'],
  )
})

test('a field whose value stands in the text is not repeated on a terminal', () => {
  const { lines, logger } = logTo({ isTTY: true })
  logger.info('Scheduler: address is tcp://127.0.0.1:2345', { address: 'tcp://127.0.0.1:2345' })
  assert.match(lines[0] ?? '', /: Scheduler: address is tcp:\/\/127\.0\.0\.1:2345\n$/)
})

test('elsewhere every line is a JSON object with the fields in it', () => {
  const { lines, logger } = logTo({ isTTY: false })
  logger.warn('Scheduler: address is tcp://h:1', { address: 'tcp://h:1', level: 'mine' })
  const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  assert.deepEqual(rest, {
    level: 'warn',
    message: 'Scheduler: address is tcp://h:1',
    address: 'tcp://h:1',
  })
  assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000)
  assert.ok(lines[0]?.endsWith('}\n'))
})

test('levels below the one asked for are not written', () => {
  const { lines, logger } = logTo({ isTTY: false }, 'warn')
  logger.debug('a')
  logger.info('a')
  logger.warn('b')
  logger.error('c')
  assert.equal(lines.length, 2)
})

test('debug lines are left out by default', () => {
  const { lines, logger } = logTo({ isTTY: false })
  logger.debug('a')
  assert.deepEqual(lines, [])
})

test('braces in a text are plain characters', () => {
  const { lines, logger } = logTo({ isTTY: true })
  logger.info('got {"a": 1} and {b}', { b: 2 })
  assert.match(lines[0] ?? '', /: got \{"a": 1\} and \{b\} b=2\n$/)
})

test('control characters of a peer do not reach a terminal', () => {
  const { lines, logger } = logTo({ isTTY: true })
  logger.info('peer \u001b[2Jname\nsecond', { peer: '\u0007bell' })
  assert.doesNotMatch((lines[0] ?? '').slice(0, -1), /\p{Cc}/u)
})

test('colours mark warnings and errors where the terminal wants them, and only there', () => {
  const colored = logTo({ isTTY: true, colors: true })
  colored.logger.warn('a')
  assert.ok(colored.lines[0]?.startsWith('\u001b[33m[WARN]\u001b[0m'))
  const plain = logTo({ isTTY: true, colors: false })
  plain.logger.warn('a')
  assert.ok(plain.lines[0]?.startsWith('[WARN]'))
  const json = logTo({ isTTY: false, colors: true })
  json.logger.warn('a')
  assert.ok(json.lines[0]?.startsWith('{'))
})

test('a stream that fails does not take the command down', () => {
  let onError: ((error: Error) => void) | undefined
  const stream: LogStream = {
    write: () => true,
    on: (_event, listener) => (onError = listener),
  }
  commandLogger({ stream }).info('a')
  assert.doesNotThrow(() => onError?.(new Error('EPIPE')))
  assert.notEqual(onError, undefined)
})

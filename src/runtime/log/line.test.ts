import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFields, LogLevel } from '../../base/logger.js'
import { jsonLine, plainFields, textFormat } from './line.js'

const time = Date.parse('2023-03-19T12:16:10.250Z')

function textLine(text: string, fields: LogFields = {}, level: LogLevel = 'info'): string {
  return textFormat(false)({ level, text, fields, time })
}

test('a line for people has level, local time, text and fields', () => {
  const fields = { worker: '12|host|ab', workers: 4, note: 'two words', none: undefined }
  assert.match(
    textLine('worker joined', fields),
    /^\[INFO\]2023-03-\d\d \d\d:\d\d:10[+-]\d{4}: worker joined worker=12\|host\|ab workers=4 note="two words"\n$/,
  )
})

test('the time of a line is local, with its offset from UTC', () => {
  const [, day, clock, zone] = /^\[INFO\](\S+) ([\d:]+)([+-]\d{4}):/.exec(textLine('a')) ?? []
  assert.equal(Date.parse(`${day}T${clock}${zone?.slice(0, 3)}:${zone?.slice(3)}`), time - 250)
})

test('each level has its four letters', () => {
  const levels = ['debug', 'info', 'warn', 'error'] as const
  const labels = levels.map((level) => textLine('a', {}, level).slice(0, 6))
  assert.deepEqual(labels, ['[DEBG]', '[INFO]', '[WARN]', '[EROR]'])
})

test('a field whose value occurs in the text is not repeated for people', () => {
  const line = textLine('Scheduler: address is tcp://h:2345', { address: 'tcp://h:2345' })
  assert.ok(line.endsWith(': Scheduler: address is tcp://h:2345\n'), line)
  assert.match(
    textLine('Worker[0] started', { index: 0, name: '' }),
    /: Worker\[0\] started name=""\n$/,
  )
  assert.match(textLine('10 tasks', { tries: 1, text: 'task' }), /: 10 tasks tries=1 text=task\n$/)
})

test('text chosen by a peer cannot move the cursor or begin a new line', () => {
  const line = textLine('peer \u001b[2Jname\nsecond\r\u009b\u202e', { peer: '\u0007bell' })
  assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\u202e]/u)
  assert.match(line, /peer \\u001b\[2Jname\\nsecond\\r\\u009b\\u202e peer=/)
})

test('colours mark warnings and errors only where enabled', () => {
  const lineOf = (level: LogLevel): string =>
    textFormat(true)({ level, text: 'a', fields: {}, time })
  assert.ok(lineOf('warn').startsWith('\u001b[33m[WARN]\u001b[0m2023'))
  assert.ok(lineOf('error').startsWith('\u001b[31m[EROR]\u001b[0m2023'))
  assert.ok(lineOf('info').startsWith('[INFO]2023'))
  assert.ok(textLine('a', {}, 'warn').startsWith('[WARN]2023'))
})

test('a line for programs is a JSON object; fields cannot override what each line has', () => {
  const fields = { address: 'tcp://h:1', level: 'mine', none: undefined, brace: '{"a": 1}\n' }
  const line = jsonLine({ level: 'warn', text: 'x\ny', fields, time })
  assert.deepEqual(JSON.parse(line), {
    time: '2023-03-19T12:16:10.250Z',
    level: 'warn',
    message: 'x\ny',
    address: 'tcp://h:1',
    brace: '{"a": 1}\n',
  })
  assert.equal(line.indexOf('\n'), line.length - 1)
})

test('invalid field values do not make a line fail', () => {
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const wrong = { cycle, big: 10n, none: null, nan: Number.NaN, call: () => 1, name: Symbol('s') }
  const fields = plainFields(wrong as unknown as LogFields)
  assert.deepEqual(fields, {
    cycle: 'object',
    big: '10',
    none: 'null',
    nan: 'NaN',
    call: 'function',
    name: 'symbol',
  })
})

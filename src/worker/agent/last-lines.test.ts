// The last lines of a worker: bounded, in order, and whole.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFields } from '../../base/logger.js'
import { LastLines } from './output.js'

/** The lines, without their times. */
function shown(lines: LastLines, most = 5_000): readonly string[] {
  return lines.last(most).map(({ source, text }) => `${source} ${text}`)
}

test('lines of all sources, in order, joined where one was written in pieces', () => {
  const lines = new LastLines()
  lines.add('stdout', Buffer.from('one\ntw'), 'a')
  lines.add('stdout', Buffer.from('o\r\n\n'), 'a')
  lines.add('stderr', Buffer.from('no end'), 'a')
  lines.add('stderr', Buffer.from('of another task'), 'b')
  lines.add('stdout', Buffer.alloc(0), 'b')
  const all = ['stdout one', 'stdout two', 'stdout ', 'stderr no end', 'stderr of another task']
  assert.deepEqual(shown(lines), all)
  assert.deepEqual(shown(lines, 2), all.slice(-2))
  assert.deepEqual(shown(lines, 0), [])
})

test('64 KiB are kept, in whole lines, however they were written', () => {
  const endless = Buffer.from(Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join(''))
  const together = new LastLines()
  together.add('stdout', endless)
  together.add('stderr', Buffer.from('end\n'))
  const one = shown(together)
  assert.equal(one.at(-1), 'stderr end')
  assert.equal(one.at(-2), 'stdout line 19999')
  assert.match(one[0] ?? '', /^stdout line 1\d{4}$/)
  assert.equal(one.length, 5_000)

  const apart = new LastLines()
  for (let at = 0; at < 20_000; at += 1) apart.add('stdout', Buffer.from(`line ${at}\n`))
  const many = shown(apart)
  assert.equal(many.at(-1), 'stdout line 19999')
  assert.ok(many.length > 1_000 && many.length < 2_000, String(many.length))

  const dots = new LastLines()
  for (let at = 0; at < 100_000; at += 1) dots.add('stdout', Buffer.from('.'))
  const lengths = shown(dots).map((text) => text.length)
  assert.ok(lengths.every((length) => length <= 4_096 + 'stdout '.length))
})

test('what is kept does not share the memory of what was printed', () => {
  const lines = new LastLines()
  const bytes = Buffer.from('mine\n')
  lines.add('stdout', bytes)
  bytes.fill(0)
  assert.deepEqual(shown(lines), ['stdout mine'])
})

test('lines of a log are kept with their fields, at the level of the log', () => {
  const passed: string[] = []
  const log =
    (level: string) =>
    (text: string, fields?: LogFields): void => {
      passed.push(`${level} ${text} ${JSON.stringify(fields)}`)
    }
  const logger = { debug: log('d'), info: log('i'), warn: log('w'), error: log('e') }
  const lines = new LastLines()
  const kept = lines.of({ ...logger, isLevelEnabled: (level) => level !== 'debug' })
  kept.debug('step')
  kept.warn('lost it', { task: '0a', reason: 'no way\n' })
  assert.deepEqual(passed, ['d step {}', 'w lost it {"task":"0a","reason":"no way\\n"}'])
  assert.deepEqual(shown(lines), ['log [WARN] lost it task=0a reason="no way\\n"'])
  const all = new LastLines()
  all.of(logger).debug('step')
  assert.deepEqual(shown(all), ['log [DEBG] step'])
})

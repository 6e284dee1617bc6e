import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFields, Logger } from '../base/logger.js'
import { RefusalLog } from './bounded-log.js'
import type { EndKind } from './end.js'

test('the first of a kind is logged immediately, the others once a minute with a count', (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lines: string[] = []
  const tell =
    (level: string) =>
    (text: string, { remote, count }: LogFields = {}): void => {
      lines.push([level, text, remote, count].filter((part) => part !== undefined).join(' '))
    }
  const logger: Logger = {
    debug: tell('debug'),
    info: tell('info'),
    warn: tell('warn'),
    error: tell('error'),
  }
  const log = new RefusalLog(logger)
  const refuse = (kind: EndKind, remote: string): void => log.note({ kind, remote, reason: '' })
  const pass = (ms: number): string[] => {
    now += ms
    t.mock.timers.tick(ms)
    return lines.splice(0)
  }
  for (const remote of ['a', 'b', 'c']) refuse('notZmtp', remote)
  refuse('silent', 'd')
  assert.deepEqual(pass(0), ['warn connection refused a', 'warn connection refused d'])
  assert.deepEqual(pass(59_999), [])
  assert.deepEqual(pass(1), ['warn 2 more connections were refused; the last one c 2'])
  refuse('closed', 'e')
  assert.deepEqual(pass(0), ['debug connection without handshake e'])
  assert.deepEqual(pass(120_000), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogFields, Logger } from '../base/logger.js'
import { boundedLogger } from './bounded-logger.js'

function keeper(lines: string[]): Logger {
  const write = (text: string, fields: LogFields = {}): void => {
    lines.push([text, ...Object.values(fields)].join(' '))
  }
  return { debug: write, info: write, warn: write, error: write }
}

function countOf(lines: readonly string[], text: string): number {
  return lines.filter((line) => line === text).length
}

test('of lines with the same text, those beyond the bound are left out and reported', (t) => {
  const lines: string[] = []
  let now = 0
  const { logger, close } = boundedLogger(keeper(lines), () => now)
  t.after(close)
  for (let each = 0; each < 10_003; each += 1) logger.info('refused')
  assert.equal(countOf(lines, 'refused'), 10_000)
  assert.equal(lines.at(-1), 'left out log lines refused 1')
  logger.error('something else')
  assert.equal(lines.at(-1), 'something else')
  now = 60_000
  logger.info('refused')
  assert.equal(countOf(lines, 'refused'), 10_001)
})

test('debug lines are not counted', (t) => {
  const lines: string[] = []
  const { logger, close } = boundedLogger(keeper(lines), () => 0)
  t.after(close)
  for (let each = 0; each < 10_003; each += 1) logger.debug('a step')
  assert.equal(countOf(lines, 'a step'), 10_003)
  assert.equal(logger.isLevelEnabled?.('debug'), true)
})

test('many different texts share a bound', (t) => {
  const lines: string[] = []
  const { logger, close } = boundedLogger(keeper(lines), () => 0)
  t.after(close)
  for (let each = 0; each < 12_000; each += 1) logger.info(`text ${each}`)
  assert.equal(lines.filter((line) => line.startsWith('text ')).length, 11_000)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { type Logger, logsTasks } from '../../base/logger.js'
import { loggerOption } from './option.js'

test('a logger that throws ends nothing, and is reported once', async (t) => {
  const warnings: (Error & { readonly code?: string })[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const lines: unknown[] = []
  const fail = (): never => {
    throw new Error('disk full')
  }
  const given: Logger = {
    debug: fail,
    info(text, fields) {
      lines.push([this === given, text, fields])
    },
    warn: fail,
    error: fail,
    isLevelEnabled: fail,
  }
  const logger = loggerOption('logger', given)
  assert.ok(logger)
  logger.debug('a')
  logger.info('b', { n: 1 })
  logger.warn('c')
  logger.error('d')
  assert.equal(logsTasks(logger), true)
  assert.deepEqual(lines, [[true, 'b', { n: 1 }]])
  await new Promise(setImmediate)
  assert.deepEqual(
    warnings.map(({ code, message }) => [code, message]),
    [['SCALER_LOGGER', 'the logger has thrown: disk full']],
  )
  assert.equal(loggerOption('logger', undefined), undefined)
  assert.ok(loggerOption('logger', console))
  for (const value of [null, {}, 'console', 5, { ...given, warn: 1 }]) {
    assert.throws(() => loggerOption('logger', value), {
      constructor: ConfigError,
      message: /^option logger: expected an /,
    })
  }
})

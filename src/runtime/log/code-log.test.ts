import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { silentLogger, type Logger } from '../../base/logger.js'
import { openCodeLog } from './log.js'

/** A path that is removed after the test. */
function pathFor(context: TestContext, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-code-log-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}

function keeper(lines: string[]): Logger {
  const add = (text: string): void => void lines.push(text)
  return { debug: add, info: add, warn: add, error: add }
}

test('a program without logging options has a silent log', async () => {
  const log = await openCodeLog({})
  assert.equal(log.logger, silentLogger)
  assert.equal(log.isSilent, true)
  await log.close()
  assert.equal((await openCodeLog({ logger: silentLogger })).isSilent, true)
})

test('a given logger is used unchanged', async () => {
  const lines: string[] = []
  const log = await openCodeLog({ logger: keeper(lines) })
  log.logger.warn('hello')
  assert.equal(log.isSilent, false)
  assert.deepEqual(lines, ['hello'])
})

test('logging options make a log, whose first line says where it goes', async (context) => {
  const path = pathFor(context, 'a.log')
  const log = await openCodeLog({ loggingPaths: [path], loggingLevel: 'info' })
  log.logger.info('hello')
  log.logger.debug('not this')
  await log.close()
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  assert.equal(lines.length, 2)
  assert.ok(lines[0]?.includes(`logging to ('${path}',)`), lines[0])
  assert.ok(lines[1]?.includes('hello'), lines[1])
})

test('a logger and logging options contradict each other', async () => {
  const logger = keeper([])
  const contradictions = [
    { loggingPaths: [] },
    { loggingLevel: 'INFO' },
    { loggingConfigFile: 'log.toml' },
  ]
  for (const options of contradictions) {
    const [name] = Object.keys(options)
    await assert.rejects(openCodeLog({ ...options, logger }), {
      code: 'ERR_SCALER_CONFIG',
      message: `option ${name}: cannot be used with a logger; give one of them`,
    })
  }
})

test('invalid log options are refused', async (context) => {
  await assert.rejects(openCodeLog({ logger: {} as Logger }), /option logger: expected/)
  await assert.rejects(openCodeLog({ loggingLevel: 'LOUD' }), { code: 'ERR_SCALER_CONFIG' })
  const path = pathFor(context, 'no/such/folder')
  await assert.rejects(openCodeLog({ loggingPaths: [path] }), (error) =>
    String(error).includes(path),
  )
})

test('each given unnecessary option gets one line that says why', async () => {
  const lines: string[] = []
  await openCodeLog({
    logger: keeper(lines),
    eventLoop: 'uvloop',
    ioThreads: 4,
    hardProcessorSuspend: undefined,
  })
  assert.deepEqual(lines, [
    'option eventLoop "uvloop" is unnecessary: Node has the same event loop as uvloop: libuv',
    'option ioThreads 4 is unnecessary: Node needs no threads for sockets',
  ])
})

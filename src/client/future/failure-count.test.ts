import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { testClient, until } from '../memory-link.test.kit.js'

interface Warning {
  readonly message: unknown
  readonly options: unknown
}

const boom = (): never => {
  throw new Error('boom')
}

function watchWarnings(context: TestContext): Warning[] {
  const warnings: Warning[] = []
  context.mock.method(process, 'emitWarning', (message: unknown, options: unknown) => {
    warnings.push({ message, options })
  })
  return warnings
}

test('failures that were not observed are reported once, counted', async (context) => {
  const warnings = watchWarnings(context)
  const { submitter, parts } = testClient()
  const futures = [submitter.submit(boom, []), submitter.submit(boom, [])]
  await until(() => futures.every((future) => future.state === 'failed'))
  parts.failures.warn()
  parts.failures.warn()
  assert.equal(warnings.length, 1)
  assert.match(String(warnings[0]?.message), /^2 futures failed and were never awaited.*boom/)
  assert.deepEqual(warnings[0]?.options, {
    type: 'ScalerWarning',
    code: 'SCALER_UNOBSERVED_FAILURES',
  })
})

test('failures that were observed, before or after, are not reported', async (context) => {
  const warnings = watchWarnings(context)
  const { submitter, parts } = testClient()
  const early = submitter.submit(boom, [])
  const late = submitter.submit(boom, [])
  await assert.rejects(early)
  await until(() => late.state === 'failed')
  await assert.rejects(late)
  parts.failures.warn()
  assert.deepEqual(warnings, [])
})

test('cancelled futures are not failures', async (context) => {
  const warnings = watchWarnings(context)
  const { submitter, parts, connection } = testClient()
  submitter.submit(boom, []).cancel()
  submitter.submit(boom, [])
  submitter.map(boom, [1, 2, 3], {}, false)
  submitter.map(boom, [1, 2, 3], {}, false).cancel()
  await connection.close()
  parts.failures.warn()
  assert.deepEqual(warnings, [])
})

test('a failed map that is never awaited is one failure', async (context) => {
  const warnings = watchWarnings(context)
  const { submitter, parts, connection } = testClient()
  submitter.map(boom, [1, 2, 3], {}, false)
  await until(() => connection.unfinishedTasks === 0)
  parts.failures.warn()
  assert.match(String(warnings[0]?.message), /^a future failed and was never awaited/)
})

test('a failure that is never awaited is not an unhandled rejection', async () => {
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', note)
  try {
    const { submitter, connection } = testClient()
    submitter.submit(boom, [])
    submitter.map(boom, [1, 2], {}, false)
    await until(() => connection.unfinishedTasks === 0)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(rejections, [])
  } finally {
    process.off('unhandledRejection', note)
  }
})

// Spans with the SDK of OpenTelemetry, in the program and in the processors.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client, currentClient, currentTask } from 'scaler-ts'
import { ROOT } from '../interop/program.js'
import { until } from './condition.js'
import type * as Tracing from './program/tracing.js'

const TRACING = new URL('./program/tracing.js', import.meta.url).href
const isMissing = !existsSync(join(ROOT, '.peers/opentelemetry/made-of'))
const skip = isMissing && 'no OpenTelemetry: node scripts/peers.mjs'

const double = (x: number): number => 2 * x
const fail = (): never => {
  throw new RangeError('no')
}
const failOnce = (): number => {
  if (currentTask().attempt === 1) throw new RangeError('once')
  return 1
}
const sleep = (): Promise<void> =>
  new Promise((_, reject) => {
    const { signal } = currentTask()
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    currentTask().setProgress(0)
  })

/** Makes a span of its own, and submits a task. */
async function nest(tracing: string): Promise<number> {
  const { api } = (await import(tracing)) as typeof Tracing
  const span = api.trace.getTracer('task').startSpan('inner')
  span.end()
  return currentClient().submit(double, 4)
}

/** `name < its parent < …`, as far as the parents were written. */
function pathOf(span: Tracing.WrittenSpan, spans: readonly Tracing.WrittenSpan[]): string {
  const parent = spans.find(({ id }) => id === span.parent)
  return parent === undefined ? span.name : `${span.name} < ${pathOf(parent, spans)}`
}

test('all spans of a program and its tasks are one trace', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spans-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'spans.jsonl')
  process.env['SPANS'] = file
  const { api, flush } = (await import(TRACING)) as typeof Tracing
  const client = await Client.local({
    workers: 2,
    execArgv: ['--import', TRACING],
    env: { ...process.env, SPANS: file },
  })
  t.after(() => client.close())
  await api.trace.getTracer('app').startActiveSpan('app', async (span) => {
    assert.equal(await client.submit(double, 1), 2)
    assert.equal(await client.submit(nest, TRACING), 8)
    assert.deepEqual(await client.map(double, [1, 2]), [2, 4])
    assert.deepEqual(await client.get({ a: [double, 1], b: [double, 'a'] }, ['b']), { b: 4 })
    await assert.rejects(Promise.resolve(client.submit(fail)), RangeError)
    assert.equal(await client.with({ retries: 1 }).submit(failOnce), 1)
    const sleeping = client.submit(sleep)
    // Before that, it would end without a span: not begun, or by force.
    await until('the task listens', () => sleeping.progress !== undefined)
    sleeping.cancel()
    await assert.rejects(Promise.resolve(sleeping))
    span.end()
  })
  const parent = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 }
  const unsampled = api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
  await api.context.with(unsampled, () => client.submit(double, 5))
  // The last spans of processors are written when these exit.
  await client.close()
  await flush()
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const spans = lines.map((line) => JSON.parse(line) as Tracing.WrittenSpan)
  assert.equal(new Set(spans.map(({ trace }) => trace)).size, 1)
  assert.deepEqual(spans.map((span) => pathOf(span, spans)).toSorted(), [
    'app',
    'get < app',
    'inner < run nest < submit nest < app',
    'map double < app',
    'run double < get < app',
    'run double < get < app',
    'run double < map double < app',
    'run double < map double < app',
    'run double < submit double < app',
    'run double < submit double < run nest < submit nest < app',
    'run fail < submit fail < app',
    'run failOnce < submit failOnce < app',
    'run failOnce < submit failOnce < app',
    'run nest < submit nest < app',
    'run sleep < submit sleep < app',
    'submit double < app',
    'submit double < run nest < submit nest < app',
    'submit fail < app',
    'submit failOnce < app',
    'submit nest < app',
    'submit sleep < app',
  ])
  const of = (name: string): readonly Tracing.WrittenSpan[] =>
    spans.filter((span) => span.name === name)
  for (const name of ['run fail', 'submit fail']) {
    assert.deepEqual(
      of(name).map(({ status, exceptions }) => [status, exceptions]),
      [[2, ['RangeError']]],
    )
  }
  assert.deepEqual(
    of('run failOnce')
      .map(({ status, attributes }) => `${String(attributes['scaler.attempt'])}: ${status}`)
      .toSorted(),
    ['1: 2', '2: 0'],
  )
  for (const name of ['run sleep', 'submit sleep']) {
    assert.equal(of(name)[0]?.attributes['scaler.outcome'], 'cancelled')
  }
})

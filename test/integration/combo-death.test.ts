// Parts of a local cluster that die: they are restarted, and every future still settles correctly.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { Client, type ComboOptions } from 'scaler-ts'
import type { LogFields } from '#src/base/logger.js'
import { isAlive, until } from './condition.js'

const skip = process.platform === 'win32' ? 'has no ps' : false

/** The processes that embed a scheduler or an agent for this program. */
function embeddedPids(): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
  return table.split('\n').flatMap((line) => {
    const [pid, parent, ...args] = line.trim().split(/\s+/)
    const isOurs = Number(parent) === process.pid && args.join(' ').includes('embedded-main')
    return isOurs ? [Number(pid)] : []
  })
}

interface Parts {
  readonly client: Client
  readonly scheduler: number
  readonly agent: number
  /** Warnings of the process, as they arrive. */
  readonly warnings: string[]
}

async function startLocal(t: TestContext, options: ComboOptions = {}): Promise<Parts> {
  const warnings: string[] = []
  const onWarning = (warning: Error & { code?: string }): void => {
    if (warning.code === 'SCALER_EMBEDDED_ENDED') warnings.push(warning.message)
  }
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const client = await Client.local({ workers: 2, protected: false, ...options })
  t.after(() => client.close())
  const agent = await client.submit(() => process.ppid)
  const scheduler = embeddedPids().find((pid) => pid !== agent)
  assert.ok(scheduler !== undefined && embeddedPids().includes(agent), 'two processes')
  return { client, scheduler, agent, warnings }
}

/** Fifty tasks: when `kill` is called, some have run, but none of the last. */
async function killAmid({ client }: Parts, kill: () => void): Promise<void> {
  const futures = Array.from({ length: 50 }, (_, i) =>
    client.submit(async (x: number) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return x * x
    }, i),
  )
  await futures[4]
  kill()
  assert.deepEqual(
    await Promise.all(futures),
    Array.from({ length: 50 }, (_, i) => i * i),
  )
}

async function closeAndLookBehind({ client }: Parts): Promise<void> {
  await client.close()
  await until('nothing is left', () => embeddedPids().length === 0)
}

for (const [role, workers] of [
  ['scheduler', 2],
  ['agent', 2],
  ['scheduler', { max: 2 }],
  ['agent', { max: 2 }],
] as const) {
  const how = typeof workers === 'number' ? 'two workers' : 'up to two workers'
  test(
    `a local cluster of ${how} whose ${role} is killed amid 50 tasks loses none of them`,
    { skip },
    async (t) => {
      const parts = await startLocal(t, { workers })
      await killAmid(parts, () => process.kill(parts[role], 'SIGKILL'))
      assert.deepEqual(parts.warnings, [
        `the ${role} of the embedded cluster exited and is being restarted: SIGKILL`,
      ])
      assert.equal(embeddedPids().includes(parts[role]), false)
      await closeAndLookBehind(parts)
    },
  )
}

test('a local cluster that is killed entirely loses no task', { skip }, async (t) => {
  let metricsAddress = ''
  const ignore = (): void => {}
  const info = (_: string, fields: LogFields = {}): void => {
    if ('metricsAddress' in fields) metricsAddress = String(fields['metricsAddress'])
  }
  const logger = { debug: ignore, info, warn: ignore, error: ignore }
  const parts = await startLocal(t, { metricsAddress: '127.0.0.1:0', logger })
  assert.match(metricsAddress, /^127\.0\.0\.1:[1-9]\d*$/)
  await killAmid(parts, () => {
    process.kill(parts.agent, 'SIGKILL')
    process.kill(parts.scheduler, 'SIGKILL')
  })
  assert.equal(parts.warnings.length, 2)
  assert.equal(await parts.client.submit((x: number) => x + 1, 1), 2, 'it goes on')
  assert.equal((await fetch(`http://${metricsAddress}/readyz`)).status, 200, 'at the same address')
  await closeAndLookBehind(parts)
})

test(
  'a local cluster that is closed while a part waits for its restart leaves nothing',
  { skip },
  async (t) => {
    const parts = await startLocal(t)
    process.kill(parts.scheduler, 'SIGKILL')
    await until('it has ended', () => !isAlive(parts.scheduler))
    await closeAndLookBehind(parts)
  },
)

test('a shutdown by a client is not a failure: nothing is restarted', { skip }, async (t) => {
  const parts = await startLocal(t)
  await parts.client.shutdown()
  await until('all have ended', () => embeddedPids().length === 0)
  assert.deepEqual(parts.warnings, [])
})

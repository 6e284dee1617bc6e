// Processors that die inside a task, in every possible way, as a user sees it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ProcessorDiedError } from 'scaler-ts'
import { sized } from '#src/base/short-run.kit.js'
import { TestCluster } from '../chaos/cluster.js'

/** The cause of death, and the text of the error. */
interface Death {
  readonly title: string
  readonly die: () => unknown
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  /** The expected message. Default: the code or the signal. */
  readonly told?: RegExp
}

function bySignal(signal: NodeJS.Signals): Death {
  const die = async (): Promise<void> => {
    process.kill(process.pid, signal)
    await delay(1e8)
  }
  return { title: signal, die, exitCode: undefined, signal }
}

const DEATHS: readonly Death[] = [
  bySignal('SIGKILL'),
  bySignal('SIGSEGV'),
  bySignal('SIGABRT'),
  bySignal('SIGBUS'),
  bySignal('SIGHUP'),
  { title: 'exit 0', die: () => process.exit(0), exitCode: 0, signal: undefined },
  { title: 'exit 3', die: () => process.exit(3), exitCode: 3, signal: undefined },
  {
    title: 'exit later, while it waits',
    die: async () => {
      setImmediate(() => process.exit(9))
      await delay(1e8)
    },
    exitCode: 9,
    signal: undefined,
  },
  { title: 'process.abort', die: () => process.abort(), exitCode: undefined, signal: 'SIGABRT' },
  {
    title: 'kill of a busy loop',
    die: () => {
      setImmediate(() => {})
      process.kill(process.pid, 'SIGKILL')
      for (;;);
    },
    exitCode: undefined,
    signal: 'SIGKILL',
  },
  {
    title: 'out of memory',
    die: () => {
      const kept: number[][] = []
      for (;;) kept.push(new Array<number>(1e6).fill(kept.length + 0.5))
    },
    exitCode: undefined,
    signal: 'SIGABRT',
    told: /out of memory/,
  },
]

test('each death of a processor is reported accurately, and others continue', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [2],
    // A small heap fills up quickly.
    env: { NODE_OPTIONS: '--max-old-space-size=96' },
    agentArgs: ['--spare-processors', '1'],
  })
  const client = cluster.client()
  for (const { title, die, exitCode, signal, told } of DEATHS) {
    const others = Array.from({ length: 20 }, (_, x) => client.submit((y: number) => y * 2, x))
    const error: unknown = await client.submit(die).then(
      () => assert.fail(`${title}: it has returned`),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof ProcessorDiedError, `${title}: ${String(error)}`)
    assert.deepEqual(
      { exitCode: error.exitCode, signal: error.signal },
      { exitCode, signal },
      `${title}: ${error.message}`,
    )
    assert.match(error.message, told ?? new RegExp(signal ?? `${exitCode}`), title)
    assert.deepEqual(
      await Promise.all(others),
      others.map((_, x) => 2 * x),
      title,
    )
  }
})

test('processes that are killed while they are idle cost no task that follows', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const pidOf = (): number => process.pid
  const pids = new Set<number>()
  for (let round = 0; round < 10; round += 1) {
    const pid = await client.submit(pidOf)
    process.kill(pid, 'SIGKILL')
    pids.add(pid)
    // This one may reach the process before its worker knows that it is gone.
    assert.ok(!pids.has(await client.submit(pidOf)))
  }
})

test('the last lines on stderr are kept, however much was printed and however the process ended', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const print = (lines: number, signal?: 'SIGKILL'): void => {
    for (let line = 1; line <= lines; line += 1) process.stderr.write(`line ${line}\n`)
    if (signal === undefined) process.exit(3)
    process.kill(process.pid, signal)
    for (;;);
  }
  // Far more than a pipe holds, in far more pieces.
  const count = sized(50_000, 10_000)
  for (const signal of [undefined, 'SIGKILL'] as const) {
    const error: unknown = await client.submit(print, count, signal).catch((reason) => reason)
    assert.ok(error instanceof ProcessorDiedError, String(error))
    assert.ok(error.stderr.endsWith(`line ${count - 1}\nline ${count}\n`), error.stderr)
  }
})

test('a parent learns how its children end, whatever they do, if there is a second worker', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2] })
  const client = cluster.client()
  const nameOf = (error: unknown): string => (error as Error).name
  const parent = async (): Promise<unknown> => {
    const { currentClient } = await import('scaler-ts')
    const inside = currentClient()
    const exits = (x: number): number => (x === 1 ? process.exit(3) : x)
    const settled = await inside.map(exits, [0, 1, 2]).allSettled()
    const spin = (): never => {
      for (;;);
    }
    const late = inside.with({ timeoutMs: 100 }).submit(spin)
    const unwanted = inside.submit(spin)
    setTimeout(() => unwanted.cancel(), 100)
    return [
      ...settled.map((outcome) =>
        outcome.status === 'fulfilled' ? outcome.value : nameOf(outcome.reason),
      ),
      await late.catch(nameOf),
      await unwanted.catch(nameOf),
    ]
  }
  const expected = [0, 'ProcessorDiedError', 2, 'TaskTimeoutError', 'TaskCancelledError']
  assert.deepEqual(await client.submit(parent), expected)
})

test('a parent is notified of the death of its child task, and continues', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const parent = async (): Promise<string> => {
    const { currentClient } = await import('scaler-ts')
    const child = currentClient().submit(() => process.exit(4))
    return child.then(
      () => 'no error',
      (error: unknown) => (error as Error).name,
    )
  }
  const told = await client
    .with({ retries: 0 })
    .submit(parent)
    .catch((reason: unknown) => (reason as Error).name)
  // Parent and child share the one processor: its death ends both, or the parent sees it.
  assert.equal(told, 'ProcessorDiedError')
  assert.equal(await client.submit(Math.sqrt, 16), 4)
})

// What a real processor is doing, asked through its guardian. It goes on afterwards in every case.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { StackReport } from '../core/worker/events.js'
import { LiveProcessor } from './live-processor.kit.js'

interface Stage {
  readonly processor: LiveProcessor
  readonly path: string
  /** What it is doing now. */
  readonly look: () => Promise<StackReport>
  /** The task that runs may end; resolves when it has. */
  readonly end: () => Promise<void>
}

/** A processor that runs `fn(path)` until there is a file with this path. */
async function running(
  t: TestContext,
  fn: (path: string) => unknown,
  execArgv: readonly string[] = [],
): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'look-'))
  const processor = new LiveProcessor({ execArgv })
  t.after(async () => {
    await processor.host.end()
    await rm(folder, { recursive: true })
  })
  await processor.ready
  const path = join(folder, 'go')
  processor.dispatch('a', processor.define(fn), [path])
  await processor.begun(0)
  const look = async (): Promise<StackReport> => {
    const { length } = processor.stacks
    processor.host.askStack()
    await processor.until('a report', () => processor.stacks.length > length)
    return processor.stacks[length] ?? assert.fail()
  }
  const end = async (): Promise<void> => {
    writeFileSync(path, '')
    await processor.until('a result', () => processor.results.length > 0)
    assert.equal(processor.results[0]?.status, 'success')
  }
  return { processor, path, look, end }
}

const isAtLeast22 = Number(process.versions.node.split('.')[0]) >= 22

/** A loop that a file ends. */
const spin = (path: string, exists: (path: string) => boolean): void => {
  while (!exists(path));
}

function namesIn({ stack }: StackReport): readonly string[] {
  return stack.map(({ function: name }) => name).filter((name) => name !== 'existsSync')
}

test('a busy loop: the calls of users, the innermost first, with places', async (t) => {
  const { look, end } = await running(t, async function outer(path: string) {
    const { existsSync } = await import('node:fs')
    spin(path, existsSync)
  })
  // The task has begun, but perhaps not its loop.
  let isSpinning = false
  for (let tries = 0; tries < 50 && !isSpinning; tries += 1) {
    isSpinning = namesIn(await look()).includes('spin')
  }
  for (let count = 0; count < 3; count += 1) {
    const report = await look()
    assert.deepEqual([report.outcome, report.reason], ['running', ''])
    assert.deepEqual(namesIn(report), ['spin', 'outer'])
    const place = report.stack.find(({ function: name }) => name === 'spin') ?? assert.fail()
    const text = readFileSync(place.file, 'utf8').split('\n')[place.line - 1]
    assert.match(text?.slice(place.column - 1) ?? '', /^(while \()?!?exists\(path\)/)
  }
  await end()
})

test('a task that waits runs nothing', async (t) => {
  const { look, end } = await running(t, async (path: string) => {
    const { existsSync } = await import('node:fs')
    while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 1_000))
  })
  const { outcome, stack } = await look()
  assert.ok(outcome === 'idle' || stack.length > 0)
  await end()
})

test('a synchronous child process blocks it; afterwards it can be looked at again', async (t) => {
  const { path, look, end } = await running(t, async (file: string) => {
    const { execFileSync } = await import('node:child_process')
    const { existsSync } = await import('node:fs')
    const wait = `while (!require('node:fs').existsSync('${file}.child'));`
    execFileSync(process.execPath, ['-e', wait])
    spin(file, existsSync)
  })
  assert.deepEqual([(await look()).outcome, (await look()).outcome], ['blocked', 'blocked'])
  writeFileSync(`${path}.child`, '')
  // The child has to exit.
  while ((await look()).outcome === 'blocked');
  await end()
})

test('a deep stack is cut', async (t) => {
  const { look, end } = await running(t, async (path: string) => {
    const { existsSync } = await import('node:fs')
    const down = (depth: number): void => (depth === 0 ? spin(path, existsSync) : down(depth - 1))
    down(2_000)
  })
  const { stack } = await look()
  assert.equal(stack.length, 100)
  assert.equal(stack.at(-1)?.function, 'down')
  await end()
})

test('a task that uses the inspector itself goes on, whether it is enabled or pauses', async (t) => {
  const { look, end } = await running(t, async function inspecting(path: string) {
    const { Session } = await import('node:inspector')
    const { existsSync } = await import('node:fs')
    const session = new Session()
    session.connect()
    session.post('Debugger.enable')
    while (!existsSync(path)) {
      session.post('Runtime.evaluate', { expression: '1 + 1' })
      // oxlint-disable-next-line no-debugger
      debugger
    }
  })
  for (let count = 0; count < 10; count += 1) {
    const report = await look()
    assert.equal(report.outcome, 'running')
    assert.ok(namesIn(report).includes('inspecting'))
  }
  await end()
})

test('where Node has permissions, there is no inspector', async (t) => {
  const permissions = [isAtLeast22 ? '--permission' : '--experimental-permission']
  for (const what of ['--allow-worker', '--allow-fs-read=*', '--allow-child-process']) {
    permissions.push(what)
  }
  const fn = async (path: string): Promise<void> => {
    const { existsSync } = await import('node:fs')
    spin(path, existsSync)
  }
  const { look, end } = await running(t, fn, permissions)
  const { outcome, reason } = await look()
  assert.deepEqual([outcome, reason], ['failed', 'Node was started with --permission'])
  await end()
})

test('a processor that is killed during a look exits', async (t) => {
  const { processor } = await running(t, async (path: string) => {
    const { existsSync } = await import('node:fs')
    spin(path, existsSync)
  })
  processor.host.askStack()
  processor.host.kill()
  const { death } = await processor.exit
  assert.ok(death.signal === 'SIGTERM' || death.signal === 'SIGKILL')
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { taskId } from '../base/ids.js'
import { LiveProcessor, type Exit } from './live-processor.kit.js'
import type { ProcessorOptions } from './agent/spawn.js'

const isWindows = process.platform === 'win32'
const skip = isWindows ? 'there are no signals' : false

/** The signals that terminate a process by default. SIGUSR1 is used by Node. */
const DEADLY: readonly NodeJS.Signals[] = [
  ...(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS'] as const),
  ...(['SIGFPE', 'SIGKILL', 'SIGUSR2', 'SIGSEGV', 'SIGALRM', 'SIGTERM', 'SIGXCPU'] as const),
  ...(['SIGVTALRM', 'SIGSYS'] as const),
]

/** A processor in a folder of its own, where it may leave a core file. */
function start(context: TestContext, options: Partial<ProcessorOptions> = {}): LiveProcessor {
  const cwd = mkdtempSync(join(tmpdir(), 'scaler-death-'))
  const processor = new LiveProcessor({ cwd, ...options })
  context.after(async () => {
    processor.host.kill()
    await processor.host.exited
    rmSync(cwd, { recursive: true, force: true })
  })
  return processor
}

/** How a processor that runs this function exits; nothing is left of it then. */
async function endOf(
  processor: LiveProcessor,
  fn: (...args: never[]) => unknown,
  args: readonly unknown[] = [],
): Promise<Exit> {
  processor.dispatch('task', processor.define(fn), args)
  const pid = await processor.ready
  const exit = await processor.exit
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  assert.deepEqual(processor.story, [])
  return exit
}

test('the signal that ends a processor is reported by name', { skip }, async (context) => {
  async function check(signal: NodeJS.Signals): Promise<void> {
    const suicide = (name: NodeJS.Signals): void => {
      process.kill(process.pid, name)
      for (const end = Date.now() + 30_000; Date.now() < end;);
    }
    const { death, lastRun } = await endOf(start(context), suicide, [signal])
    assert.deepEqual([death.exitCode, death.signal, lastRun], [undefined, signal, 'unknown'])
  }
  for (let at = 0; at < DEADLY.length; at += 4) {
    await Promise.all(DEADLY.slice(at, at + 4).map(check))
  }
})

test('a signal that Node ignores ends nothing', { skip }, async (context) => {
  const processor = start(context)
  const send = processor.define((name: NodeJS.Signals) => process.kill(process.pid, name))
  for (const name of ['SIGPIPE', 'SIGXFSZ']) processor.dispatch(name, send, [name])
  await processor.until('both answers', () => processor.results.length === 2)
  assert.deepEqual(processor.story, ['SIGPIPE success true', 'SIGXFSZ success true'])
})

test('a processor that exits reports its code and which task it ran', async (context) => {
  for (const code of [0, 3]) {
    const { death, lastRun } = await endOf(start(context), (n: number) => process.exit(n), [code])
    assert.deepEqual([death.exitCode, death.signal], [code, undefined])
    assert.deepEqual(lastRun, { taskIds: ['task'] })
  }
})

test(
  'a processor whose working directory has been deleted runs tasks',
  { skip },
  async (context) => {
    const cwd = mkdtempSync(join(tmpdir(), 'scaler-death-'))
    const processor = start(context, { cwd })
    await processor.ready
    rmSync(cwd, { recursive: true })
    const wait = processor.define(async () => {
      await new Promise<void>((resolve) => setTimeout(resolve, 1))
      return process.cwd()
    })
    processor.dispatch('task', wait)
    await Promise.race([
      processor.until('an answer', () => processor.results.length > 0),
      processor.exit,
    ])
    assert.deepEqual(processor.story, ['task success /'])
  },
)

test('an exception in a callback, and a rejection, are reported on stderr', async (context) => {
  const inTimer = (): Promise<never> => {
    setTimeout(() => {
      throw new Error('in a timer')
    })
    return new Promise(() => {})
  }
  const rejected = (): Promise<never> => {
    void Promise.reject(new Error('by nobody'))
    return new Promise(() => {})
  }
  for (const [fn, text] of [
    [inTimer, /in a timer/],
    [rejected, /by nobody/],
  ] as const) {
    const { death, lastRun } = await endOf(start(context), fn)
    assert.equal(death.exitCode, 1)
    assert.match(death.stderr, text)
    assert.deepEqual(lastRun, { taskIds: ['task'] })
  }
})

test('a native abort, and too little memory, are reported on stderr', { skip }, async (context) => {
  const aborted = await endOf(start(context), () => process.abort())
  assert.equal(aborted.death.signal, 'SIGABRT')
  const hoard = (): never => {
    const all: number[][] = []
    for (;;) all.push(new Array<number>(10_000).fill(all.length + 0.5))
  }
  const execArgv = ['--max-old-space-size=32']
  const starved = await endOf(start(context, { execArgv }), hoard)
  assert.notEqual(starved.death.exitCode, 0)
  assert.match(starved.death.stderr, /JavaScript heap out of memory/)
})

test('a processor that cannot start a thread blames no task', async (context) => {
  const noThreads = `
    import threads from 'node:worker_threads'
    import { syncBuiltinESMExports } from 'node:module'
    threads.Worker = function () { throw Object.assign(new Error('EAGAIN'), { code: 'EAGAIN' }) }
    syncBuiltinESMExports()`
  const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(noThreads)}`]
  const { death, lastRun } = await endOf(start(context, { execArgv }), () => 1)
  assert.deepEqual([death.exitCode, death.stderr, lastRun], [1, '', 'unusable'])
})

test('the empty lines of a report of Node are not in the log', async (context) => {
  const processor = start(context, { execArgv: ['--import', 'data:text/javascript,throw 1'] })
  const { death } = await processor.exit
  assert.match(death.stderr, /\n\n/)
  assert.deepEqual(
    processor.lines.filter((line) => /^warn +processorId/.test(line)),
    [],
  )
  assert.ok(processor.lines.length > 2, processor.lines.join('\n'))
})

test('answers that a processor has sent before it dies are not lost', async (context) => {
  const processor = start(context)
  const one = processor.define((id: number) => id)
  const end = processor.define(() => {
    process.kill(process.pid, 'SIGKILL')
    for (;;);
  })
  for (let id = 0; id < 100; id += 1) processor.dispatch(String(id), one, [id])
  processor.dispatch('end', end)
  processor.dispatch('never', one)
  await processor.exit
  assert.equal(processor.results.length, 100)
})

test('a task that was sent to a processor that has just been killed is unread', async (context) => {
  const processor = start(context)
  const one = processor.define((id: number) => id)
  processor.dispatch('one', one, [1])
  await processor.until('its answer', () => processor.results.length === 1)
  process.kill(await processor.ready, 'SIGKILL')
  processor.dispatch('two', one, [2])
  const { death, lastRun } = await processor.exit
  assert.deepEqual([death.signal, lastRun], ['SIGKILL', 'unread'])
})

test('a task that was read is not unread, nor one before an order', { skip }, async (context) => {
  const spin = (): never => {
    for (;;);
  }
  const busy = start(context)
  busy.dispatch('busy', busy.define(spin))
  await busy.begun(0)
  process.kill(await busy.ready, 'SIGKILL')
  assert.equal((await busy.exit).lastRun, 'unknown')
  const ordered = start(context)
  const pid = await ordered.ready
  process.kill(pid, 'SIGKILL')
  ordered.dispatch('task', ordered.define(spin))
  ordered.host.stop(taskId('task'), 1, 'cancelled')
  assert.equal((await ordered.exit).lastRun, 'unknown')
})

test('a processor that ignores SIGTERM is killed', { skip }, async (context) => {
  const processor = start(context, { killDelayMs: 50 })
  const deaf = processor.define(() => {
    process.on('SIGTERM', () => {})
    console.log('deaf')
    for (;;);
  })
  processor.dispatch('deaf', deaf)
  await processor.until('its line', () => processor.lines.length > 0)
  processor.host.kill()
  const { death } = await processor.exit
  assert.equal(death.signal, 'SIGKILL')
})

test('a processor stopped by SIGSTOP is killed after a while', { skip }, async (context) => {
  const processor = start(context, { pulseIntervalMs: 20 })
  const freeze = (): never => {
    process.kill(process.pid, 'SIGSTOP')
    for (;;);
  }
  const { death, lastRun } = await endOf(processor, freeze)
  assert.deepEqual([death.signal, lastRun], ['SIGKILL', 'unknown'])
  const line = 'error the processor is frozen and will be killed processorId silentMs'
  assert.ok(processor.lines.includes(line))
})

test('a processor that exits while it starts is reported like others', async (context) => {
  const processor = start(context)
  processor.host.kill()
  await processor.host.started
  assert.equal(processor.host.isReady, false)
  const { lastRun } = await processor.exit
  assert.equal(lastRun, 'unknown')
})

test('a process that a task has detached delays nothing', { skip }, async (context) => {
  const processor = start(context)
  const sendAway = processor.define(async () => {
    const { spawn } = await import('node:child_process')
    const options = { detached: true, stdio: 'inherit' } as const
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], options)
    child.unref()
    return child.pid
  })
  processor.dispatch('away', sendAway)
  await processor.until('the child', () => processor.results.length === 1)
  const pid = Number(processor.story[0]?.split(' ').at(-1))
  context.after(() => process.kill(pid, 'SIGKILL'))
  processor.host.kill()
  await processor.exit
  assert.equal(process.kill(pid, 0), true)
})

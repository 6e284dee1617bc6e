import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { runCommand } from './shell.js'

const LINUX = { skip: existsSync('/proc/self/cmdline') ? false : 'reads /proc' }

/** Whether a process runs; a zombie does not. */
function isRunning(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

test('a command gets its input, and its output is the result', async () => {
  assert.equal(await runCommand(['sh', '-c', 'cat; echo b'], { input: 'a\n' }), 'a\nb\n')
})

test('the error says why a command has failed', async () => {
  const cases = [
    [['no-such-program'], 'no-such-program is not installed, or not in PATH'],
    [['sh', '-c', 'exit 3'], 'sh ended with exit code 3'],
    [['sh', '-c', 'echo no partition >&2; exit 1'], 'sh ended with exit code 1: no partition'],
    [['sh', '-c', 'kill -TERM $$'], 'sh ended with SIGTERM'],
  ] as const
  for (const [command, message] of cases) {
    await assert.rejects(runCommand(command), { code: 'ERR_SCALER_PROVIDER', message })
  }
})

test('a command that does not end is killed, with what it has started', LINUX, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shell-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'pid')
  const command = ['sh', '-c', `sleep 600 & echo $! > ${file}; wait`]
  const message = 'sh took longer than 0.5 s'
  await assert.rejects(runCommand(command, { timeoutMs: 500 }), { message })
  const pid = readFileSync(file, 'utf8').trim()
  while (isRunning(pid)) await setTimeout(10)
})

test('a command that nobody waits for any more is killed at once', LINUX, async () => {
  const stop = new AbortController()
  const folder = mkdtempSync(join(tmpdir(), 'shell-'))
  const file = join(folder, 'pid')
  const command = ['sh', '-c', `echo $$ > ${file}.new; mv ${file}.new ${file}; sleep 600`]
  const running = runCommand(command, { signal: stop.signal })
  while (!existsSync(file)) await setTimeout(10)
  stop.abort()
  await assert.rejects(running, { message: 'sh was stopped' })
  assert.deepEqual(getEventListeners(stop.signal, 'abort'), [])
  const pid = readFileSync(file, 'utf8').trim()
  rmSync(folder, { recursive: true })
  while (isRunning(pid)) await setTimeout(10)
  await assert.rejects(runCommand(['sleep', '600'], { signal: stop.signal }), /was stopped/)
})

test('a signal for many commands keeps nothing of those that have ended', async () => {
  const { signal } = new AbortController()
  await runCommand(['true'], { signal })
  await assert.rejects(runCommand(['false'], { signal }))
  await assert.rejects(runCommand(['no-such-program'], { signal }))
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

test('what a command leaves in the background does not delay its result', LINUX, async () => {
  const pid = (await runCommand(['sh', '-c', 'sleep 600 & echo $!'])).trim()
  assert.ok(isRunning(pid))
  process.kill(Number(pid))
  while (isRunning(pid)) await setTimeout(10)
})

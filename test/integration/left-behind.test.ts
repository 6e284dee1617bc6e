// However a program with a local cluster ends, no process of the cluster is left behind, not even
// one in a busy loop of user code.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isAlive, until } from './condition.js'

const PROGRAM = fileURLToPath(new URL('./program/local-cluster.js', import.meta.url))

interface Story {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stderr: string
  readonly pids: readonly number[]
}

async function run(
  how: string,
  kill: (pid: number) => void,
  args: readonly string[] = [],
): Promise<Story> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(process.execPath, [PROGRAM, how, ...args], { stdio: [...stdio] })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { pids } = JSON.parse(line) as { pids: number[] }
  assert.ok(pids.length >= 4, `scheduler, agent and two processors: ${pids.join(' ')}`)
  kill(child.pid as number)
  const [exitCode, signal] = await exit
  await until(`the end of ${pids.join(' ')}`, () => !pids.some(isAlive))
  return { exitCode, signal, stderr, pids }
}

const skip = process.platform === 'linux' ? false : 'reads /proc'

test('a program that closes its cluster exits by itself', { skip }, async () => {
  const { exitCode, stderr } = await run('close', () => {})
  assert.equal(stderr, '')
  assert.equal(exitCode, 0)
})

test('a program that calls process.exit leaves nothing behind', { skip }, async () => {
  assert.equal((await run('exit', () => {})).exitCode, 5)
})

test('a program that fails leaves nothing behind', { skip }, async () => {
  const { exitCode, stderr } = await run('throw', () => {})
  assert.equal(exitCode, 1)
  assert.match(stderr, /a mistake of the user/)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  test(`a program that is ended by ${signal} leaves nothing behind`, { skip }, async () => {
    const story = await run('wait', (pid) => process.kill(pid, signal))
    assert.equal(story.signal, signal)
  })
}

test('a program that is killed leaves no worker that came with the work', { skip }, async () => {
  const story = await run('wait', (pid) => process.kill(pid, 'SIGKILL'), ['elastic'])
  assert.equal(story.signal, 'SIGKILL')
})

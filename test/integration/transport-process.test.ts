// Sockets and their process: when they keep it alive, and the effect of an exception in a handler.

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { identity } from '#src/base/ids.js'
import { EventLog, startRouter, tempDir, textsOf, told } from './transport-harness.js'

const PROGRAM = fileURLToPath(new URL('./transport-process.js', import.meta.url))

class Program {
  readonly lines: EventLog<string> = new EventLog()
  readonly exits: EventLog<string> = new EventLog()
  readonly child: ChildProcess

  constructor(t: TestContext, scenario: string, address = '') {
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    this.child = spawn(process.execPath, [PROGRAM, scenario, address], { stdio: [...stdio] })
    this.child.stdout?.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().trim().split('\n')) this.lines.add(line)
    })
    this.child.on('close', (code, signal) => this.exits.add(`${code ?? signal}`))
    t.after(() => this.child.kill('SIGKILL'))
  }

  /** Waits for the exit of the process and checks that it was normal. */
  async ended(): Promise<void> {
    await this.exits.until('the process has ended', (exits) => exits.length > 0)
    assert.deepEqual(this.exits.events, ['0'])
  }
}

test('an unreferenced dealer lets the process exit, connected or not', async (t) => {
  await new Program(t, 'unref-at-once', `ipc://${join(tempDir(t), 's')}`).ended()
  const { router, log } = await startRouter(t)
  const program = new Program(t, 'unref-later', router.address)
  await program.ended()
  assert.deepEqual(program.lines.events, ['connected'])
  await told(log, 'disconnect')
})

test('a dealer that is referenced again keeps the process alive', async (t) => {
  const { router, log } = await startRouter(t)
  const program = new Program(t, 'ref-again', router.address)
  await told(log, 'connect')
  assert.deepEqual(program.exits.events, [])
  router.send(identity('child'), Buffer.from('end'))
  await program.ended()
  assert.deepEqual(program.lines.events, ['told to end'])
})

test('a dealer that cannot connect keeps the process alive, and keeps trying', async (t) => {
  const program = new Program(t, 'keep-trying', `ipc://${join(tempDir(t), 's')}`)
  await program.lines.until('three attempts have failed', (lines) => lines.length >= 3)
  assert.deepEqual(program.exits.events, [])
})

test('close delivers messages even if the dealer was unreferenced', async (t) => {
  const { router, log } = await startRouter(t)
  const program = new Program(t, 'close-unreferenced', router.address)
  await program.ended()
  assert.deepEqual(program.lines.events, ['closed'])
  await told(log, 'disconnect')
  assert.deepEqual(textsOf(log), ['last words'])
})

test('closed sockets leave no timer, handle or request behind', async (t) => {
  const program = new Program(t, 'open-and-close')
  await program.ended()
  assert.deepEqual(program.lines.events, ['left: nothing'])
})

test('a handler that throws loses neither messages nor the connection', async (t) => {
  const program = new Program(t, 'throw-in-handler')
  await program.ended()
  assert.deepEqual(program.lines.events, ['1000 messages, 1000 echoed, true errors'])
})

test('a connection whose owner throws during a flush does not delay the others', async (t) => {
  const program = new Program(t, 'throw-while-flushing')
  await program.ended()
  assert.deepEqual(program.lines.events, ['one', 'thrown', 'two', 'thrown'])
})

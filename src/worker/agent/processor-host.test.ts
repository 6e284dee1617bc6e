import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProcessorDeath } from '../../base/errors.js'
import { silentLogger } from '../../base/logger.js'
import { identity } from '../../base/ids.js'
import type { LastRun, RunStatus } from '../../core/worker/events.js'
import { hostProcessor, type ProcessorHost, type ProcessorHostHandler } from './processor-host.js'
import { spawnProcessor, type ProcessorOptions } from './spawn.js'

const OPTIONS: ProcessorOptions = {
  workers: 1,
  execArgv: [],
  env: process.env,
  cwd: undefined,
  killDelayMs: 1000,
}

interface Exit {
  readonly death: ProcessorDeath
  readonly lastRun: LastRun
}

/** The events of a host, as promises. */
class Listener implements ProcessorHostHandler {
  readonly ready: Promise<number>
  readonly exit: Promise<Exit>
  readonly statuses: RunStatus[] = []
  #onReady: (pid: number) => void = () => {}
  #onExit: (exit: Exit) => void = () => {}

  constructor() {
    this.ready = new Promise((resolve) => (this.#onReady = resolve))
    this.exit = new Promise((resolve) => (this.#onExit = resolve))
  }

  onReady(pid: number): void {
    this.#onReady(pid)
  }

  onResult(): void {
    assert.fail('nothing was asked')
  }

  onUpdate(): void {
    assert.fail('nothing was asked')
  }

  onOutput(): void {}
  onPrinted(): void {}

  onStatus(status: RunStatus): void {
    this.statuses.push(status)
  }

  onStack(): void {
    assert.fail('nothing was asked')
  }

  onFiles(): void {}
  onObjectsLost(): void {}
  onTaken(): void {
    assert.fail('nothing was asked')
  }

  onRetracted(): void {
    assert.fail('nothing was asked')
  }

  onExit(death: ProcessorDeath, lastRun: LastRun): void {
    this.#onExit({ death, lastRun })
  }
}

function start(listener: Listener, options: ProcessorOptions = OPTIONS): ProcessorHost {
  const host = hostProcessor(options, silentLogger)
  const facts = {
    address: 'tcp://127.0.0.1:1',
    worker: identity('w'),
    inlineLimitBytes: 1,
    taskTimeoutMs: 0,
  }
  host.serve({ facts, logger: silentLogger, handler: listener })
  return host
}

test('a processor becomes ready, and exits on request', async () => {
  const listener = new Listener()
  const host = start(listener)
  assert.ok((await listener.ready) > 1)
  await Promise.all([host.end(), host.end()])
  const { death, lastRun } = await listener.exit
  assert.deepEqual(death, { exitCode: 0, signal: undefined, stderr: '' })
  assert.equal(lastRun, 'nothing')
  host.send(Buffer.alloc(8))
  host.dispatch(Buffer.alloc(8))
  host.askStatus(0, 1)
  host.kill()
})

test('a processor that is killed leaves no exit note', async () => {
  const listener = new Listener()
  const host = start(listener)
  await listener.ready
  host.kill()
  const { death, lastRun } = await listener.exit
  assert.equal(death.signal, 'SIGTERM')
  assert.equal(lastRun, 'unknown')
})

test('a process that cannot be started is reported as a death', async () => {
  const listener = new Listener()
  const host = start(listener, { ...OPTIONS, cwd: '/no/such/folder' })
  host.send(Buffer.alloc(8))
  host.dispatch(Buffer.alloc(8))
  host.askStatus(0, 1)
  host.kill()
  const { death, lastRun } = await listener.exit
  assert.equal(death.exitCode, undefined)
  assert.match(death.stderr, /could not be started: .*ENOENT/)
  assert.equal(lastRun, 'nothing')
  await host.end()
})

test('options that Node refuses to spawn with cause an error, too', () => {
  const child = spawnProcessor({ ...OPTIONS, execArgv: ['a\0b'] })
  assert.ok(child instanceof Error)
})

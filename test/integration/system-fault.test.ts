// Each way in which the system can refuse a request, at each place where a running process makes
// one: to accept, to connect, to start a process, to write a log. Statistics have a test of their
// own (src/runtime/process-usage.test.ts).

import assert from 'node:assert/strict'
import childProcess from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '#src/base/logger.js'
import { openLogger } from '#src/runtime/log/open.js'
import { Scheduler } from '#src/scheduler/scheduler.js'
import { hostProcessor } from '#src/worker/agent/processor-host.js'

import { startDealer, startRouter, textsOf, told } from './transport-harness.js'
import { LineLogger } from './worker-agent-setup.js'

const CODES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EACCES', 'EPERM', 'EAGAIN', 'EIO'] as const

function failure(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: injected, ${what}`), { code, syscall: what })
}

/** Replaces a function of Node's until the test ends or the replacement is removed. */
function replace<Owner extends object, Name extends keyof Owner>(
  t: TestContext,
  owner: Owner,
  name: Name,
  replacement: Owner[Name],
): () => void {
  const original = owner[name]
  const restore = (): void => {
    owner[name] = original
    syncBuiltinESMExports()
  }
  owner[name] = replacement
  syncBuiltinESMExports()
  t.after(restore)
  return restore
}

/** The requests to the system, each with a check that everything continues. */
const SITES: Readonly<Record<string, (t: TestContext, code: string) => Promise<void>>> = {
  'accept a connection': async (t, code) => {
    const servers: net.Server[] = []
    const create = net.createServer
    const restore = replace(t, net, 'createServer', ((...args: Parameters<typeof create>) => {
      const server = create(...args)
      servers.push(server)
      return server
    }) as typeof create)
    const log = new LineLogger()
    const router = await startRouter(t, { logger: log })
    restore()
    const peer = startDealer(t, router.router.address, 'peer')
    await told(router.log, 'connect')
    for (let count = 0; count < 100; count += 1) servers[0]?.emit('error', failure(code, 'accept'))
    peer.dealer.send(Buffer.from('echo'))
    await told(peer.log, 'message')
    startDealer(t, router.router.address, 'another')
    await told(router.log, 'connect', 2)
    const lines = log.lines.filter(({ text }) => text === 'cannot accept a connection')
    assert.equal(lines.length, 1)
  },
  'accept a scrape': async (t, code) => {
    const servers: http.Server[] = []
    const create = http.createServer
    const restore = replace(t, http, 'createServer', ((...args: Parameters<typeof create>) => {
      const server = create(...args)
      servers.push(server)
      return server
    }) as typeof create)
    const logger = new LineLogger()
    const addresses = { address: 'tcp://127.0.0.1:0', metricsAddress: '127.0.0.1:0' }
    await using scheduler = await Scheduler.start({ ...addresses, logger })
    restore()
    for (let count = 0; count < 100; count += 1) servers[0]?.emit('error', failure(code, 'accept'))
    replace(t, fs.promises, 'stat', (() =>
      Promise.reject(failure(code, 'stat'))) as typeof fs.promises.stat)
    const { status } = await fetch(`http://${scheduler.metricsAddress}/metrics`)
    assert.equal(status, 200)
    const lines = logger.lines.filter(({ text }) => text === 'cannot serve metrics')
    assert.equal(lines.length, 1)
  },
  connect: async (t, code) => {
    const router = await startRouter(t)
    let refused = 0
    const { connect } = net
    const failing = (): net.Socket => {
      refused += 1
      const socket = new net.Socket()
      socket.destroy(failure(code, 'connect'))
      return socket
    }
    const restore = replace(t, net, 'connect', failing as typeof connect)
    const peer = startDealer(t, router.router.address, 'peer', { reconnectMinMs: 1 })
    await told(peer.log, 'failed', 3)
    restore()
    await told(peer.log, 'connect')
    assert.ok(refused >= 3)
    assert.match(textsOf(peer.log, 'failed')[0] ?? '', new RegExp(code))
  },
  'start a process, refused at once': async (t, code) => {
    replace(t, childProcess, 'spawn', () => {
      throw failure(code, 'spawn')
    })
    await assertUnstarted(code)
  },
  'start a process, refused in a moment': async (t, code) => {
    replace(t, childProcess, 'spawn', (() => {
      // As Node fails when there are no descriptors for pipes.
      const child = new childProcess.ChildProcess()
      process.nextTick(() => child.emit('error', failure(code, 'spawn')))
      return child
    }) as unknown as typeof childProcess.spawn)
    await assertUnstarted(code)
  },
  'write, open and close a log': async (t, code) => {
    const folder = fs.mkdtempSync(join(tmpdir(), 'log-'))
    t.after(() => fs.rmSync(folder, { recursive: true }))
    const path = join(folder, 'log')
    const told: string[] = []
    const stderr = { write: (text: string): unknown => told.push(text) }
    const log = await openLogger({ loggingPaths: [path] }, { stderr })
    const fail = (what: string): never => {
      throw failure(code, what)
    }
    const restore = replace(t, fs, 'writeSync', () => fail('write'))
    for (const text of ['one', 'two', 'three']) log.logger.info(text)
    assert.equal(told.length, 1)
    assert.match(told[0] ?? '', /^cannot write the log to .*; continuing without it\n$/)
    restore()
    log.logger.info('four')
    assert.match(told[1] ?? '', /again; 3 lines were lost/)
    const restoreOpen = replace(t, fs, 'openSync', () => fail('open'))
    log.reopen()
    restoreOpen()
    log.logger.info('five')
    const restoreClose = replace(t, fs, 'closeSync', () => fail('close'))
    log.reopen()
    log.logger.info('six')
    await log.close()
    restoreClose()
    const texts = fs
      .readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly message: string }).message)
    assert.deepEqual(texts, ['four', 'five', 'six'])
  },
}

async function assertUnstarted(code: string): Promise<void> {
  const options = { workers: 1, execArgv: [], env: process.env, cwd: undefined, killDelayMs: 10 }
  const host = hostProcessor(options, silentLogger)
  const facts = { address: '', worker: '', inlineLimitBytes: 0, taskTimeoutMs: 0 } as never
  const stderr = await new Promise<string>((resolve) => {
    host.serve({
      facts,
      logger: silentLogger,
      handler: {
        onReady: () => assert.fail('it is ready'),
        onResult: () => {},
        onUpdate: () => {},
        onStatus: () => {},
        onStack: () => {},
        onFiles: () => {},
        onObjectsLost: () => {},
        onTaken: () => {},
        onRetracted: () => {},
        onOutput: () => {},
        onPrinted: () => {},
        onExit: (death, lastRun) => {
          assert.equal(lastRun, 'nothing')
          resolve(death.stderr)
        },
      },
    })
  })
  assert.match(stderr, new RegExp(`^the process could not be started: .*${code}`))
}

for (const [site, check] of Object.entries(SITES)) {
  test(`a single refusal by the system ends nothing: ${site}`, async (t) => {
    for (const code of CODES) await t.test(code, (sub) => check(sub, code))
  })
}

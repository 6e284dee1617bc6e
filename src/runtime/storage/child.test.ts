// An object storage server as a child process.

import assert from 'node:assert/strict'
import childProcess, { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../../base/logger.js'
import { StorageChild } from './child.js'
import { StorageLink } from './link.js'

const NOWHERE = ['--object-directory', '', '--spill-directory', '']

async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `tcp://127.0.0.1:${port}`
}

/** Resolves when a server at this address has answered. */
async function answered(t: TestContext, address: string): Promise<void> {
  // The connection does not keep the process alive.
  const alive = setInterval(() => {}, 60_000)
  await new Promise<void>((resolve) => {
    const handler = { onUp: () => resolve() }
    const link = new StorageLink({ name: address, address }, { logger: silentLogger }, handler)
    t.after(() => link.close())
  })
  clearInterval(alive)
}

test('a server runs until it is closed, and frees its port', async (t) => {
  const address = await freeAddress()
  const child = new StorageChild([address, ...NOWHERE], { logger: silentLogger }, () => {})
  t.after(() => child.close())
  await answered(t, address)
  await child.close()
  const server = createServer().listen(Number(new URL(address).port), '127.0.0.1')
  await once(server, 'listening')
  server.close()
})

test('a server that cannot listen is given up after some attempts', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (text: string) => warnings.push(text) }
  const args = [`tcp://127.0.0.1:${port}`, ...NOWHERE]
  const alive = setInterval(() => {}, 60_000)
  await new Promise<void>((resolve) => {
    const child = new StorageChild(args, { logger }, resolve)
    t.after(() => child.close())
  })
  clearInterval(alive)
  assert.equal(warnings.length, 5)
  assert.match(warnings.at(-1) ?? '', /has ended too often/)
})

test('a server that the system cannot start is an end like any other', async (t) => {
  const unstarted: ChildProcess[] = []
  t.mock.method(childProcess, 'spawn', () => {
    // As for want of file descriptors: it has no streams, and its error comes later.
    const child = new ChildProcess()
    process.nextTick(() => child.emit('error', new Error('spawn EMFILE')))
    unstarted.push(child)
    return child
  })
  const reasons: unknown[] = []
  await new Promise<void>((resolve) => {
    const warn = (_: string, fields?: { why?: unknown }): void => {
      reasons.push(fields?.why)
      resolve()
    }
    const child = new StorageChild(NOWHERE, { logger: { ...silentLogger, warn } }, () => {})
    t.after(() => child.close())
  })
  unstarted[0]?.emit('error', new Error('once more'))
  assert.deepEqual(reasons, ['spawn EMFILE'])
})

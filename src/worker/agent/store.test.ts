import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { silentLogger } from '../../base/logger.js'
import { fileOf } from '../../wire/object-content.js'
import { AgentStore } from './store.js'

function newStore(context: TestContext): { store: AgentStore; base: string } {
  const base = mkdtempSync(join(tmpdir(), 'sc-'))
  context.after(() => rmSync(base, { recursive: true }))
  const store = new AgentStore(silentLogger, base)
  context.after(() => store.close())
  return { store, base }
}

function write(store: AgentStore, ...texts: string[]): Promise<Uint8Array | undefined> {
  const chunks = texts.map((text) => Buffer.from(text))
  return new Promise((resolve) => store.write(chunks, resolve))
}

test('content goes into a file that only this user can read', async (context) => {
  const { store, base } = newStore(context)
  const chunk = await write(store, 'some ', 'content')
  const { path, byteLength } = fileOf([chunk as Uint8Array]) ?? { path: '', byteLength: 0 }
  assert.equal(byteLength, 'some content'.length)
  assert.equal(readFileSync(path, 'utf8'), 'some content')
  assert(path.startsWith(base))
  if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('files are removed, and all with the store', async (context) => {
  const { store, base } = newStore(context)
  const chunks = [await write(store, 'a'), await write(store, 'b')] as Uint8Array[]
  const [first, second] = chunks.map((chunk) => fileOf([chunk])?.path ?? '') as [string, string]
  store.remove(chunks[0] as Uint8Array)
  while (existsSync(first)) await new Promise((resolve) => setImmediate(resolve))
  assert(existsSync(second))
  store.close()
  assert.deepEqual(readdirSync(base), [])
  assert.equal(await write(store, 'c'), undefined)
})

test('without a directory nothing is written', async () => {
  const store = new AgentStore(silentLogger, '')
  assert.equal(await write(store, 'a'), undefined)
  store.close()
})

test('a directory that is removed meanwhile is no failure', async (context) => {
  const { store, base } = newStore(context)
  for (const name of readdirSync(base)) rmSync(join(base, name), { recursive: true })
  assert.equal(await write(store, 'a'), undefined)
})

test('a directory that cannot be used is refused by name', () => {
  const missing = join(tmpdir(), 'there-is-no-such-directory')
  assert.throws(
    () => new AgentStore(silentLogger, missing),
    (error) => error instanceof ConfigError && error.message.startsWith('option objectDirectory: '),
  )
})

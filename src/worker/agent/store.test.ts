import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { silentLogger } from '../../base/logger.js'
import { readObjectFile, SHARED_MEMORY } from '../../runtime/object-files.js'
import { fileChunk, fileOf, MIN_LARGE_BYTES } from '../../wire/object-content.js'
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

test('content that arrives is written as it comes, in memory only', async (context) => {
  if (process.platform !== 'linux') return context.skip('there are such files only on Linux')
  const base = mkdtempSync(join(SHARED_MEMORY, 'sc-'))
  context.after(() => rmSync(base, { recursive: true }))
  const store = new AgentStore(silentLogger, base)
  context.after(() => store.close())
  const [one, other] = [store.open(MIN_LARGE_BYTES), store.open(MIN_LARGE_BYTES)]
  for (const value of [1, 2]) one?.write(Buffer.alloc(MIN_LARGE_BYTES / 2, value))
  other?.write(Buffer.alloc(10))
  const part = one?.finish()
  assert(part !== undefined)
  const chunk = part.chunks[0] as Uint8Array
  const elsewhere = {
    path: join(base, `scaler-ts-${'b'.repeat(32)}/${'a'.repeat(32)}`),
    byteLength: 5,
  }
  assert(store.owns(chunk) && !store.owns(fileChunk(elsewhere)))
  const halves = [1, 2].map((value) => Buffer.alloc(MIN_LARGE_BYTES / 2, value))
  assert.deepEqual(readObjectFile([chunk]), Buffer.concat(halves))
  other?.drop()
  other?.write(Buffer.alloc(10))
  assert.equal(other?.finish(), undefined)
  const { path } = fileOf([chunk]) ?? { path: '' }
  while (readdirSync(dirname(path)).length > 2)
    await new Promise((resolve) => setImmediate(resolve))
  assert.equal(store.open(MIN_LARGE_BYTES - 1), undefined)
  assert.equal(store.open(2 ** 40), undefined)
  store.close()
  assert.equal(store.open(MIN_LARGE_BYTES), undefined)
})

test('a file of something else is not removed', async (context) => {
  const { store, base } = newStore(context)
  await write(store, 'a')
  const other = `scaler-ts-${'b'.repeat(32)}`
  mkdirSync(join(base, other))
  const path = join(base, other, 'a'.repeat(32))
  writeFileSync(path, '')
  store.remove(fileChunk({ path, byteLength: 0 }))
  // It would be gone by the time that another one is.
  const chunk = (await write(store, 'b')) as Uint8Array
  store.remove(chunk)
  const { path: own } = fileOf([chunk]) ?? { path: '' }
  while (existsSync(own)) await new Promise((resolve) => setImmediate(resolve))
  assert(existsSync(path))
})

test('a directory that cannot be used is refused by name', () => {
  const missing = join(tmpdir(), 'there-is-no-such-directory')
  assert.throws(
    () => new AgentStore(silentLogger, missing),
    (error) => error instanceof ConfigError && error.message.startsWith('option objectDirectory: '),
  )
})

// Content on disk: what is written is read again, and a disk that is full, missing or damaged stops
// nothing.

import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { fileChunk, type ObjectFile } from '../wire/object-content.js'
import { DiskStore, type MoveEvent } from './disk-store.js'
import { takeDescriptors } from './shortage.kit.js'

interface Opened {
  readonly disk: DiskStore
  readonly base: string
  readonly warnings: string[]
  /** The next event. */
  readonly next: () => Promise<MoveEvent>
  /** Whether it was behind, as it has said. */
  readonly behind: boolean[]
}

function openDisk(t: TestContext, maxWaitingBytes = 2 ** 27): Opened {
  const base = mkdtempSync(join(tmpdir(), 'disk-'))
  const warnings: string[] = []
  const events: MoveEvent[] = []
  let wake = (): void => {}
  const disk = new DiskStore({
    onMoved: (event) => {
      events.push(event)
      wake()
    },
    onBehind: (isBehind) => void opened.behind.push(isBehind),
    openFile: (path) => (existsSync(path) ? openSync(path, 'r') : undefined),
    tell: (text) => warnings.push(text),
    maxWaitingBytes,
  })
  t.after(() => {
    disk.close()
    rmSync(base, { recursive: true, force: true })
  })
  const next = async (): Promise<MoveEvent> => {
    if (events.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    const event = events.shift()
    assert(event !== undefined)
    return event
  }
  const opened: Opened = { disk, base, warnings, next, behind: [] }
  return opened
}

/** Moves content, and waits until it is on disk. */
async function moved(opened: Opened, move: number, content: Uint8Array): Promise<ObjectFile> {
  const chunks = [content.subarray(0, 10), content.subarray(10)]
  opened.disk.write({ type: 'moveToDisk', move, objectType: 'object', chunks })
  const event = await opened.next()
  assert(event.type === 'movedToDisk' && event.move === move)
  return event.file
}

/** Resolves when there is no such file. */
async function removed(path: string): Promise<void> {
  while (existsSync(path)) await turn()
}

const large = (bytes = 3_000_000): Uint8Array => new Uint8Array(bytes).map((_, at) => at * 11)

test('content that is written is read as it was', async (t) => {
  const opened = openDisk(t)
  const { disk, base } = opened
  assert.equal(disk.open(base, 1e9), 1e9)
  const file = await moved(opened, 7, large())
  assert.equal(file.byteLength, 3_000_000)
  assert(disk.has(file.path))
  assert.deepEqual(await disk.read(file.path), Buffer.from(large()))
  assert(disk.remove(file.path))
  assert(!disk.remove(file.path))
  await removed(file.path)
  assert.equal(await disk.read(file.path), undefined)
})

test('a disk is behind from when more waits than may until it is half of that', async (t) => {
  const opened = openDisk(t, 7_000_000)
  const { disk, base, next } = opened
  disk.open(base, 1e9)
  const write = (move: number): void => {
    disk.write({ type: 'moveToDisk', move, objectType: 'object', chunks: [large()] })
  }
  for (const move of [1, 2]) write(move)
  assert(!disk.isBehind)
  for (const move of [3, 4]) write(move)
  assert(disk.isBehind)
  assert.deepEqual(opened.behind, [true])
  for (const move of [1, 2, 3, 4]) {
    const event = await next()
    assert(event.type === 'movedToDisk' && event.move === move)
    assert.deepEqual(await disk.read(event.file.path), Buffer.from(large()))
  }
  assert(!disk.isBehind)
  assert.deepEqual(opened.behind, [true, false])
})

test('any number of files in memory can wait; few of them are open', async (t) => {
  const { disk, base, next } = openDisk(t)
  disk.open(base, 1e9)
  const [directory = ''] = readdirSync(base)
  const descriptors = (): number => readdirSync('/proc/self/fd').length
  const before = descriptors()
  const moves = Array.from({ length: 200 }, (_, at) => at)
  for (const move of moves) {
    const path = join(base, directory, String(move).padStart(32, 'a'))
    writeFileSync(path, large(1_000 + move))
    const chunks = [fileChunk({ path, byteLength: 1_000 + move })]
    disk.write({ type: 'moveToDisk', move, objectType: 'file', chunks })
    if (move === 199) rmSync(path)
  }
  assert(descriptors() < before + 100)
  for (const move of moves.slice(0, 199)) {
    const event = await next()
    assert(event.type === 'movedToDisk' && event.move === move)
    assert.deepEqual(await disk.read(event.file.path), Buffer.from(large(1_000 + move)))
  }
  assert.deepEqual(await next(), { type: 'moveFailed', move: 199, error: '' })
})

test('the content of a file in memory is copied, also if that is removed meanwhile', async (t) => {
  const opened = openDisk(t)
  const { disk, base, next } = opened
  disk.open(base, 1e9)
  const [directory = ''] = readdirSync(base)
  const path = join(base, directory, 'a'.repeat(32))
  writeFileSync(path, large())
  const chunks = [fileChunk({ path, byteLength: 3_000_000 })]
  disk.write({ type: 'moveToDisk', move: 1, objectType: 'file', chunks })
  rmSync(path)
  const event = await next()
  assert(event.type === 'movedToDisk')
  assert.deepEqual(await disk.read(event.file.path), Buffer.from(large()))
  disk.write({ type: 'moveToDisk', move: 2, objectType: 'file', chunks })
  assert.deepEqual(await next(), { type: 'moveFailed', move: 2, error: '' })
})

test('a damaged file is not read, and the log says so', async (t) => {
  const opened = openDisk(t)
  const { disk, base, warnings } = opened
  disk.open(base, 1e9)
  const { path } = await moved(opened, 1, large())
  writeFileSync(path, large().fill(0, 2_000_000, 2_000_001))
  assert.equal(await disk.read(path), undefined)
  writeFileSync(path, large(1_000))
  assert.equal(await disk.read(path), undefined)
  rmSync(path)
  assert.equal(await disk.read(path), undefined)
  assert.deepEqual(warnings, Array(3).fill('cannot read an object on disk'))
})

test('without descriptors, content on disk is read as soon as it can be', async (t) => {
  const opened = openDisk(t)
  opened.disk.open(opened.base, 1e9)
  const { path } = await moved(opened, 1, large())
  const giveBack = takeDescriptors(t)
  const reading = opened.disk.read(path)
  await turn()
  giveBack()
  assert.deepEqual(await reading, Buffer.from(large()))
  assert.equal(opened.warnings.length, 1)
  assert.match(opened.warnings.join(), /^no file descriptors are left .*raise the limit/)
})

test('what cannot be written is reported, and leaves no file', async (t) => {
  const opened = openDisk(t)
  const { disk, base, next } = opened
  disk.open(base, 1e9)
  const [directory = ''] = readdirSync(base)
  rmSync(join(base, directory), { recursive: true })
  disk.write({ type: 'moveToDisk', move: 1, objectType: 'object', chunks: [large()] })
  const event = await next()
  assert(event.type === 'moveFailed')
  assert.match(event.error, /^ENOENT/)
  assert.deepEqual(readdirSync(base), [])
})

test('an error in the middle of a file leaves no part of it', async (t) => {
  const opened = openDisk(t)
  const { disk, base, next } = opened
  disk.open(base, 1e9)
  const { path } = await moved(opened, 1, large())
  assert(existsSync(path))
  const [directory = ''] = readdirSync(base)
  const source = join(base, directory, 'b'.repeat(32))
  writeFileSync(source, large(1_000))
  const chunks = [fileChunk({ path: source, byteLength: 2_000 })]
  disk.write({ type: 'moveToDisk', move: 2, objectType: 'file', chunks })
  const event = await next()
  assert(event.type === 'moveFailed')
  assert.match(event.error, /too short/)
  const expected = [path.slice(-32), source.slice(-32), 'key'].toSorted()
  const names = (): readonly string[] => readdirSync(join(base, directory)).toSorted()
  while (names().length > expected.length) await turn()
  assert.deepEqual(names(), expected)
})

test('without a limit, half of the free space may be used; without a directory, nothing', (t) => {
  const { disk, base } = openDisk(t)
  assert.equal(disk.open('', undefined), 0)
  const limit = disk.open(base, undefined)
  assert(limit > 0 && Number.isSafeInteger(limit))
})

test('a directory that cannot be used is refused by name', (t) => {
  const { disk, base } = openDisk(t)
  const refusal = /^ConfigError: option objectSpillDirectory: .*nothing does not exist$/
  assert.throws(() => disk.open(join(base, 'nothing'), 1), refusal)
  chmodSync(base, 0o500)
  // The superuser may write anyway.
  if (process.getuid?.() === 0) return
  assert.throws(
    () => disk.open(base, 1),
    /^ConfigError: option objectSpillDirectory: .* is not writable for this user$/,
  )
})

test('a store that is closed removes its directory, also while it writes', async (t) => {
  const { disk, base } = openDisk(t)
  disk.open(base, 1e9)
  for (let move = 1; move < 5; move += 1) {
    disk.write({ type: 'moveToDisk', move, objectType: 'object', chunks: [large()] })
  }
  disk.close()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(readdirSync(base), [])
})

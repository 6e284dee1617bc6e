import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { listFiles, readBatch, toBatches } from './batches.js'

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'batches-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('small files share a batch, large files are cut, and nothing is lost', () => {
  const files = [3, 0, 4, 25, 1].map((bytes, index) => ({ path: `f${index}`, bytes }))
  const batches = toBatches(files, 10)
  for (const batch of batches) {
    const bytes = batch.pieces.reduce((sum, piece) => sum + piece.bytes, 0)
    assert.equal(batch.bytes, bytes)
    assert.ok(bytes <= 10)
  }
  for (const file of files) {
    const pieces = batches.flatMap((batch) => batch.pieces).filter(({ path }) => path === file.path)
    let end = 0
    for (const piece of pieces) {
      assert.equal(piece.start, end)
      end += piece.bytes
    }
    assert.equal(end, file.bytes)
    assert.ok(pieces.length > 0, 'an empty file is also a piece')
  }
})

test('a batch has a bounded number of files', () => {
  const files = Array.from({ length: 25 }, (_, index) => ({ path: `f${index}`, bytes: 0 }))
  assert.deepEqual(
    toBatches(files, 10, 10).map(({ pieces }) => pieces.length),
    [10, 10, 5],
  )
})

test('without files there are no batches', () => {
  assert.deepEqual(toBatches([], 10), [])
})

test('files in all folders are found in a stable order; symbolic links are not followed', async (t) => {
  const folder = await newFolder(t)
  await mkdir(join(folder, 'b'))
  await writeFile(join(folder, 'b', 'x'), 'xx')
  await writeFile(join(folder, 'a'), 'a')
  await symlink(folder, join(folder, 'c'), 'junction')
  const unreadable = new Map<string, string>()
  assert.deepEqual(await listFiles(folder, unreadable), [
    { path: join(folder, 'a'), bytes: 1 },
    { path: join(folder, 'b', 'x'), bytes: 2 },
  ])
  assert.equal(unreadable.size, 0)
})

test('each piece of a file is read from its start position', async (t) => {
  const path = join(await newFolder(t), 'file')
  await writeFile(path, '0123456789')
  const pieces = [
    { path, start: 0, bytes: 4 },
    { path, start: 4, bytes: 6 },
  ]
  const contents = await readBatch({ pieces, bytes: 10 }, new Map())
  assert.deepEqual(
    contents.map((content) => Buffer.from(content).toString()),
    ['0123', '456789'],
  )
})

test('an unreadable file is recorded and skipped; a file that has shrunk is read as it is', async (t) => {
  const folder = await newFolder(t)
  const path = join(folder, 'file')
  const gone = join(folder, 'gone')
  await writeFile(path, 'short')
  const unreadable = new Map<string, string>()
  const pieces = [
    { path: gone, start: 0, bytes: 3 },
    { path, start: 0, bytes: 100 },
  ]
  const contents = await readBatch({ pieces, bytes: 103 }, unreadable)
  assert.deepEqual(
    contents.map((content) => Buffer.from(content).toString()),
    ['short'],
  )
  assert.deepEqual([...unreadable], [[gone, 'ENOENT']])
})

test('an unreadable folder is recorded', async (t) => {
  const gone = join(await newFolder(t), 'gone')
  const unreadable = new Map<string, string>()
  assert.deepEqual(await listFiles(gone, unreadable), [])
  assert.deepEqual([...unreadable], [[gone, 'ENOENT']])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { medianOf } from './median.mjs'
import {
  callbackInterfacesIn,
  deadlineGettersIn,
  pages,
  phrasesIn,
  sizesOf,
  sourceFiles,
} from './text.mjs'

test('sizes are those of files and of single folders', () => {
  const file = (path, lines) => ({ path, text: 'x\n'.repeat(lines) })
  const sources = [file('src/a/one.ts', 49), file('src/a/two.ts', 50), file('src/a/b/three.ts', 1)]
  assert.deepEqual(sizesOf(sources), { files: 3, lines: 100, largestFolder: 2, smallFiles: 2 })
})

test('source files are neither tests nor kits nor generated', () => {
  const paths = sourceFiles().map(({ path }) => path)
  assert.ok(paths.includes('src/index.ts'))
  assert.deepEqual(
    paths.filter((path) => /test|kit\.|generated/.test(path)),
    [],
  )
})

test('pages are those written by hand', () => {
  const paths = pages().map(({ path }) => path)
  for (const path of ['README.md', 'docs/protocol.md', 'docs/internals/objects.md']) {
    assert.ok(paths.includes(path), path)
  }
  assert.deepEqual(
    paths.filter((path) => path.startsWith('docs/api/')),
    [],
  )
})

test('an interface of callbacks has several functions, most of which return nothing', () => {
  const text = `
interface SocketHandler { onOpen(): void; readonly onEnd: (why: string) => Promise<void> }
interface Single { end(): void }
interface Service { read(): string; write(text: string): void }
interface Record { readonly name: string; end(): void; begin(): void }
export interface Watcher { onOne(): void; onTwo(): void; isDone(): boolean }
`
  assert.deepEqual(callbackInterfacesIn(text), ['SocketHandler', 'Watcher'])
})

test('getters of deadlines are counted, not their uses', () => {
  const text = `
  get deadline(): number | undefined {
    return this.#first.deadline
  }
`
  assert.equal(deadlineGettersIn(text), 1)
})

test('phrases are counted, also across lines of a comment', () => {
  assert.equal(phrasesIn('as many as that, so many of them, and So much more'), 2)
  assert.equal(phrasesIn('// the client is\n// told so'), 1)
  assert.equal(phrasesIn('/**\n * which nobody\n * wants\n */'), 2)
  assert.equal(phrasesIn('it is no array'), 1)
  assert.equal(phrasesIn('there is no array, and it is no longer one'), 0)
  assert.equal(phrasesIn('the agents whose tasks run; the processor who runs them'), 2)
  assert.equal(phrasesIn('the person who reads this'), 0)
})

test('the median is the middle, or between two', () => {
  assert.equal(medianOf([10, 2, 1]), 2)
  assert.equal(medianOf([4, 1, 10, 2]), 3)
})

// The files that a scheduler shares with its peers, and what both do if one is not as expected.

import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { identity, objectId } from '../base/ids.js'
import { OUR_FEATURES } from '../base/features.js'
import { ObjectFiles, moveIn, readObjectFile } from '../runtime/object-files.js'
import {
  type Message,
  type ObjectContent,
  type ObjectInstruction,
  type ObjectResponse,
  PLAIN_CLIENT_HEARTBEAT,
} from '../wire/message.js'
import { fileChunk, fileOf } from '../wire/object-content.js'
import { FileStore } from './file-store.js'

const PEER = identity('peer')
const MIB = 2 ** 20

interface Pair {
  readonly store: FileStore
  readonly files: ObjectFiles
  readonly base: string
  readonly warnings: string[]
}

function heartbeat(features = OUR_FEATURES): Message {
  const resource = { cpu: 0, rss: 0 }
  const rest = { latencyUS: 0, features, runtime: '', ...PLAIN_CLIENT_HEARTBEAT }
  return { kind: 'clientHeartbeat', resource, ...rest }
}

/** A store in a directory of its own, and a peer that has shown that it sees it. */
function openPair(t: TestContext): Pair {
  const base = mkdtempSync(join(tmpdir(), 'files-'))
  const warnings: string[] = []
  const store = new FileStore((text) => warnings.push(text))
  store.open(base)
  t.after(() => {
    store.close()
    rmSync(base, { recursive: true })
  })
  const files = new ObjectFiles()
  store.prove(PEER, files.accept(store.offerTo(PEER, heartbeat())?.directory ?? ''))
  return { store, files, base, warnings }
}

function contentOf(...chunks: readonly Uint8Array[]): ObjectContent {
  return {
    objectIds: [objectId('o')],
    objectTypes: ['object'],
    objectNames: [Buffer.from('o')],
    objectBytes: [chunks],
  }
}

function create(objectContent: ObjectContent): ObjectInstruction {
  const what = { kind: 'objectInstruction', instructionType: 'create' } as const
  return { ...what, objectUser: identity('C'), objectContent }
}

function response(objectContent: ObjectContent): ObjectResponse {
  return { kind: 'objectResponse', responseType: 'content', objectContent }
}

/** The content as the scheduler has it then. */
function claimedBy(store: FileStore, content: ObjectContent, from = PEER): ObjectContent {
  const message = store.claimed(from, create(content))
  assert(message.kind === 'objectInstruction')
  return message.objectContent
}

function pathIn({ objectBytes: [chunks = []] }: ObjectContent): string {
  return fileOf(chunks)?.path ?? ''
}

const large = (bytes = MIB): Uint8Array => new Uint8Array(bytes).map((_, at) => at * 7)

test('content goes into a file, and is read from it', (t) => {
  const { store, files } = openPair(t)
  const content = files.moveOut(contentOf(large().subarray(0, 1_000), large().subarray(1_000)))
  assert.deepEqual(content.objectTypes, ['file'])
  const claimed = claimedBy(store, content)
  assert.deepEqual(claimed, content)
  assert.deepEqual(store.readable(PEER, response(claimed)), [response(claimed)])
  assert.deepEqual(readObjectFile(claimed.objectBytes[0] ?? []), Buffer.from(large()))
  assert.deepEqual(moveIn(claimed).content, contentOf(Buffer.from(large())))
})

test('small content stays in the message', (t) => {
  const { files } = openPair(t)
  const content = contentOf(large(1_000))
  assert.deepEqual(files.moveOut(content), content)
})

test('a peer that has not read the key gets the content, and cannot name a file', (t) => {
  const { store, files, warnings } = openPair(t)
  const content = claimedBy(store, files.moveOut(contentOf(large())))
  const far = identity('far')
  assert.deepEqual(store.readable(far, response(content)), [
    response(contentOf(Buffer.from(large()))),
  ])
  assert.deepEqual(claimedBy(store, files.moveOut(contentOf(large())), far).objectIds, [])
  assert.deepEqual(warnings, ['the file of an object is missing'])
  store.prove(far, Buffer.alloc(32))
  assert.equal(store.readable(far, response(content))[0]?.objectContent.objectTypes[0], 'object')
})

test('a peer that no longer sees the files gets the content', (t) => {
  const { store, files } = openPair(t)
  const content = claimedBy(store, files.moveOut(contentOf(large())))
  rmSync(pathIn(content))
  assert.equal(moveIn(content).missing.length, 1)
  store.prove(PEER, new Uint8Array())
  const [answer] = store.readable(PEER, response(content))
  assert.deepEqual(answer?.objectContent, contentOf(Buffer.from(large())))
})

test('the directory is offered once in each connection, and only to peers that know files', (t) => {
  const { store } = openPair(t)
  assert.equal(store.offerTo(PEER, heartbeat()), undefined)
  assert.equal(store.offerTo(identity('old'), heartbeat(0)), undefined)
  store.forget(PEER)
  assert.notEqual(store.offerTo(PEER, heartbeat()), undefined)
  assert.equal(store.readable(PEER, response(contentOf())).length, 1)
})

test('a file that is removed is gone, and others are not', (t) => {
  const { store, files, base } = openPair(t)
  const content = claimedBy(store, files.moveOut(contentOf(large())))
  store.remove(join(base, 'another'))
  assert(existsSync(pathIn(content)))
  store.remove(pathIn(content))
  store.remove(pathIn(content))
  assert(!existsSync(pathIn(content)))
})

for (const [name, spoil] of [
  ['that is gone', (path: string) => rmSync(path)],
  ['that is shorter', (path: string) => truncateSync(path, 100)],
  ['that is a directory', (path: string) => (rmSync(path), mkdirSync(path))],
] as const) {
  test(`an object with a file ${name} is ignored, with a warning`, (t) => {
    const { store, files, warnings } = openPair(t)
    const content = files.moveOut(contentOf(large()))
    spoil(pathIn(content))
    assert.deepEqual(claimedBy(store, content).objectIds, [])
    assert.equal(warnings.length, 1)
  })
}

test('a file elsewhere is not read, whatever the name says', (t) => {
  const { store, base, warnings } = openPair(t)
  const secret = join(base, 'secret')
  writeFileSync(secret, 'x'.repeat(100))
  const [directory = ''] = readdirSync(base)
  const names = [
    secret,
    join(base, directory, '../secret'),
    join(base, directory, 'key'),
    '/etc/passwd',
  ]
  for (const path of names) {
    const chunk = Buffer.from(`100 ${path}`)
    assert.deepEqual(claimedBy(store, { ...contentOf(chunk), objectTypes: ['file'] }).objectIds, [])
    assert.equal(readObjectFile([chunk]), undefined)
  }
  assert.equal(warnings.length, names.length)
})

test('an object that names the file of another one gets a file of its own', (t) => {
  const { store, files } = openPair(t)
  const content = files.moveOut(contentOf(large()))
  const [one, other] = [claimedBy(store, content), claimedBy(store, content)]
  assert.notEqual(pathIn(one), pathIn(other))
  store.remove(pathIn(one))
  assert.deepEqual(moveIn(other).content, contentOf(Buffer.from(large())))
})

test('content of more files than a process should have open is kept in memory', (t) => {
  const { store, files } = openPair(t)
  const content = contentOf(large(256 * 1024))
  const types = Array.from({ length: 1_010 }, () => {
    return claimedBy(store, files.moveOut(content)).objectTypes[0]
  })
  assert.equal(types.filter((type) => type === 'file').length, 1_000)
  assert.deepEqual(new Set(types.slice(1_000)), new Set(['object']))
})

test('a directory that others can read, or without a key, is not used', (t) => {
  const { base } = openPair(t)
  const [name = ''] = readdirSync(base)
  const directory = join(base, name)
  const files = new ObjectFiles()
  assert.equal(files.accept(directory).byteLength, 32)
  chmodSync(directory, 0o750)
  assert.equal(files.accept(directory).byteLength, 0)
  assert.equal(files.put([large()]), undefined)
  chmodSync(directory, 0o700)
  writeFileSync(join(directory, 'key'), 'short')
  assert.equal(files.accept(directory).byteLength, 0)
  assert.equal(files.accept(join(base, 'nothing')).byteLength, 0)
})

test('without a directory, everything travels in messages', () => {
  const store = new FileStore(() => {})
  store.open('')
  assert.equal(store.offerTo(PEER, heartbeat()), undefined)
  store.prove(PEER, new Uint8Array())
  const chunk = fileChunk({
    path: `/x/scaler-ts-${'0'.repeat(32)}/${'0'.repeat(32)}`,
    byteLength: 1,
  })
  assert.deepEqual(claimedBy(store, { ...contentOf(chunk), objectTypes: ['file'] }).objectIds, [])
  store.close()
})

test('a directory that does not exist is refused by name', () => {
  const store = new FileStore(() => {})
  assert.throws(() => store.open('/does/not/exist'), /^ConfigError: option objectDirectory: ENOENT/)
})

test('what dead schedulers have left is removed by the next one, and nothing else', (t) => {
  const { base } = openPair(t)
  const namespace = (readdirSync(base)[0] ?? '').slice(18, 26)
  const leave = (pid: number, of: string): string => {
    const path = join(base, `scaler-ts-${pid.toString(16).padStart(8, '0')}${of}${'0'.repeat(16)}`)
    mkdirSync(path)
    writeFileSync(join(path, 'key'), '')
    return path
  }
  const dead = leave(2 ** 22 + 1, namespace)
  const alive = leave(process.pid, namespace)
  const elsewhere = leave(2, '00000001')
  const forgotten = leave(3, '00000001')
  const longAgo = Date.now() / 1000 - 100
  utimesSync(join(forgotten, 'key'), longAgo, longAgo)
  const other = join(base, 'scaler-ts-something')
  mkdirSync(other)
  const next = new FileStore(() => {})
  next.open(base)
  const left = [dead, alive, elsewhere, forgotten, other].map((path) => existsSync(path))
  assert.deepEqual(left, [false, true, true, false, true])
  next.close()
  assert.equal(readdirSync(base).length, 4)
  assert.equal(readFileSync(join(alive, 'key')).length, 0)
})

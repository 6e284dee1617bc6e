// The files that a scheduler shares with its peers, and what both do if one is not as expected.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { identity, type Identity, objectId, taskId } from '../base/ids.js'
import { OUR_FEATURES } from '../base/features.js'
import { ObjectFiles, moveIn, readObjectFile } from '../runtime/object-files.js'
import {
  type Message,
  type ObjectContent,
  type ObjectInstruction,
  type ObjectResponse,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_RESULT,
  type TaskResult,
} from '../wire/message.js'
import { fileChunk, fileOf } from '../wire/object-content.js'
import { FileResponses } from './file-responses.js'
import { FileStore } from './file-store.js'
import { takeDescriptors } from './shortage.kit.js'

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
function openPair(t: TestContext, maxOpen?: number): Pair {
  const base = mkdtempSync(join(tmpdir(), 'files-'))
  const warnings: string[] = []
  const store = new FileStore((text) => warnings.push(text), maxOpen)
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

/** What the peer gets: the response as it is, or another one with the content of files. */
async function answerOf(
  store: FileStore,
  peer: Identity,
  asked: ObjectResponse,
): Promise<ObjectResponse> {
  const [answer] = await answersOf(store, [peer], asked)
  return answer ?? asked
}

/** What each of some peers gets, at the same time. */
function answersOf(
  store: FileStore,
  peers: readonly Identity[],
  asked: ObjectResponse,
): Promise<readonly ObjectResponse[]> {
  const answers: ObjectResponse[] = []
  return new Promise((resolve) => {
    const send = (_: Identity, message: ObjectResponse): boolean => {
      if (answers.push(message) === peers.length) resolve(answers)
      return true
    }
    const responses = new FileResponses({
      send,
      canRead: (peer, path) => store.canRead(peer, path),
      read: (path) => store.read(path),
      isKnown: (path) => store.has(path),
      onOutdated: () => {},
      onMissing: (peer, ids) => store.tellMissing(peer, ids),
    })
    for (const peer of peers) {
      const rest = responses.take(peer, asked)
      if (rest !== undefined) send(peer, rest)
    }
  })
}

function pathIn({ objectBytes: [chunks = []] }: ObjectContent): string {
  return fileOf(chunks)?.path ?? ''
}

/** How many files of this directory this process has open. */
function openIn(directory: string): number {
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return names.filter((name) => name.startsWith(directory)).length
}

/** Resolves when there is no such file. */
async function removed(path: string): Promise<void> {
  while (existsSync(path)) await turn()
}

const large = (bytes = MIB): Uint8Array => new Uint8Array(bytes).map((_, at) => at * 7)

test('while the directory is full, content stays in messages', (t) => {
  const { store, files } = openPair(t)
  const content = contentOf(Buffer.alloc(MIB))
  for (const isFull of [true, false]) {
    store.setFull(isFull)
    assert.deepEqual(files.moveOut(content).objectTypes, [isFull ? 'object' : 'file'])
  }
})

test('content goes into a file, and is read from it', async (t) => {
  const { store, files } = openPair(t)
  const content = files.moveOut(contentOf(large().subarray(0, 1_000), large().subarray(1_000)))
  assert.deepEqual(content.objectTypes, ['file'])
  const claimed = claimedBy(store, content)
  assert.deepEqual(claimed, content)
  assert.deepEqual(await answerOf(store, PEER, response(claimed)), response(claimed))
  assert.deepEqual(readObjectFile(claimed.objectBytes[0] ?? []), Buffer.from(large()))
  assert.deepEqual(moveIn(claimed).content, contentOf(Buffer.from(large())))
})

test('small content stays in the message', (t) => {
  const { files } = openPair(t)
  const content = contentOf(large(1_000))
  assert.deepEqual(files.moveOut(content), content)
})

test('a peer that has not read the key gets the content, and cannot name a file', async (t) => {
  const { store, files, warnings } = openPair(t)
  const content = claimedBy(store, files.moveOut(contentOf(large())))
  const far = identity('far')
  const answer = await answerOf(store, far, response(content))
  assert.deepEqual(answer, response(contentOf(Buffer.from(large()))))
  assert.deepEqual(claimedBy(store, files.moveOut(contentOf(large())), far).objectIds, [])
  assert.deepEqual(warnings, ['the file of an object is missing'])
  store.prove(far, Buffer.alloc(32))
  const [type] = (await answerOf(store, far, response(content))).objectContent.objectTypes
  assert.equal(type, 'object')
})

test('whether a peer is far is only known once it has answered, and not while it asks for content', (t) => {
  const { store } = openPair(t)
  const [far, old] = [identity('far'), identity('old')]
  store.offerTo(far, heartbeat())
  store.offerTo(old, heartbeat(0))
  const undecided = (): readonly boolean[] =>
    [PEER, far, old].map((each) => store.isUndecided(each))
  assert.deepEqual(undecided(), [false, true, false])
  store.prove(far, new Uint8Array())
  store.prove(PEER, new Uint8Array())
  assert.deepEqual(undecided(), [true, false, false])
  store.forget(far)
  store.offerTo(far, heartbeat())
  assert.deepEqual(undecided(), [true, true, false])
})

test('a peer that no longer sees the files gets the content', async (t) => {
  const { store, files } = openPair(t)
  const content = claimedBy(store, files.moveOut(contentOf(large())))
  rmSync(pathIn(content))
  assert.equal(moveIn(content).missing.length, 1)
  store.prove(PEER, new Uint8Array())
  const answer = await answerOf(store, PEER, response(content))
  assert.deepEqual(answer.objectContent, contentOf(Buffer.from(large())))
})

test('the directory is offered once in each connection, and only to peers that know files', async (t) => {
  const { store } = openPair(t)
  assert.equal(store.offerTo(PEER, heartbeat()), undefined)
  assert.equal(store.offerTo(identity('old'), heartbeat(0)), undefined)
  store.forget(PEER)
  assert.notEqual(store.offerTo(PEER, heartbeat()), undefined)
  const nothing = response(contentOf())
  assert.deepEqual(await answerOf(store, PEER, nothing), nothing)
})

test('a file that is removed is gone, and others are not', async (t) => {
  const { store, files, base } = openPair(t)
  const content = claimedBy(store, files.moveOut(contentOf(large())))
  store.remove(join(base, 'another'))
  assert(existsSync(pathIn(content)))
  store.remove(pathIn(content))
  store.remove(pathIn(content))
  await removed(pathIn(content))
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
  const neighbour = join(base, `scaler-ts-${'1'.repeat(32)}`)
  mkdirSync(neighbour)
  const name = '2'.repeat(32)
  writeFileSync(join(neighbour, name), 'x'.repeat(100))
  const names = [
    secret,
    join(base, directory, '../secret'),
    join(base, directory, 'key'),
    '/etc/passwd',
    join(neighbour, name),
    `${base}/${directory}/../scaler-ts-${'1'.repeat(32)}/${name}`,
  ]
  for (const path of names) {
    const chunk = Buffer.from(`100 ${path}`)
    assert.deepEqual(claimedBy(store, { ...contentOf(chunk), objectTypes: ['file'] }).objectIds, [])
    store.remove(path)
  }
  assert(existsSync(join(neighbour, name)))
  assert.equal(warnings.length, 1, 'one line for many')
})

test('what is not a file is not waited for, and no length is believed', (t) => {
  const { store, base } = openPair(t)
  const [directory = ''] = readdirSync(base)
  const [fifo, file] = ['1', '2'].map((digit) => join(base, directory, digit.repeat(32)))
  execFileSync('mkfifo', [fifo ?? ''])
  writeFileSync(file ?? '', 'x'.repeat(100))
  const tries = [
    [fifo, 0],
    [fifo, 100],
    [file, 99],
    [file, 1e15],
    [file, 0],
  ] as const
  for (const [path, byteLength] of tries) {
    const content = contentOf(fileChunk({ path: path ?? '', byteLength }))
    assert.deepEqual(claimedBy(store, { ...content, objectTypes: ['file'] }).objectIds, [])
    assert.equal(readObjectFile([fileChunk({ path: fifo ?? '', byteLength: 100 })]), undefined)
  }
})

test('lists of unequal length claim no more than there are objects', (t) => {
  const { store, files, base } = openPair(t)
  const content = files.moveOut(contentOf(large()))
  assert.deepEqual(claimedBy(store, { ...content, objectIds: [] }).objectIds, [])
  assert.deepEqual(claimedBy(store, { ...content, objectNames: [] }).objectIds, [])
  const [directory = ''] = readdirSync(base)
  assert.equal(openIn(join(base, directory)), 0)
})

test('for a 1.9.9 peer, which pairs lists by position, only the content is replaced', async (t) => {
  const { store, files } = openPair(t)
  const stored = claimedBy(store, files.moveOut(contentOf(large())))
  const asked = { ...stored, objectIds: [...stored.objectIds, objectId('missing')] }
  const answer = await answerOf(store, identity('old'), response(asked))
  assert.deepEqual(answer.objectContent.objectIds, asked.objectIds)
  assert.equal(answer.objectContent.objectBytes.length, 1)
})

test('many far peers share one copy of the content', async (t) => {
  const { store, files } = openPair(t)
  const stored = claimedBy(store, files.moveOut(contentOf(large())))
  const answers = await answersOf(store, ['a', 'b'].map(identity), response(stored))
  const [one, other] = answers.map((answer) => answer.objectContent.objectBytes[0]?.[0])
  assert.equal(one?.buffer, other?.buffer)
})

test('a result whose object is missing gives its task back', (t) => {
  const { store, files } = openPair(t)
  const content = files.moveOut(contentOf(large()))
  rmSync(pathIn(content))
  claimedBy(store, content)
  const result: TaskResult = {
    kind: 'taskResult',
    taskId: taskId('t'),
    status: 'success',
    metadata: Buffer.alloc(4),
    ...PLAIN_RESULT,
    results: [objectId('o')],
  }
  const claimed = store.claimed(PEER, result)
  assert(claimed.kind === 'taskResult')
  assert.deepEqual([claimed.status, claimed.results], ['canceled', [objectId('o')]])
  assert.deepEqual(store.claimed(PEER, result), result, 'once')
})

test('a base that is removed stops nothing', (t) => {
  const base = mkdtempSync(join(tmpdir(), 'files-'))
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() })
  const warnings: string[] = []
  const store = new FileStore((text) => warnings.push(text))
  store.open(base)
  rmSync(base, { recursive: true })
  t.mock.timers.tick(20_000)
  assert.deepEqual(warnings, ['cannot look for abandoned files'])
  store.close()
})

test('what nobody claims is removed after a minute, and nothing else', (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() })
  const { store, files, base } = openPair(t)
  const claimed = claimedBy(store, files.moveOut(contentOf(large())))
  const abandoned = files.moveOut(contentOf(large()))
  const longAgo = Date.now() / 1000 - 100
  utimesSync(pathIn(claimed), longAgo, longAgo)
  store.setFull(true)
  const full = join(dirname(pathIn(claimed)), 'full')
  utimesSync(full, longAgo, longAgo)
  t.mock.timers.tick(20_000)
  assert(existsSync(pathIn(abandoned)))
  utimesSync(pathIn(abandoned), longAgo, longAgo)
  t.mock.timers.tick(20_000)
  const paths = [pathIn(abandoned), pathIn(claimed), full]
  assert.deepEqual(paths.map(existsSync), [false, true, true])
  assert.equal(readdirSync(base).length, 1)
})

test('an object that names the file of another one gets a file of its own', (t) => {
  const { store, files } = openPair(t)
  const content = files.moveOut(contentOf(large()))
  const [one, other] = [claimedBy(store, content), claimedBy(store, content)]
  assert.notEqual(pathIn(one), pathIn(other))
  store.remove(pathIn(one))
  assert.deepEqual(moveIn(other).content, contentOf(Buffer.from(large())))
})

test('only some of many files are open', async (t) => {
  const { store, files, base } = openPair(t, 10)
  const content = contentOf(large(256 * 1024))
  const stored = Array.from({ length: 20 }, () => claimedBy(store, files.moveOut(content)))
  assert.deepEqual(new Set(stored.map(({ objectTypes }) => objectTypes[0])), new Set(['file']))
  const [directory = ''] = readdirSync(base)
  assert.equal(openIn(join(base, directory)), 10)
  const last = stored.at(-1) ?? content
  const answer = await answerOf(store, identity('far'), response(last))
  assert.deepEqual(answer.objectContent.objectBytes[0]?.[0], Buffer.from(large(256 * 1024)))
})

test('without descriptors, a file is claimed, and read as soon as it can be opened', async (t) => {
  for (const code of ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']) {
    const { store, files, warnings } = openPair(t)
    const before = claimedBy(store, files.moveOut(contentOf(large())))
    const sent = files.moveOut(contentOf(large()))
    const giveBack = takeDescriptors(t, code)
    const during = claimedBy(store, sent)
    assert.deepEqual(during, sent)
    // One that is open needs no other descriptor.
    assert.deepEqual(await store.read(pathIn(before)), Buffer.from(large()))
    let isRead = false
    const reading = store.read(pathIn(during)).finally(() => (isRead = true))
    const asking = answerOf(store, identity('far'), response(during))
    const dropped = files.moveOut(contentOf(large()))
    for (let count = 0; count < 20; count += 1) await turn()
    assert.equal(isRead, false)
    giveBack()
    assert.deepEqual(await reading, Buffer.from(large()))
    assert.deepEqual((await asking).objectContent, contentOf(Buffer.from(large())))
    assert.deepEqual(dropped.objectTypes, ['object'], 'nothing was written')
    const isOut = code.endsWith('FILE')
    assert.match(warnings.join(), isOut ? /^no file descriptors are left/ : /cannot be opened/)
    assert.equal(warnings.length, 1)
  }
})

test('what is removed while there are no descriptors is not waited for', async (t) => {
  const { store, files } = openPair(t, 0)
  const path = pathIn(claimedBy(store, files.moveOut(contentOf(large()))))
  takeDescriptors(t)
  const reading = store.read(path)
  assert.throws(() => store.openAgain(path), { code: 'EMFILE' })
  await turn()
  store.remove(path)
  assert.equal(await reading, undefined)
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
  assert.throws(
    () => store.open('/does/not/exist'),
    /^ConfigError: option objectDirectory: .* does not exist$/,
  )
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

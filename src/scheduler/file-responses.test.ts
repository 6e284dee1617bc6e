// Responses with content from files: as fast as a peer takes them, and never outdated.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { identity, objectId } from '../base/ids.js'
import type { ObjectResponse } from '../wire/message.js'
import { fileChunk } from '../wire/object-content.js'
import { FileResponses } from './file-responses.js'

const PEER = identity('peer')

function pathOf(name: string): string {
  return `/x/scaler-ts-${'0'.repeat(32)}/${Buffer.from(name).toString('hex').padStart(32, '0')}`
}

/** A response with these objects, each in a file of its name, and `inline` ones. */
function response(names: string, inline = ''): ObjectResponse {
  const all = Array.from(names + inline)
  return {
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: all.map(objectId),
      objectTypes: all.map((_, at) => (at < names.length ? 'file' : 'object')),
      objectNames: all.map((name) => Buffer.from(name)),
      objectBytes: all.map((name, at) => {
        const chunk = fileChunk({ path: pathOf(name), byteLength: 1 })
        return [at < names.length ? chunk : Buffer.from(name)]
      }),
    },
  }
}

interface Rig {
  readonly responses: FileResponses
  /** What was sent, or asked for: `content ab`, `objectNotExist c`, `again d`. */
  readonly told: string[]
  readonly files: Set<string>
  readonly reads: string[]
  /** The content that was sent. */
  readonly content: Uint8Array[]
  isFull: boolean
}

/** Files exist for these objects, which the peer cannot read itself. */
function newRig(names: string): Rig {
  const rig: Omit<Rig, 'responses'> = {
    told: [],
    files: new Set(Array.from(names, pathOf)),
    reads: [],
    content: [],
    isFull: false,
  }
  const responses = new FileResponses({
    canRead: () => false,
    isKnown: (path) => rig.files.has(path),
    read: async (path) => {
      rig.reads.push(path)
      await turn()
      // A part of its memory, as the content of files is.
      return rig.files.has(path) ? Buffer.from('memory: x').subarray(-1) : undefined
    },
    send: (_, { responseType, objectContent: { objectIds, objectTypes, objectBytes } }) => {
      assert(!objectTypes.includes('file'))
      rig.content.push(...objectBytes.flat())
      rig.told.push(`${responseType} ${objectIds.join('')}`)
      return !rig.isFull
    },
    onOutdated: (_, ids) => rig.told.push(`again ${ids.join('')}`),
    onMissing: () => {},
  })
  return Object.assign(rig, { responses })
}

async function turns(): Promise<void> {
  for (let count = 0; count < 10; count += 1) await turn()
}

test('what needs no reading can be sent at once', async () => {
  const { responses, told } = newRig('a')
  const rest = responses.take(PEER, response('a', 'b'))
  assert.deepEqual(rest?.objectContent.objectIds, ['b'])
  assert.equal(responses.take(PEER, response('', 'c'))?.objectContent.objectIds.length, 1)
  await turns()
  assert.deepEqual(told, ['content a'])
})

test('a peer that is full gets no more until it has taken what it got', async () => {
  const rig = newRig('abc')
  rig.isFull = true
  for (const name of 'abc') assert.equal(rig.responses.take(PEER, response(name)), undefined)
  await turns()
  assert.deepEqual(rig.told, ['content a'])
  assert.equal(rig.reads.length, 1)
  rig.isFull = false
  rig.responses.onDrain(PEER)
  rig.responses.onDrain(PEER)
  await turns()
  assert.deepEqual(rig.told, ['content a', 'content b', 'content c'])
})

test('content that is sent to several peers is read once, and the same for all', async () => {
  const rig = newRig('a')
  for (const name of ['one', 'two', 'three']) {
    rig.responses.take(identity(name), response('a'))
    await turns()
  }
  assert.equal(rig.reads.length, 1)
  assert.deepEqual(
    rig.content.map((bytes) => Buffer.from(bytes).toString()),
    ['x', 'x', 'x'],
  )
})

test('an object whose file was removed meanwhile is answered anew', async () => {
  const rig = newRig('ab')
  rig.responses.take(PEER, response('ab'))
  rig.files.delete(pathOf('a'))
  await turns()
  assert.deepEqual(rig.told, ['again a', 'content b'])
})

test('an object whose file was gone from the start does not exist: asking again is no help', async () => {
  const rig = newRig('b')
  rig.responses.take(PEER, response('ab'))
  await turns()
  assert.deepEqual(rig.told, ['content b', 'objectNotExist a'])
})

test('a peer that has left gets nothing, and not what was meant for it when it is back', async () => {
  const rig = newRig('ab')
  rig.responses.take(PEER, response('a'))
  rig.responses.forget(PEER)
  rig.responses.take(PEER, response('b'))
  await turns()
  assert.deepEqual(rig.told, ['content b'])
})

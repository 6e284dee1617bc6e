// References to objects that clients find by a name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ClientClosedError,
  ConfigError,
  ConnectError,
  MissingObjectError,
  TimeoutError,
} from '../../base/errors.js'
import { testClient, turn, until, type TestClient } from '../memory-link.test.kit.js'
import type { ObjectReference } from './objects.js'

const lengthOf = (value: string): number => value.length

/** A client of a scheduler that shares objects, connected unless `options` say otherwise. */
function sharingClient(isConnected = true, timeoutMs = 60_000): TestClient {
  const client = testClient({ isConnected: false, client: { timeoutMs } })
  client.scheduler.names = new Map()
  if (isConnected) client.link.connect()
  return client
}

function share(client: TestClient, value: unknown, name: string): ObjectReference<unknown> {
  return client.parts.references.send(value, { name, shared: true })
}

function unsent(client: TestClient): string[] {
  return client.scheduler.kinds.filter((kind) => kind === 'delete')
}

test('an object that was shared is found, used and given back', async () => {
  const client = sharingClient()
  const { references } = client.parts
  const sent = share(client, 'abc', 'words')
  const found = (await references.find('words')) as ObjectReference<string>
  assert.deepEqual([found.id, found.name, found.sizeBytes], [sent.id, 'words', sent.sizeBytes])
  sent.release()
  assert.equal(await client.submitter.submit(lengthOf, [found]), 3)
  assert.deepEqual(unsent(client), [])
  found.release()
  await until(() => unsent(client).length > 0)
  await assert.rejects(client.submitter.submit(lengthOf, [found]), MissingObjectError)
  assert.deepEqual(client.scheduler.faults, [])
})

test('a name that no object has is an error, and cannot be removed', async () => {
  const client = sharingClient()
  const { references } = client.parts
  await assert.rejects(references.find('words'), (error) => {
    assert(error instanceof MissingObjectError)
    assert.equal(error.message, 'no object is shared by the name "words"')
    return true
  })
  assert.equal(await references.remove('words'), false)
  share(client, 'abc', 'words')
  assert.equal(await references.remove('words'), true)
  assert.equal(await references.remove('words'), false)
})

test('bad options and names are refused immediately', async () => {
  const { references } = sharingClient().parts
  const refused = (options: object, message: RegExp): void =>
    assert.throws(() => references.send(1, options), { name: 'ConfigError', message })
  refused({ shared: true }, /^option shared: the object needs a name/)
  refused({ shared: true, name: '' }, /^option shared: the object needs a name/)
  refused({ shared: 1, name: 'x' }, /^option shared: expected true or false$/)
  for (const replicate of [true, 'some', null]) {
    refused({ replicate }, /^option replicate: expected 'all'$/)
  }
  for (const name of ['a\ud800', 'a\0b']) {
    refused({ shared: true, name }, /^name of a shared object: expected 1 to 1000 valid characters/)
  }
  for (const name of ['', 'x'.repeat(1_001), 'a\ud800', 'a\0b', 5, undefined]) {
    await assert.rejects(references.find(name as string), ConfigError)
    await assert.rejects(references.remove(name as string), ConfigError)
  }
  assert.equal(references.send(1, { name: 'x'.repeat(1_000), shared: true }).name.length, 1_000)
})

test('a scheduler that shares no objects is an error', async () => {
  const client = testClient()
  const reference = share(client, 'abc', 'words')
  await assert.rejects(client.parts.references.find('words'), (error) => {
    assert(error instanceof ConnectError)
    assert.match(error.message, /does not share objects: it is older, or one of Python Scaler/)
    return true
  })
  // Its own reference is as good as any.
  assert.equal(await client.submitter.submit(lengthOf, [reference as ObjectReference<string>]), 3)
  assert.deepEqual(client.scheduler.faults, [])
})

test('without an answer in time the call is rejected, and a late answer refers to nothing', async () => {
  const client = sharingClient(false, 100)
  const { references } = client.parts
  await assert.rejects(references.find('words'), TimeoutError)
  client.scheduler.names?.set('words', 'an object of another one' as never)
  client.link.connect()
  await until(() => unsent(client).length > 0)
  assert.equal(client.connection.sharedCalls.size, 0)
})

test('the calls of a closed client are rejected', async () => {
  const client = sharingClient(false)
  const { references } = client.parts
  const found = assert.rejects(references.find('words'), ClientClosedError)
  const removed = assert.rejects(references.remove('words'), ClientClosedError)
  await turn()
  await client.connection.close()
  await Promise.all([found, removed])
  await assert.rejects(references.find('words'), ClientClosedError)
})

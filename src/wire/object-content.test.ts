import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { AssertionError } from '../base/assert.js'
import { latin1ToHex } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { objectId, type ObjectId } from '../base/ids.js'
import {
  argumentName,
  functionName,
  isSerializerId,
  joinChunks,
  MAX_CHUNK_BYTES,
  objectIdFrom,
  resultName,
  SERIALIZER_SUFFIX,
  serializerName,
  splitChunks,
} from './object-content.js'

const IDENTITY = '12345|Client|00112233445566778899aabbccddeeff'

function md5(text: string): string {
  return createHash('md5').update(text, 'latin1').digest('binary')
}

function idOf(content: string): ObjectId {
  return objectIdFrom(md5(IDENTITY).slice(0, 8), md5(content))
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

describe('object ids', () => {
  test('consist of the owner and the content', () => {
    const id = idOf('\x80\x05K\x10.')
    assert.equal(latin1ToHex(id), '23ad880e034845a7abccec98384a6151070ddca6329b6473')
  })

  test('are refused when a part has the wrong length', () => {
    assert.throws(() => objectIdFrom('1234567', md5('')), AssertionError)
    assert.throws(() => objectIdFrom('12345678', 'x'), AssertionError)
  })

  test('of serializers share a suffix', () => {
    assert.equal(SERIALIZER_SUFFIX, md5('serializer'))
    assert.equal(isSerializerId(idOf('serializer')), true)
    assert.equal(isSerializerId(idOf('serialize')), false)
  })
})

describe('object names', () => {
  const id = objectId(
    '\x23\xad\x88\x0e\x03\x48\x45\xa7\xab\xcc\xec\x98\x38\x4a\x61\x51\x07\x0d\xdc\xa6\x32\x9b\x64\x73',
  )

  test('are given, or derived from the id', () => {
    assert.equal(text(serializerName()), 'serializer')
    assert.equal(text(functionName('größe', id)), 'größe')
    assert.equal(text(functionName('', id)), '<func 23ad88>')
    assert.equal(text(argumentName('table', id)), 'table')
    assert.equal(text(argumentName('', id)), '<obj 9b6473>')
    assert.equal(text(resultName(id)), '<res 23ad88>')
  })
})

describe('chunks', () => {
  const content = Buffer.from('0123456789')

  test('are views of the content', () => {
    const chunks = splitChunks(content, 4)
    assert.deepEqual(chunks.map(text), ['0123', '4567', '89'])
    assert.equal(chunks[0]?.buffer, content.buffer)
    assert.deepEqual(splitChunks(content, 5).map(text), ['01234', '56789'])
  })

  test('are a single one if the content fits, and none for empty content', () => {
    assert.equal(MAX_CHUNK_BYTES, 536_870_911)
    assert.deepEqual(splitChunks(content).map(text), ['0123456789'])
    assert.deepEqual(splitChunks(new Uint8Array(0)), [])
  })

  test('join to the content again', () => {
    for (const size of [1, 3, 10, 11]) {
      assert.equal(text(joinChunks(splitChunks(content, size))), '0123456789')
    }
    assert.equal(joinChunks([]).byteLength, 0)
    assert.equal(joinChunks([new Uint8Array(0)]).byteLength, 0)
    assert.equal(joinChunks([content]), content)
  })

  test('beyond the limit of an array are refused', () => {
    const half = Object.defineProperty(new Uint8Array(0), 'byteLength', { value: MAX_CHUNK_BYTES })
    assert.throws(() => joinChunks(Array.from({ length: 9 }, () => half)), ProtocolError)
  })
})

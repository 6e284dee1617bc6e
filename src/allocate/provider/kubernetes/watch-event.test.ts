import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEvent, linesOf, type Named } from './watch-event.js'

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

async function allLines(...chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const line of linesOf(chunksOf(...chunks))) lines.push(line)
  return lines
}

test('lines are whole wherever the stream is cut, also within a character', async () => {
  const lines = ['{"a":"€𝄞é"}', '', '{"b":"\u2028"}']
  const bytes = Buffer.from(`${lines.join('\n')}\n{"cut`)
  for (let at = 0; at <= bytes.length; at += 1) {
    const two = [bytes.subarray(0, at), bytes.subarray(at)]
    assert.deepEqual(await allLines(...two), lines, `cut at ${at}`)
  }
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
  assert.deepEqual(await allLines(...single), lines)
})

test('a line without an end is refused', async () => {
  const chunk = Buffer.alloc(1_000_000, 'x')
  await assert.rejects(allLines(...new Array<Buffer>(9).fill(chunk)), /a line is too long/)
})

function event(type: string, object: object): string {
  return JSON.stringify({ type, object })
}

test('events change the objects, and name those that they change', () => {
  const objects = new Map<string, Named & { readonly n?: number }>()
  const one = { metadata: { name: 'one' } }
  assert.equal(applyEvent(objects, event('ADDED', { ...one, n: 1 })), 'one')
  assert.equal(applyEvent(objects, event('ADDED', { metadata: { name: 'two' } })), 'two')
  assert.equal(applyEvent(objects, event('MODIFIED', { ...one, n: 2 })), 'one')
  assert.equal(objects.get('one')?.n, 2)
  assert.equal(applyEvent(objects, event('BOOKMARK', { metadata: {} })), undefined)
  assert.equal(applyEvent(objects, event('DELETED', { metadata: { name: 'two' } })), 'two')
  assert.deepEqual([...objects.keys()], ['one'])
})

test('errors, and what is not an event, end the watch and change nothing', () => {
  const objects = new Map<string, Named>([['one', { metadata: { name: 'one' } }]])
  const wrong: readonly (readonly [string, RegExp])[] = [
    [event('ERROR', { code: 410, message: 'too old' }), /the watch has ended: 410 too old$/],
    ['{"type":"ERROR"}', /the watch has ended: ERROR$/],
    ['{"type":"DELE', /a line is not an event: {"type":"DELE/],
    ['', /not an event/],
    ['null', /not an event/],
    ['{"type":"DELETED"}', /an event has no object/],
    [event('DELETED', { metadata: {} }), /an event has no object/],
    [event('GONE', { metadata: { name: 'one' } }), /the unknown type "GONE"/],
  ]
  for (const [line, message] of wrong) assert.throws(() => applyEvent(objects, line), message)
  assert.deepEqual([...objects.keys()], ['one'])
})

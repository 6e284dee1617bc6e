import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { FrameWriter, TurnFlusher } from './writer.js'
import { SendQueue, SlabPool } from './send-queue.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A stream whose writes finish on request, and a writer for it. */
class Fixture {
  /** The bytes of each write, as hex. */
  readonly writes: string[] = []
  readonly stream: Writable
  readonly writer: FrameWriter<Fixture>
  readonly queue = new SendQueue(new SlabPool())
  progress = 0
  /** How often bytes left after a delay. */
  moves = 0
  #end: (() => void) | undefined
  isSlow = false

  constructor(slowBytes = 0) {
    this.stream = new Writable({
      write: (chunk: Buffer, _, callback) => this.#write(chunk, callback),
      writev: (chunks, callback) =>
        this.#write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), callback),
    })
    this.writer = new FrameWriter({
      stream: this.stream,
      queue: this.queue,
      flusher: new TurnFlusher(),
      actions: { written: (own, hasMoved) => own.#onWritten(hasMoved) },
      owner: this,
      slowBytes,
    })
  }

  #onWritten(hasMoved: boolean): void {
    this.progress += 1
    if (hasMoved) this.moves += 1
  }

  /** Finishes the write in progress. */
  end(): void {
    const end = this.#end
    assert(end !== undefined, 'no write is under way')
    this.#end = undefined
    end()
  }

  #write(bytes: Buffer, callback: () => void): void {
    this.writes.push(bytes.length > 40 ? `${bytes.length} bytes` : bytes.toString('hex'))
    if (this.isSlow) this.#end = callback
    else callback()
  }
}

test('nothing is written before the start, and everything from a turn in one write', async () => {
  const { writer, writes } = new Fixture()
  writer.send(Buffer.from('a'))
  await turn()
  assert.deepEqual(writes, [])
  writer.start()
  writer.send(Buffer.from('b'))
  writer.sendMessage([Buffer.from('c'), Buffer.from('d')])
  assert.deepEqual(writes, [])
  await turn()
  assert.deepEqual(writes, ['000161000162010163000164'])
  assert.equal(writer.isIdle, true)
})

test('64 KiB are written immediately', () => {
  const { writer, writes } = new Fixture()
  writer.start()
  for (let count = 0; count < 7; count += 1) writer.send(Buffer.alloc(10_000))
  assert.deepEqual(writes, ['70063 bytes'])
  writer.send(Buffer.alloc(200_000))
  assert.deepEqual(writes, ['70063 bytes', '200009 bytes'])
})

test('everything behind a slow write waits, and leaves when it finishes', async () => {
  const fixture = new Fixture()
  const { writer, writes } = fixture
  fixture.isSlow = true
  writer.start()
  writer.send(Buffer.from('a'))
  await turn()
  writer.send(Buffer.from('b'))
  writer.sendControl(Buffer.from('control'))
  await turn()
  writer.send(Buffer.from('c'))
  assert.deepEqual(writes, ['000161'])
  assert.equal(writer.queuedBytes, 9)
  assert.equal(writer.isIdle, false)
  const { progress } = fixture
  fixture.end()
  await turn()
  assert.deepEqual(writes, ['000161', Buffer.from('control').toString('hex')])
  assert(fixture.progress > progress)
  fixture.end()
  await turn()
  fixture.end()
  await turn()
  assert.deepEqual(writes.slice(2), ['000162000163'])
  assert.equal(writer.isIdle, true)
})

test('a large message leaves in parts, and no command comes between them', async () => {
  const fixture = new Fixture()
  const { writer, writes } = fixture
  fixture.isSlow = true
  writer.start()
  writer.send(Buffer.alloc(600_000))
  writer.sendControl(Buffer.from('c'))
  assert.equal(writer.queuedBytes, 600_009)
  assert.equal(writer.isBetweenMessages, false)
  fixture.end()
  await turn()
  assert.equal(writer.queuedBytes, 600_009 - 256 * 1024)
  fixture.end()
  await turn()
  fixture.end()
  await turn()
  assert.deepEqual(writes, ['262144 bytes', '262144 bytes', '75721 bytes', '63'])
})

test('only bytes that the system could not take immediately show that the peer reads', async () => {
  const fixture = new Fixture()
  const { writer } = fixture
  writer.start()
  writer.send(Buffer.from('a'))
  await turn()
  writer.send(Buffer.alloc(600_000))
  await turn()
  assert.equal(fixture.moves, 0)
  fixture.isSlow = true
  writer.send(Buffer.from('a'))
  await turn()
  assert.equal(fixture.moves, 0)
  fixture.end()
  await turn()
  assert.equal(fixture.moves, 1)
})

test('a stream that encrypts moves only by writes that are longer than those of its own', async () => {
  const fixture = new Fixture(1_000)
  const { writer } = fixture
  fixture.isSlow = true
  writer.start()
  for (const size of [10, 5_000]) {
    writer.send(Buffer.alloc(size))
    await turn()
    fixture.end()
    await turn()
  }
  assert.equal(fixture.moves, 1)
})

test('after stop nothing is written', async () => {
  const fixture = new Fixture()
  const { writer, writes } = fixture
  fixture.isSlow = true
  writer.start()
  writer.send(Buffer.from('a'))
  await turn()
  writer.send(Buffer.from('b'))
  writer.stop()
  fixture.end()
  await turn()
  assert.deepEqual(writes, ['000161'])
})

test('a stream that has failed without reporting it swallows nothing', async () => {
  const { writer, writes, stream, queue } = new Fixture()
  stream.on('error', () => {})
  writer.start()
  writer.send(Buffer.from('a'))
  stream.destroy(new Error('the link is gone'))
  await turn()
  assert.deepEqual(writes, [])
  assert.equal(queue.bytes, 3)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { adoptStream, openStream, type OpenStream, type ReadSink } from './stream.js'

/** Keeps what it is given; the memories in `places` are to be filled first, in order. */
class Kept implements ReadSink {
  readonly chunks: Buffer[] = []
  readonly filled: number[] = []
  readonly #places: Buffer[]
  #at = 0
  #notify: () => void = () => {}

  constructor(places: readonly Buffer[] = []) {
    this.#places = [...places]
  }

  destination(): Buffer | undefined {
    return this.#places[0]?.subarray(this.#at)
  }

  onFilled(length: number): void {
    this.filled.push(length)
    this.#at += length
    if (this.#at === this.#places[0]?.length) {
      this.#places.shift()
      this.#at = 0
    }
    this.#notify()
  }

  onChunk(chunk: Buffer): void {
    this.chunks.push(chunk)
    this.#notify()
  }

  /** Resolves when so many bytes have arrived. */
  async has(bytes: number): Promise<void> {
    const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0)
    const count = (): number => sum(this.filled) + sum(this.chunks.map(({ length }) => length))
    while (count() < bytes) await new Promise<void>((resolve) => (this.#notify = resolve))
    assert.equal(count(), bytes)
  }
}

interface Pair {
  readonly server: Server
  readonly opened: OpenStream
  /** As Node has accepted it. */
  readonly accepted: Socket
}

async function pair(t: TestContext, pauseOnConnect = true): Promise<Pair> {
  const server = createServer({ pauseOnConnect })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const opened = openStream({ kind: 'tcp', host: '127.0.0.1', port })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  t.after(() => {
    opened.socket.destroy()
    server.close()
  })
  return { server, opened, accepted }
}

test('what is read from several streams stays as it was', async (t) => {
  const pairs = [await pair(t), await pair(t)]
  const sinks = pairs.map(({ accepted }) => {
    const sink = new Kept()
    const { socket, reader } = adoptStream(accepted)
    t.after(() => socket.destroy())
    reader.readTo(sink)
    return sink
  })
  for (let round = 1; round <= 20; round += 1) {
    for (const [index, { opened }] of pairs.entries()) {
      opened.socket.write(`${index}`.repeat(100))
      await sinks[index]?.has(100 * round)
    }
  }
  for (const [index, { chunks }] of sinks.entries()) {
    assert.equal(Buffer.concat(chunks).toString(), `${index}`.repeat(2_000))
  }
})

for (const side of ['accepted', 'opened'] as const) {
  test(`the system reads into the memory of a large frame: ${side}`, async (t) => {
    const { opened, accepted } = await pair(t)
    const adopted = adoptStream(accepted)
    t.after(() => adopted.socket.destroy())
    const [from, to] = side === 'accepted' ? [opened, adopted] : [adopted, opened]
    const place = Buffer.alloc(3_000_000)
    const sink = new Kept([place])
    to.reader.readTo(sink)
    // The first bytes may have been asked for before there was a sink.
    from.socket.write('head')
    await sink.has(4)
    const body = Buffer.from(Array.from({ length: place.length }, (_, index) => index % 251))
    from.socket.write(body)
    from.socket.write('tail')
    await sink.has(place.length + 8)
    assert.equal(
      sink.filled.reduce((sum, size) => sum + size, 0),
      place.length,
    )
    assert.equal(Buffer.concat(sink.chunks).toString(), 'headtail')
    assert.ok(place.equals(body))
  })
}

test('a paused stream reads nothing, and goes on afterwards', async (t) => {
  const { opened, accepted } = await pair(t)
  const { socket, reader } = adoptStream(accepted)
  t.after(() => socket.destroy())
  const sink = new Kept()
  reader.readTo(sink)
  opened.socket.write('one')
  await sink.has(3)
  socket.pause()
  await new Promise<void>((resolve) => opened.socket.write('two', () => resolve()))
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(Buffer.concat(sink.chunks).toString(), 'one')
  socket.resume()
  await sink.has(6)
})

test('a stream that was read before is read as Node does', async (t) => {
  const { opened, accepted } = await pair(t, false)
  opened.socket.write('early')
  await once(accepted, 'readable')
  const { socket, reader } = adoptStream(accepted)
  t.after(() => socket.destroy())
  assert.equal(socket, accepted)
  const sink = new Kept([Buffer.alloc(100)])
  reader.readTo(sink)
  await sink.has(5)
  opened.socket.write('late')
  await sink.has(9)
  assert.equal(Buffer.concat(sink.chunks).toString(), 'earlylate')
})

test('the end of an adopted stream, and of its server, is noticed', async (t) => {
  const { server, opened, accepted } = await pair(t)
  const { socket, reader } = adoptStream(accepted)
  reader.readTo(new Kept())
  assert.equal(socket.remotePort, opened.socket.localPort)
  const ended = once(socket, 'end')
  const closed = once(socket, 'close')
  opened.socket.end('bye')
  await ended
  await closed
  await new Promise((resolve) => server.close(resolve))
})

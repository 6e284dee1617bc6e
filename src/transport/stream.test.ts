import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { adoptStream, openStream, type OpenStream } from './stream.js'

/** Keeps copies of what it is given. */
class Kept {
  readonly chunks: Buffer[] = []
  #notify: () => void = () => {}

  readonly take = (memory: Buffer): void => {
    this.chunks.push(Buffer.from(memory))
    this.#notify()
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  /** Resolves when so many bytes have arrived. */
  async has(bytes: number): Promise<void> {
    const count = (): number => this.chunks.reduce((sum, { length }) => sum + length, 0)
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
    reader.readTo(sink.take)
    return sink
  })
  for (let round = 1; round <= 20; round += 1) {
    for (const [index, { opened }] of pairs.entries()) {
      opened.socket.write(`${index}`.repeat(100))
      await sinks[index]?.has(100 * round)
    }
  }
  for (const [index, { text }] of sinks.entries()) {
    assert.equal(text, `${index}`.repeat(2_000))
  }
})

test('bytes are as they were sent, even if other code throws while they are read', async (t) => {
  const { opened, accepted } = await pair(t)
  const { socket, reader } = adoptStream(accepted)
  t.after(() => socket.destroy())
  const sink = new Kept()
  const caught: unknown[] = []
  const onThrown = (error: unknown): void => void caught.push(error)
  process.setUncaughtExceptionCaptureCallback(onThrown)
  t.after(() => process.setUncaughtExceptionCaptureCallback(null))
  reader.readTo((memory) => {
    sink.take(memory)
    process.nextTick(() => {
      throw new Error('a tick of other code')
    })
  })
  const body = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => index % 251))
  opened.socket.write(body)
  await sink.has(body.length)
  assert.ok(Buffer.concat(sink.chunks).equals(body))
  assert.ok(caught.length > 0)
})

test('a paused stream reads nothing, and goes on afterwards', async (t) => {
  const { opened, accepted } = await pair(t)
  const { socket, reader } = adoptStream(accepted)
  t.after(() => socket.destroy())
  const sink = new Kept()
  reader.readTo(sink.take)
  opened.socket.write('one')
  await sink.has(3)
  socket.pause()
  await new Promise<void>((resolve) => opened.socket.write('two', () => resolve()))
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(sink.text, 'one')
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
  const sink = new Kept()
  reader.readTo(sink.take)
  await sink.has(5)
  opened.socket.write('late')
  await sink.has(9)
  assert.equal(sink.text, 'earlylate')
})

test('the end of an adopted stream, and of its server, is noticed', async (t) => {
  const { server, opened, accepted } = await pair(t)
  const { socket, reader } = adoptStream(accepted)
  reader.readTo(new Kept().take)
  assert.equal(socket.remotePort, opened.socket.localPort)
  const ended = once(socket, 'end')
  const closed = once(socket, 'close')
  opened.socket.end('bye')
  await ended
  await closed
  await new Promise((resolve) => server.close(resolve))
})

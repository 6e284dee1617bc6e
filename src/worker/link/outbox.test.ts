import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Outbox } from './outbox.js'
import { FrameParser } from './pipe.js'

function pathFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-outbox-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'out')
}

function framesOf(bytes: Buffer): string[] {
  const frames: string[] = []
  const take = (frame: Buffer): void => void frames.push(frame.toString('latin1'))
  new FrameParser({ onMessage: take, onControl: take }).feed(bytes)
  return frames
}

test('frames leave with flush, and automatically when there are many', (context) => {
  const path = pathFor(context)
  const fd = openSync(path, 'w')
  const outbox = new Outbox(fd, () => assert.fail())
  outbox.add(Buffer.from('a'))
  assert.equal(readFileSync(path).length, 0)
  outbox.flush()
  outbox.flush()
  assert.deepEqual(framesOf(readFileSync(path)), ['a'])
  for (let count = 0; count < 7; count += 1) outbox.add(Buffer.alloc(10_000, 1))
  assert.ok(readFileSync(path).length > 60_000)
  outbox.add([Buffer.from('b'), Buffer.alloc(100_000, 2), Buffer.from('c')])
  outbox.flush()
  closeSync(fd)
  const frames = framesOf(readFileSync(path))
  assert.equal(frames.length, 9)
  assert.equal(frames[8]?.length, 100_002)
})

test('a control frame leaves immediately, after all messages', (context) => {
  const path = pathFor(context)
  const outbox = new Outbox(openSync(path, 'w'), () => assert.fail())
  outbox.add(Buffer.from('a'))
  outbox.send({ type: 'exitNote', note: 'nothing' })
  const [message, frame = ''] = framesOf(readFileSync(path))
  assert.equal(message, 'a')
  assert.deepEqual(JSON.parse(frame), { type: 'exitNote', note: 'nothing' })
})

test('a pipe without a reader is reported once', () => {
  let count = 0
  const outbox = new Outbox(-1, () => (count += 1))
  outbox.add(Buffer.from('a'))
  outbox.flush()
  outbox.add(Buffer.from('b'))
  outbox.flush()
  assert.equal(count, 1)
})

test('a full pipe that does not block is eventually written', async () => {
  // The child makes its pipe non-blocking, as user code might, and writes more than fits into it.
  const outbox = new URL('./outbox.js', import.meta.url).href
  const program = `
    import { Socket } from 'node:net'
    const { Outbox } = await import(${JSON.stringify(outbox)})
    new Socket({ fd: 3 })
    const outbox = new Outbox(3, () => process.exit(9))
    outbox.add(Buffer.alloc(4_000_000, 7))
    outbox.flush()
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const pipe = child.stdio[3] ?? assert.fail()
  let bytes = 0
  pipe.on('data', (chunk: Buffer) => (bytes += chunk.length))
  assert.deepEqual(await once(child, 'close'), [0, null])
  assert.equal(bytes, 4_000_005)
})

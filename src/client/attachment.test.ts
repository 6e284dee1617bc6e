import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultSerializer } from '../serializer/serializer.js'
import { defaultCodec, type ShippedFunction, type TaskCodec } from '../serializer/task-codec.js'
import { testClient, until, type TestClient } from './memory-link.test.kit.js'

const MIB = 1024 ** 2

/** Makes an attachment of every value in `captured`, and gives the function their sizes. */
class AttachingCodec implements TaskCodec {
  readonly isUpToDate = true
  readonly captured: Uint8Array[] = []
  #last: ShippedFunction | undefined

  serialize(value: unknown): Uint8Array {
    return defaultSerializer.serialize(value)
  }

  deserialize(bytes: Uint8Array): unknown {
    return defaultSerializer.deserialize(bytes)
  }

  serializeFunction(fn: (...args: never[]) => unknown): ShippedFunction {
    const attachments = [...this.captured]
    const last = this.#last?.attachments
    if (last?.length === attachments.length && last.every((one, at) => one === attachments[at])) {
      return this.#last ?? assert.fail()
    }
    const { bytes } = defaultCodec.serializeFunction(fn)
    this.#last = { bytes: Buffer.concat([Buffer.of(attachments.length), bytes]), attachments }
    return this.#last
  }

  deserializeFunction(
    bytes: Uint8Array,
    attachments: readonly { readonly bytes: Uint8Array }[],
  ): { readonly value: unknown; readonly isSteady: boolean } {
    const fn = defaultSerializer.deserialize(bytes.subarray(1)) as (...args: unknown[]) => unknown
    const sizes = attachments.map((attachment) => attachment.bytes.byteLength)
    return { value: (...args: unknown[]) => fn(sizes, ...args), isSteady: true }
  }

  attachmentCount(bytes: Uint8Array): number {
    return bytes[0] ?? 0
  }
}

const look = (sizes: unknown, input?: unknown): unknown => [sizes, input]

function setUp(options: { readonly id?: string } = {}): TestClient & { codec: AttachingCodec } {
  const codec = new AttachingCodec()
  return { ...testClient({ ...options, codec, clientCodec: codec }), codec }
}

/** The sizes of all objects from 1 KiB on that were created, in order. */
function created({ scheduler }: TestClient): number[] {
  return scheduler.received.flatMap((message) => {
    if (message.kind !== 'objectInstruction' || message.instructionType !== 'create') return []
    return message.objectContent.objectBytes
      .map((chunks) => chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0))
      .filter((bytes) => bytes >= 1_024)
  })
}

for (const id of ['one of ours', '']) {
  const name = id === '' ? 'a 1.9.9 scheduler' : 'one of our schedulers'

  test(`a captured value goes to ${name} once for a thousand tasks`, async () => {
    const client = setUp({ id })
    client.codec.captured.push(new Uint8Array(2_000), new Uint8Array(2 * MIB).fill(1))
    const inputs = Array.from({ length: 1_000 }, (_, index) => index)
    const results = await client.submitter.map(look, inputs, {}, false)
    assert.deepEqual(
      results,
      inputs.map((input) => [[2_000, 2 * MIB], input]),
    )
    assert.deepEqual(await client.submitter.submit(look, ['x']), [[2_000, 2 * MIB], 'x'])
    assert.deepEqual(created(client), [2_000, 2 * MIB])
    assert.deepEqual(client.scheduler.faults, [])
    await client.connection.close()
  })
}

test('a captured value that has changed becomes another object, and the others stay', async () => {
  const client = setUp()
  const { captured } = client.codec
  captured.push(new Uint8Array(2_000), new Uint8Array(3_000))
  const first = client.submitter.submit(look, [1])
  captured[0] = new Uint8Array(2_000).fill(1)
  captured[1] = new Uint8Array(3_000)
  const second = client.submitter.submit(look, [2])
  captured.pop()
  const third = client.submitter.submit(look, [3])
  assert.deepEqual(await Promise.all([first, second, third]), [
    [[2_000, 3_000], 1],
    [[2_000, 3_000], 2],
    [[2_000], 3],
  ])
  assert.deepEqual(created(client), [2_000, 3_000, 2_000])
  await client.connection.close()
})

test('a restarted scheduler gets attachments again before the task', async () => {
  const client = setUp()
  const { link, scheduler, submitter } = client
  client.codec.captured.push(new Uint8Array(2_000))
  assert.deepEqual(await submitter.submit(look, [1]), [[2_000], 1])
  scheduler.isHolding = true
  const future = submitter.submit(look, [2])
  await until(() => scheduler.unfinished.size === 1)
  link.lose()
  scheduler.restart('another one')
  scheduler.isHolding = false
  link.connect()
  assert.deepEqual(await future, [[2_000], 2])
  assert.deepEqual(await submitter.submit(look, [3]), [[2_000], 3])
  assert.deepEqual(created(client), [2_000, 2_000])
  assert.deepEqual(scheduler.faults, [])
  await client.connection.close()
})

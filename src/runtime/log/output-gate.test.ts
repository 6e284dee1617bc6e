import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../base/ids.js'
import { decode, type TaskOutput } from '../../wire/message.js'
import { MAX_OUTPUT_BYTES, OutputGate } from './output-gate.js'

/** A gate and the queue behind it. */
class Setup {
  queuedBytes = 0
  readonly sent: TaskOutput[] = []
  readonly gate: OutputGate = new OutputGate({
    send: (_client, frame) => {
      const bytes = Buffer.concat(frame instanceof Uint8Array ? [frame] : frame)
      const message = decode(bytes)
      assert.ok(message.kind === 'taskOutput')
      this.sent.push(message)
      this.queuedBytes += bytes.length
    },
    queuedBytes: () => this.queuedBytes,
  })

  /** As "bytes" or "bytes-dropped". */
  get story(): string[] {
    return this.sent.map(({ content, droppedBytes }) => {
      return droppedBytes === 0 ? `${content.length}` : `${content.length}-${droppedBytes}`
    })
  }
}

function output(bytes: number, isLast = false): TaskOutput {
  return {
    kind: 'taskOutput',
    taskId: taskId('t'),
    client: identity('c'),
    name: '',
    stream: 'stdout',
    content: Buffer.alloc(bytes, 'x'),
    droppedBytes: 0,
    isLast,
  }
}

test('output that a slow reader has no room for is dropped, and counted with the next', () => {
  const setup = new Setup()
  setup.gate.pass(output(MAX_OUTPUT_BYTES))
  setup.gate.pass(output(70))
  setup.gate.pass(output(7))
  assert.deepEqual(setup.story, [`${MAX_OUTPUT_BYTES}`])
  setup.queuedBytes = 0
  setup.gate.pass(output(5))
  setup.gate.pass(output(6))
  assert.deepEqual(setup.story.slice(1), ['5-77', '6'])
})

test('other data in the same queue takes no room', () => {
  const setup = new Setup()
  setup.queuedBytes = 100 * MAX_OUTPUT_BYTES
  setup.gate.pass(output(5))
  assert.deepEqual(setup.story, ['5'])
})

test('the end of a task always passes, with the count', () => {
  const setup = new Setup()
  setup.gate.pass(output(MAX_OUTPUT_BYTES))
  setup.gate.pass(output(70, true))
  assert.deepEqual(setup.story.slice(1), ['0-70'])
  setup.gate.drop(output(3))
  setup.gate.pass(output(0, true))
  assert.deepEqual(setup.story.slice(2), ['0-3'])
})

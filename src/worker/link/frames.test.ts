import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ProtocolError } from '../../base/errors.js'
import { identity, taskId } from '../../base/ids.js'
import {
  type AgentFrame,
  decodeAgentFrame,
  decodeProcessorFrame,
  encodeControl,
  exitNoteOf,
  logLineOf,
  MAX_CONTROL_BYTES,
  type ProcessorFrame,
} from './frames.js'

const HOST = {
  address: 'tcp://[::1]:1',
  worker: identity('1|n\xc3\xa4me|00'),
  inlineLimitBytes: 8192,
  taskTimeoutMs: 0,
}
const STATUS = {
  dispatchNumber: 2 ** 40,
  taskNumber: 2 ** 40 + 1,
  isStarted: true,
  isListening: false,
  isAlone: true,
  hasGivenUp: false,
  runningMs: 2 ** 33,
}
const STACK = {
  outcome: 'running',
  stack: [{ function: '', file: '/a.mjs', line: 1, column: 2 ** 31 }],
  reason: '',
} as const
const UNITS = Object.defineProperty({ gpu: [0, 2], linux: [] }, '__proto__', {
  value: [1],
  enumerable: true,
})
const LINE = { level: 'info', text: 'hello', fields: { n: 1, b: true, s: 'text' } } as const

const AGENT_FRAMES: readonly AgentFrame[] = [
  { type: 'host', facts: HOST },
  { type: 'units', number: 7, units: { gpu: [0, 2], linux: [] } },
  { type: 'stop', id: taskId('\0\xff'), count: 1, reason: 'cancelled' },
  { type: 'stop', id: taskId(''), count: 1, reason: 'timedOut' },
  { type: 'stop', id: taskId('a'), count: 9, reason: 'givenUp' },
  { type: 'collect', aboveBytes: 2 ** 40 },
  { type: 'end' },
  { type: 'askStatus', task: 2 ** 40, count: 3 },
  { type: 'retract', tasks: [] },
  { type: 'retract', tasks: [5, 2 ** 31, 2 ** 47] },
  { type: 'pulse' },
  { type: 'askStack' },
]

const PROCESSOR_FRAMES: readonly ProcessorFrame[] = [
  { type: 'log', line: LINE },
  { type: 'exitNote', note: 'nothing' },
  { type: 'exitNote', note: 'retired' },
  { type: 'exitNote', note: 'unusable' },
  { type: 'exitNote', note: { taskIds: [taskId('\0\xff16 bytes of id'), taskId('')] } },
  { type: 'status', status: STATUS },
  { type: 'retracted', tasks: [3, 1] },
  { type: 'pulse' },
  { type: 'stack', report: STACK },
  { type: 'stack', report: { outcome: 'failed', stack: [], reason: 'why' } },
]

test('control frames survive encoding', () => {
  for (const frame of AGENT_FRAMES) {
    assert.deepEqual(decodeAgentFrame(encodeControl(frame)), frame)
  }
  for (const frame of PROCESSOR_FRAMES) {
    assert.deepEqual(decodeProcessorFrame(encodeControl(frame)), frame)
  }
})

test('units arrive frozen; any name is possible', () => {
  const decoded = decodeAgentFrame(encodeControl({ type: 'units', number: 0, units: UNITS }))
  assert.ok(decoded.type === 'units')
  assert.deepEqual(Object.entries(decoded.units), Object.entries(UNITS))
  assert.ok(Object.isFrozen(decoded.units) && Object.isFrozen(decoded.units['gpu']))
})

/** An object with one of its fields replaced. Logs accept any text and fields. */
function* replaced(object: object, wrong: unknown): Generator<object> {
  for (const [name, value] of Object.entries(object) as [string, unknown][]) {
    if (name === 'fields' || name === 'text') continue
    yield { ...object, [name]: wrong }
    if (typeof value !== 'object' || value === null) continue
    for (const part of replaced(value, wrong)) yield { ...object, [name]: part }
  }
}

/** Each field of each frame, replaced by values of other types. */
function brokenFrames(frames: readonly object[]): string[] {
  const wrong = [null, [null], [[1, [0.5]]], 'loud', -1, 0.5]
  const broken = frames.flatMap((frame) => wrong.flatMap((value) => [...replaced(frame, value)]))
  return broken.map((frame) => JSON.stringify(frame))
}

test('a frame with a field of another type never passes as it is', () => {
  const decoders = [
    [AGENT_FRAMES, decodeAgentFrame],
    [PROCESSOR_FRAMES, decodeProcessorFrame],
  ] as const
  for (const [frames, decode] of decoders) {
    for (const text of brokenFrames(frames)) {
      try {
        // Some changes are valid, such as another address.
        const again = encodeControl(decode(Buffer.from(text)))
        assert.deepEqual(JSON.parse(again.toString()), JSON.parse(text))
      } catch (error) {
        assert.ok(error instanceof ProtocolError, text)
      }
    }
  }
})

const INVALID = [
  '',
  'x',
  'null',
  '[1]',
  '{}',
  '\xff\xfe',
  '{"type":"constructor"}',
  '{"type":"host"}',
  '{"type":"host","facts":{"address":1,"worker":"w","inlineLimitBytes":1,"taskTimeoutMs":0}}',
  '{"type":"units","number":0,"units":{}}',
  '{"type":"units","number":0,"units":[["a"]]}',
  '{"type":"units","number":0,"units":[[1,[]]]}',
  '{"type":"units","number":0,"units":[["a",[0.5]]]}',
  '{"type":"units","number":0,"units":[["a",["0"]]]}',
  '{"type":"units","number":4096,"units":[]}',
  '{"type":"units","units":[]}',
  '{"type":"stop","id":"a","reason":"bored"}',
  '{"type":"stop","id":"\u{100}","reason":"cancelled"}',
  '{"type":"collect"}',
  '{"type":"retract","tasks":[-1]}',
  '{"type":"log","line":{"level":"loud","text":"x","fields":{}}}',
  '{"type":"log","line":{"level":"constructor","text":"x","fields":{}}}',
  '{"type":"exitNote","note":"unknown"}',
  '{"type":"exitNote","note":{"taskIds":[]}}',
  '{"type":"status","status":{"dispatchNumber":1}}',
  '{"type":"retracted","tasks":1}',
]

test('invalid frames are refused, and frames of the other side', () => {
  for (const text of INVALID) {
    assert.throws(() => decodeAgentFrame(Buffer.from(text)), ProtocolError, text)
    assert.throws(() => decodeProcessorFrame(Buffer.from(text)), ProtocolError, text)
  }
  for (const frame of AGENT_FRAMES.filter(({ type }) => type !== 'pulse')) {
    assert.throws(() => decodeProcessorFrame(encodeControl(frame)), ProtocolError)
  }
  for (const frame of PROCESSOR_FRAMES.filter(({ type }) => type !== 'pulse')) {
    assert.throws(() => decodeAgentFrame(encodeControl(frame)), ProtocolError)
  }
})

test('property: arbitrary JSON is decoded or refused', () => {
  const types = fc.constantFrom(...AGENT_FRAMES, ...PROCESSOR_FRAMES)
  fc.assert(
    fc.property(types, fc.object(), ({ type }, fields) => {
      const bytes = Buffer.from(JSON.stringify({ ...fields, type }))
      for (const decode of [decodeAgentFrame, decodeProcessorFrame]) {
        try {
          decode(bytes)
        } catch (error) {
          assert.ok(error instanceof ProtocolError)
        }
      }
    }),
  )
})

test('an exit note names a limited number of tasks', () => {
  assert.equal(exitNoteOf([]), 'nothing')
  assert.deepEqual(exitNoteOf([taskId('')]), { taskIds: [''] })
  const many = exitNoteOf(Array.from({ length: 5_000 }, (_, index) => taskId(String(index))))
  assert.ok(typeof many === 'object' && many.taskIds.length === 1_000)
})

const ID = taskId('\x01\x02')

test('a log line has the id of its task, and fields of any kind as text', () => {
  const fields = { n: 1, b: true, s: 'text', list: [1, 2], nothing: undefined, o: {} }
  assert.deepEqual(logLineOf(ID, 'info', { text: 'hello', fields }), {
    level: 'info',
    text: 'hello',
    fields: { n: 1, b: true, s: 'text', list: '1,2', o: '[object Object]', task: '0102' },
  })
  // A value that JSON cannot represent becomes text.
  const line = logLineOf(ID, 'info', { text: '', fields: { a: NaN } })
  const decoded = decodeProcessorFrame(encodeControl({ type: 'log', line }))
  assert.ok(decoded.type === 'log')
  assert.equal(decoded.line.fields['a'], 'null')
})

test('a field that throws when it is read does not make the log call throw', () => {
  const fields = {
    ok: 1,
    get broken(): never {
      throw new Error('getter')
    },
  }
  const text = {
    toString: (): never => {
      throw new Error('text')
    },
  }
  assert.deepEqual(logLineOf(ID, 'warn', { text, fields }), {
    level: 'warn',
    text: '?',
    fields: { ok: 1, broken: '?', task: '0102' },
  })
})

test('a log line is cut so that its frame is always allowed', () => {
  const long = '\0'.repeat(1e6)
  const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`f${at}`, long]))
  const line = logLineOf(ID, 'info', { text: long, fields })
  assert.equal(line.text.length, 65_536)
  assert.equal(line.fields['f0'], '\0'.repeat(65_536))
  assert.equal(line.fields['task'], '0102')
  const bytes = encodeControl({ type: 'log', line })
  assert.ok(bytes.length < MAX_CONTROL_BYTES, String(bytes.length))
  assert.ok(decodeProcessorFrame(bytes).type === 'log')
})

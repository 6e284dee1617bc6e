// Tasks of our clients as inputs of service/symphony_service.py: the frames that a processor of
// this package reads. The output is what the processor writes. Both sides must have the same
// version.

import { constants } from 'node:os'
import { asBuffer, totalBytes } from '../../base/bytes.js'
import { type ProcessorDeath, ProcessorDiedError, ProtocolError } from '../../base/errors.js'
import { identity, NO_TASK, type ObjectId, objectIdOf, taskPhrase } from '../../base/ids.js'
import { causeOf } from '../../core/worker/processor/death.js'
import { statusOnly } from '../../core/worker/task/result.js'
import { timeLimitOf } from '../../core/worker/task/task.js'
import { packageVersion } from '../../runtime/process-statistics.js'
import {
  decode,
  encode,
  encodeFrame,
  type Task,
  type TaskOutput,
  type TaskUpdate,
} from '../../wire/message.js'
import { decodeProfileResult } from '../../wire/metadata.js'
import { encodeOwnError } from '../agent/hosting.js'
import { decodeProcessorFrame, type LogLine } from '../link/frames.js'
import { FrameBatch, FrameParser } from '../link/pipe.js'
import { serializerIdOf } from '../object-ids.js'
import type { ServiceAnswer, ServiceCall, ServiceForm } from './processor.js'

const MAGIC = Buffer.from('scaler-ts\n')
const FRAMES = 0
const ENDED = 1
const LENGTH_BYTES = 4

/** Where the kind of a message is in it. */
const KIND_AT = 16

/** Tasks of our clients. */
export class NodeForm implements ServiceForm {
  readonly #head: { readonly version: string; readonly resultKind: number }

  constructor() {
    const result = asBuffer(encode(statusOnly(NO_TASK, 'canceled', 1)))
    this.#head = { version: packageVersion(), resultKind: result.readUInt16LE(KIND_AT) }
  }

  inputOf(call: ServiceCall): readonly Uint8Array[] {
    const { timeoutMs } = timeLimitOf(call.task.timeoutMs, call.facts.taskTimeoutMs)
    const head = { ...this.#head, timeoutMs }
    return [
      MAGIC,
      ...section([Buffer.from(JSON.stringify(head))]),
      ...section(startFrames(call)),
      ...section(taskFrames(call)),
      ...section(forgetFrames()),
    ]
  }

  answerIn(call: ServiceCall, output: Buffer): ServiceAnswer {
    if (output[0] === FRAMES) return answerIn(call.task, output.subarray(1))
    if (output[0] !== ENDED) throw new ProtocolError('the service is not symphony_service.py')
    throw deathOf(call.task, JSON.parse(output.toString('utf8', 1)) as Death)
  }

  /** Our clients load no exceptions of Python. */
  failureIn(): undefined {
    return undefined
  }

  encodeError(error: Error): Uint8Array {
    return encodeOwnError(error)
  }
}

/** How the processor of a service has ended; `signal` is a number. */
type Death = Omit<ProcessorDeath, 'signal'> & { readonly signal?: number }

function deathOf({ taskId, name }: Task, { signal, ...rest }: Death): Error {
  const known = Object.entries(constants.signals).find(([, number]) => number === signal)
  const death = {
    ...rest,
    ...(signal === undefined ? {} : { signal: known?.[0] ?? String(signal) }),
  }
  const what = `${taskPhrase(taskId, name)}: the process that ran it ${causeOf(death)}`
  return new ProcessorDiedError(what, death)
}

function answerIn({ taskId }: Task, frames: Buffer): ServiceAnswer {
  const outputs: TaskOutput[] = []
  const logs: LogLine[] = []
  let progress: TaskUpdate | undefined
  let answer: ServiceAnswer | undefined
  const parser = new FrameParser({
    onMessage: (bytes) => {
      const message = decode(bytes)
      if (message.kind === 'taskOutput') outputs.push(message)
      if (message.kind === 'taskUpdate' && message.update === 'progress') progress = message
      if (message.kind !== 'taskResult' || message.taskId !== taskId) return
      const { status, inlineResults, packed, error, metadata } = message
      if (status !== 'success' && status !== 'failed') return
      const content = packed.byteLength > 0 ? { packed } : inlineResults
      const { peakMemoryBytes, cpuSeconds } = decodeProfileResult(metadata) ?? NO_PROFILE
      answer = { status, content, error, peakMemoryBytes, cpuSeconds, outputs, logs }
    },
    onControl: (bytes) => {
      const frame = decodeProcessorFrame(bytes)
      if (frame.type === 'log') logs.push(frame.line)
    },
  })
  parser.feed(frames)
  if (answer === undefined) throw new ProtocolError('the service has put out no result of the task')
  return progress === undefined ? answer : { ...answer, progress }
}

const NO_PROFILE = { peakMemoryBytes: 0, cpuSeconds: 0 }

function section(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt32LE(totalBytes(pieces))
  return [length, ...pieces]
}

function startFrames({ facts }: ServiceCall): readonly Uint8Array[] {
  const batch = new FrameBatch()
  batch.addControl({ type: 'host', facts })
  batch.addControl({ type: 'guard' })
  return batch.take()
}

function taskFrames(call: ServiceCall): readonly Uint8Array[] {
  const { task, bytes, units, objects } = call
  const batch = new FrameBatch()
  const ids = neededBy(task).filter((id) => objects.has(id))
  const held = ids.flatMap((id) => objects.get(id) ?? [])
  batch.addMessage(
    encodeFrame({
      kind: 'objectResponse',
      responseType: 'content',
      objectContent: {
        objectIds: ids,
        objectTypes: held.map(({ type }) => type),
        objectNames: held.map(({ name }) => name),
        objectBytes: held.map(({ chunks }) => chunks),
      },
    }),
  )
  if (units !== undefined) batch.addControl({ type: 'units', number: 0, units })
  batch.addMessage(bytes, units === undefined ? undefined : 0)
  return batch.take()
}

function neededBy(task: Task): readonly ObjectId[] {
  const ids = new Set([serializerIdOf(task.source), task.funcObjectId])
  for (const { type, data } of task.functionArgs) {
    if (type === 'objectID' || type === 'sharedObjectID') ids.add(objectIdOf(data))
  }
  return [...ids]
}

function forgetFrames(): readonly Uint8Array[] {
  const batch = new FrameBatch()
  batch.addMessage(
    encodeFrame({
      kind: 'objectInstruction',
      instructionType: 'clear',
      objectUser: identity(''),
      objectContent: { objectIds: [], objectTypes: [], objectNames: [], objectBytes: [] },
    }),
  )
  return batch.take()
}

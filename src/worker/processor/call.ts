// From a task as it came to a call of a function, and from what that returns to bytes again. None
// of it decides when: that is the matter of runner.ts.

import { fileURLToPath } from 'node:url'
import { rewriteStacks } from '../../base/error-stack.js'
import { DeserializeError, SerializeError } from '../../base/errors.js'
import type { Identity, TaskId } from '../../base/ids.js'
import type { ErrorText } from '../../base/text.js'
import type { Units } from '../../core/worker/queue/units.js'
import type { TimeLimit } from '../../core/worker/task/task.js'
import { serializeError } from '../../serializer/error-codec.js'
import { textOf, withPathPrefix } from '../../serializer/refusal.js'
import { pendingImportOf } from '../../serializer/pending-read.js'
import type { TaskCodec } from '../../serializer/task-codec.js'
import type { OutputPlace } from '../../wire/message.js'
import { freezeData, type StoredBytes, type StoredObject, type TaskFunction } from './objects.js'

// What users see of the stack of an error is what they wrote: not how a processor came to call it.

/** The folder of this package's compiled files. */
const OWN_URL: string = new URL('../..', import.meta.url).href
const OWN_PATH: string = fileURLToPath(OWN_URL)

/** Modules of Node that call what others wrote, for us. */
const INSIDES: ReadonlySet<string> = new Set(['node:async_hooks', 'node:vm'])

const FRAME = /^\s+at (?:async )?(?:.*? \()?(\S.*?):\d+:\d+\)?$/

/**
 * The bytes of whatever a task threw. Takes the frames of this package and of Node's inside out of
 * its stack, and of those in its `cause` and `errors`, for good. Never throws.
 */
export function serializeFailure(thrown: unknown): Uint8Array {
  rewriteStacks(thrown, withoutOwnFrames)
  const { stackTraceLimit } = Error
  // An error that stands for one that cannot travel has no frames but ours.
  Error.stackTraceLimit = 0
  try {
    return serializeError(thrown)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** The stack without the frames that tell how it was called. */
export function withoutOwnFrames(stack: string): string {
  const lines = stack.split('\n')
  const places = lines.map((line) => FRAME.exec(line)?.[1])
  const lastOwn = places.findLastIndex((place) => place !== undefined && isOwn(place))
  const kept = lines.filter((_, index) => {
    const place = places[index]
    if (place === undefined) return true
    if (isOwn(place) || isInside(place)) return false
    // Below the last of ours there is only what reads the pipe.
    return lastOwn < 0 || index < lastOwn || !place.startsWith('node:')
  })
  return kept.join('\n')
}

function isOwn(place: string): boolean {
  return place.startsWith(OWN_URL) || place.startsWith(OWN_PATH)
}

function isInside(place: string): boolean {
  return place.startsWith('node:internal/') || INSIDES.has(place)
}

/** Longest result: it must fit into one frame, with some room for what is around it. */
const MAX_RESULT_BYTES = 2 ** 32 - 2 ** 20

/** Why a task is not run. */
export interface Refusal {
  /** The serialized error: the result. */
  readonly payload: Uint8Array
  readonly text: ErrorText
}

/** A task with all that it needs. That its time is over, the agent sees. */
export interface RunnableTask extends TimeLimit {
  readonly id: TaskId
  /** The client whose task it is. */
  readonly source: Identity
  /** Empty: that of the function. */
  readonly name: string
  /** More is more urgent. */
  readonly priority: number
  /** How often it was begun before. */
  readonly attempt: number
  /** What it was given of the capabilities that it needs. */
  readonly units: Units
  readonly isProfiled: boolean
  /** Where what it prints goes. */
  readonly output: OutputPlace
  /** The client that prints it. */
  readonly outputClient: Identity
  /** A result that becomes an object is kept here, for tasks that need it. */
  readonly keepsResult: boolean
  /** That of the task's client. */
  readonly serializer: Pick<StoredObject, 'codec' | 'clientSerializer'>
  readonly fn: StoredObject
  /** Objects, or values that came inside the task; the function's attachments come last. */
  readonly inputs: readonly (StoredObject | Uint8Array)[]
  /** Which of the inputs are values of references or results of tasks; undefined = none. */
  readonly shared: ReadonlySet<number> | undefined
  /** Why it cannot be run. */
  readonly refusal: Refusal | undefined
}

/** A task that was read. */
export interface TaskCall {
  readonly codec: TaskCodec
  readonly fn: TaskFunction
  /** Made for this task alone, but for shared plain data, which is frozen. */
  readonly values: readonly unknown[]
}

const NO_ATTACHMENTS: readonly StoredBytes[] = []

/** Reads a task. Throws `DeserializeError`, or `PendingImport` if it cannot be read yet. */
export function readCall({ serializer, fn: stored, inputs, shared }: RunnableTask): TaskCall {
  const codec = serializer.codec()
  const count = inputs.length - stored.attachmentCount(codec)
  const attachments = attachmentsFrom(inputs, count)
  const fn = stored.function(codec, attachments)
  const values: unknown[] = []
  for (let index = 0; index < count; index += 1) {
    const isShared = shared?.has(index) === true
    values.push(
      readArgument(codec, inputs[index] as StoredObject | Uint8Array, { index, isShared }),
    )
  }
  return { codec, fn, values }
}

/** What the function returned, as bytes. Throws `SerializeError` with a path from `result`. */
export function serializeResult({ codec }: TaskCall, value: unknown): Uint8Array {
  let bytes: Uint8Array
  try {
    bytes = codec.serialize(value)
  } catch (error) {
    throw withPathPrefix(error, ['result'])
  }
  if (bytes.byteLength <= MAX_RESULT_BYTES) return bytes
  const limit = `at most ${MAX_RESULT_BYTES} can travel`
  throw new SerializeError(`the result has ${bytes.byteLength} bytes; ${limit}`)
}

function attachmentsFrom(
  inputs: readonly (StoredObject | Uint8Array)[],
  count: number,
): readonly StoredBytes[] {
  if (count === inputs.length) return NO_ATTACHMENTS
  const attachments: StoredBytes[] = []
  for (const input of count < 0 ? [] : inputs.slice(count)) {
    if (!(input instanceof Uint8Array)) attachments.push(input)
  }
  if (count + attachments.length === inputs.length) return attachments
  throw new DeserializeError('the function came without the objects that belong to it')
}

function readArgument(
  codec: TaskCodec,
  input: StoredObject | Uint8Array,
  { index, isShared }: { readonly index: number; readonly isShared: boolean },
): unknown {
  try {
    if (!(input instanceof Uint8Array)) {
      return isShared ? input.shared(codec) : codec.deserialize(input.bytes)
    }
    const value = codec.deserialize(input)
    if (isShared) freezeData(value)
    return value
  } catch (error) {
    const pending = pendingImportOf(error)
    if (pending !== undefined) throw pending
    const why = error instanceof DeserializeError ? error.message : textOf(error)
    throw new DeserializeError(`argument ${index + 1} cannot be read: ${why}`, { cause: error })
  }
}

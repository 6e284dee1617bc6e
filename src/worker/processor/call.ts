// Turns a task message into a function call, and the return value into bytes. runner.ts decides
// when.

import { rewriteStacks, withoutFrames } from '../../base/error-stack.js'
import { DeserializeError, SerializeError } from '../../base/errors.js'
import type { Identity, TaskId } from '../../base/ids.js'
import type { ErrorText } from '../../base/text.js'
import type { Units } from '../../core/worker/queue/units.js'
import type { TimeLimit } from '../../core/worker/task/task.js'
import { serializeError } from '../../serializer/error-codec.js'
import { textOf, withPathPrefix } from '../../serializer/refusal.js'
import { pendingImportOf } from '../../serializer/pending-read.js'
import type { MovedBytes, TaskCodec } from '../../serializer/task-codec.js'
import type { OutputPlace, Task } from '../../wire/message.js'
import { PackedReader, type SharedValues } from '../../serializer/value/packed/reader.js'
import { countOf, layoutOf } from '../../wire/run.js'
import { withoutOwnFrames } from './own-frames.js'
import { freezeData } from './freeze-data.js'
import type { StoredBytes, StoredObject, TaskFunction } from './objects.js'

/**
 * Serializes whatever a task threw. Permanently removes the frames of this package and of Node's
 * internals from its stack, and from those of its `cause` and `errors`. Never throws.
 */
export function serializeFailure(thrown: unknown): Uint8Array {
  rewriteStacks(thrown, withoutOwnFrames)
  // An error that replaces one that cannot be serialized would only have frames of this package.
  return withoutFrames(() => serializeError(thrown))
}

/** The longest result: it must fit into one frame, with some room for the rest of the message. */
const MAX_RESULT_BYTES = 2 ** 32 - 2 ** 20

/** Why a task is not run. */
export interface Refusal {
  /** The serialized error: the result. */
  readonly payload: Uint8Array
  readonly text: ErrorText
}

/** A task with everything that it needs. The agent enforces its time limit. */
export interface RunnableTask extends TimeLimit {
  readonly id: TaskId
  /** The client that submitted the task. */
  readonly source: Identity
  /** Empty: the name of the function. */
  readonly name: string
  /** Higher runs first. */
  readonly priority: number
  /** How many times it was started before. */
  readonly attempt: number
  /** The capability units that it was assigned. */
  readonly units: Units
  readonly isProfiled: boolean
  /** Where its output goes. */
  readonly output: OutputPlace
  /** The client that its output is forwarded to. */
  readonly outputClient: Identity
  /** Its trace (docs/protocol.md#traces); '' = none. */
  readonly traceContext: string
  /** Whether a result that becomes an object is kept here, for tasks that need it. */
  readonly keepsResult: boolean
  /** The serializer of the task's client. */
  readonly serializer: Pick<StoredObject, 'codec' | 'clientSerializer'>
  readonly fn: StoredObject
  /** Objects, or values inside the task message; the function's attachments come last. */
  readonly inputs: readonly (StoredObject | Uint8Array)[]
  /** Which of the inputs are values of references or results of tasks; undefined = none. */
  readonly shared: ReadonlySet<number> | undefined
  /** The task whose result is one of its inputs; undefined = none. */
  readonly after: MissingInput | undefined
  /** Why it cannot be run. */
  readonly refusal: Refusal | undefined
  /** An object that it needs was in a file that is gone: the agent must dispatch it again. */
  readonly isOutdated?: boolean
  /**
   * Its arguments, if they are packed; then `inputs` are the objects that these refer to, and the
   * attachments of the function.
   */
  readonly packed: PackedEntry | undefined
}

/** An input that is the result of another task, which has arrived just before. */
export interface MissingInput {
  readonly id: TaskId
  /** Sets the input. */
  readonly fill: (value: Uint8Array) => void
}

/** The arguments of one task of a run. */
export interface PackedEntry {
  readonly run: PackedArguments
  readonly index: number
}

/** The part of a Task that has the arguments of a run. */
type PackedTask = Pick<Task, 'taskId' | 'attempt' | 'packed' | 'count' | 'keepsResult'>

/** The arguments of tasks that arrived together. */
export class PackedArguments {
  /** The first task. */
  readonly id: TaskId
  readonly attempt: number
  readonly count: number
  /** Whether results are written by the serializer, because other tasks get their bytes. */
  readonly keepsResult: boolean
  readonly #packed: Uint8Array
  #reader: { readonly codec: TaskCodec; readonly packed: PackedReader } | undefined

  /** `packed`: as in the Task. */
  constructor({ taskId, attempt, packed, count, keepsResult }: PackedTask) {
    this.id = taskId
    this.attempt = attempt
    this.count = countOf({ count })
    this.keepsResult = keepsResult
    this.#packed = packed
  }

  /**
   * The arguments of the task with this index. `task`: any of them. Throws what reading a value
   * throws.
   */
  read(task: RunnableTask, codec: TaskCodec, index: number): unknown[] {
    try {
      if (this.#reader?.codec !== codec) {
        const layout = layoutOf(this.#packed, this.count)
        const others = new TaskInputs(task, codec)
        this.#reader = { codec, packed: new PackedReader(this.#packed, layout, codec, others) }
      }
      return this.#reader.packed.values(index)
    } catch (error) {
      throw unreadable(`argument ${(this.#reader?.packed.lastAt ?? 0) + 1}`, error)
    }
  }
}

/** What the packed arguments of tasks refer to. */
class TaskInputs implements SharedValues {
  readonly inputCount: number
  readonly #task: RunnableTask
  readonly #codec: TaskCodec

  constructor(task: RunnableTask, codec: TaskCodec) {
    this.inputCount = task.inputs.length - task.fn.attachmentCount(codec)
    this.#task = task
    this.#codec = codec
  }

  isShared(index: number): boolean {
    return this.#task.shared?.has(index) === true
  }

  input(index: number): unknown {
    const input = this.#task.inputs[index] as StoredObject | Uint8Array
    return readInput(this.#codec, input, this.isShared(index))
  }

  shared(bytes: Uint8Array): unknown {
    return readInput(this.#codec, bytes, true)
  }
}

/** A deserialized task. */
export interface TaskCall {
  readonly codec: TaskCodec
  readonly fn: TaskFunction
  /** Created for this task only, except shared plain data, which is frozen. */
  readonly values: readonly unknown[]
}

const NO_ATTACHMENTS: readonly StoredBytes[] = []

/**
 * Deserializes a task. Throws `DeserializeError`, or `PendingImport` if it must wait for an import.
 */
export function readCall(task: RunnableTask): TaskCall {
  const { serializer, fn: stored, inputs, shared, packed } = task
  const codec = serializer.codec()
  if (packed !== undefined) {
    const fn = functionOf(task, codec)
    return { codec, fn, values: packed.run.read(task, codec, packed.index) }
  }
  const count = inputs.length - stored.attachmentCount(codec)
  const attachments = attachmentsFrom(inputs, count)
  const fn = stored.function(codec, attachments)
  const values: unknown[] = []
  // Classes are as the function and its own arguments have them: what is older is read last.
  for (const isShared of shared === undefined ? [false] : [false, true]) {
    for (let index = 0; index < count; index += 1) {
      if ((shared?.has(index) === true) !== isShared) continue
      const input = inputs[index] as StoredObject | Uint8Array
      values[index] = readArgument(codec, input, { index, isShared })
    }
  }
  // Not before: if an import is pending, they are all read again. Attachments may be read later.
  for (const input of inputs.slice(0, count)) {
    if (!(input instanceof Uint8Array)) input.onRead(inputs)
  }
  return { codec, fn, values }
}

/** The function of a task with packed arguments. Throws like `readCall`. */
export function functionOf({ fn: stored, inputs }: RunnableTask, codec: TaskCodec): TaskFunction {
  const count = inputs.length - stored.attachmentCount(codec)
  return stored.function(codec, attachmentsFrom(inputs, count))
}

/** Serializes what the function returned. Throws `SerializeError` with a path from `result`. */
export function serializeResult({ codec }: TaskCall, value: unknown): ResultBytes {
  let bytes: Uint8Array
  try {
    bytes = codec.serialize(value)
  } catch (error) {
    throw withPathPrefix(error, ['result'])
  }
  return checkedResult(bytes)
}

/** A serialized result, which may be in a file. */
export type ResultBytes = Uint8Array | MovedBytes

/** The serialized result, if it is not too long. Throws `SerializeError`. */
export function checkedResult(bytes: ResultBytes): ResultBytes {
  if (bytes.byteLength <= MAX_RESULT_BYTES) return bytes
  const limit = `the limit is ${MAX_RESULT_BYTES}`
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
  throw new DeserializeError('the function arrived without its attachments')
}

function readArgument(
  codec: TaskCodec,
  input: StoredObject | Uint8Array,
  { index, isShared }: { readonly index: number; readonly isShared: boolean },
): unknown {
  try {
    return readInput(codec, input, isShared)
  } catch (error) {
    throw unreadable(`argument ${index + 1}`, error)
  }
}

/** Throws what reading a value throws. */
function readInput(codec: TaskCodec, input: StoredObject | Uint8Array, isShared: boolean): unknown {
  if (!(input instanceof Uint8Array)) {
    return isShared ? input.shared(codec) : input.value(codec)
  }
  const value = codec.deserialize(input)
  if (isShared) freezeData(value)
  return value
}

/** What to throw for values that cannot be read: usually a `DeserializeError`. */
function unreadable(what: string, error: unknown): Error {
  const pending = pendingImportOf(error)
  if (pending !== undefined) return pending
  const why = error instanceof DeserializeError ? error.message : textOf(error)
  return new DeserializeError(`${what} cannot be read: ${why}`, { cause: error })
}

// What a processor does with the frames of its agent: keeps objects, queues tasks with what they
// need, has tasks stopped.

import { errorTextOf } from '../base/error-text.js'
import { DeserializeError, MissingObjectError } from '../base/errors.js'
import { idToHex, objectIdOf, type ObjectId } from '../base/ids.js'
import { NO_UNITS, type Units } from '../core/worker/queue/units.js'
import { SerializerIds } from '../core/worker/objects.js'
import { timeLimitOf } from '../core/worker/task/task.js'
import { nameWorker } from '../serializer/process-serializer.js'
import { decode, type Message, type ObjectInstruction, type Task } from '../wire/message.js'
import { DEFAULT_TASK_FLAGS, decodeTaskFlags } from '../wire/task-flags.js'
import { decodeCollect } from './collect-frame.js'
import { FOREIGN_TEXT, pickledRuntimeError } from './foreign-error.js'
import { decodeHost, type HostFacts } from './host-frame.js'
import { KIND_COLLECT, KIND_HOST, KIND_MESSAGE, KIND_STOP, KIND_UNITS } from './link.js'
import { serializerIdOf } from './object-id.js'
import { serializeFailure } from './own-frames.js'
import { decodeStop } from './stop-frame.js'
import { StoredObject, type ObjectStore } from './stored-object.js'
import type { Refusal, RunnableTask } from './task-call.js'
import type { TaskRunner } from './task-runner.js'
import { decodeUnits } from './units-frame.js'

const NO_OBJECT = new StoredObject([])

/** The inside of one processor process, apart from its pipes. */
export class Processor {
  readonly #runner: TaskRunner
  readonly #objects: ObjectStore
  readonly #collect: (aboveBytes: number) => void
  readonly #serializerIds = new SerializerIds(serializerIdOf)
  #workersTimeoutMs = 0
  /** Those of the next task. */
  #units: Units = NO_UNITS

  /** `collect`: collects garbage, if this process holds more memory than so many bytes. */
  constructor(
    runner: TaskRunner,
    objects: ObjectStore,
    collect: (aboveBytes: number) => void = () => {},
  ) {
    this.#runner = runner
    this.#objects = objects
    this.#collect = collect
  }

  /** One frame from the agent. Throws `ProtocolError` if it is not what it should be. */
  onFrame(kind: number, bytes: Buffer): void {
    if (kind === KIND_MESSAGE) this.#onMessage(decode(bytes))
    else if (kind === KIND_HOST) this.#onHost(decodeHost(bytes))
    else if (kind === KIND_UNITS) this.#units = decodeUnits(bytes)
    else if (kind === KIND_COLLECT) this.#collect(decodeCollect(bytes))
    else if (kind === KIND_STOP) {
      const { id, reason } = decodeStop(bytes)
      this.#runner.stop(id, reason)
    }
  }

  #onHost(facts: HostFacts): void {
    this.#workersTimeoutMs = facts.taskTimeoutMs
    this.#runner.setHost(facts)
    nameWorker(facts.worker)
  }

  #onMessage(message: Message): void {
    switch (message.kind) {
      case 'task':
        this.#runner.add(this.#runnableOf(message))
        this.#units = NO_UNITS
        return
      case 'objectResponse':
        return this.#objects.store(message.objectContent)
      case 'objectInstruction':
        return this.#onObjectInstruction(message)
      default:
    }
  }

  #onObjectInstruction({ instructionType, objectContent }: ObjectInstruction): void {
    if (instructionType === 'clear') this.#objects.clear()
    else if (instructionType === 'delete') this.#objects.delete(objectContent.objectIds)
  }

  /** Looks objects up now: they may be deleted before the task's turn comes. */
  #runnableOf(task: Task): RunnableTask {
    const inputs: (StoredObject | Uint8Array)[] = []
    const missing: ObjectId[] = []
    const find = (id: ObjectId): StoredObject => {
      const found = this.#objects.get(id)
      if (found === undefined) missing.push(id)
      return found ?? NO_OBJECT
    }
    const fn = find(task.funcObjectId)
    let shared: Set<number> | undefined
    for (const { type, data: bytes } of task.functionArgs) {
      const isObject = type === 'objectID' || type === 'sharedObjectID'
      if (type === 'sharedObjectID' || type === 'sharedInline') {
        ;(shared ??= new Set()).add(inputs.length)
      }
      inputs.push(isObject ? find(objectIdOf(bytes)) : bytes)
    }
    const serializer = find(this.#serializerIds.of(task.source))
    const refusal = refusalOf(task, serializer, missing)
    const flags = task.metadata.byteLength === 5 ? decodeTaskFlags(task.metadata) : undefined
    const { priority, profiling } = flags ?? DEFAULT_TASK_FLAGS
    return {
      id: task.taskId,
      source: task.source,
      name: task.name,
      priority,
      attempt: task.attempt,
      units: this.#units,
      ...timeLimitOf(task.timeoutMs, this.#workersTimeoutMs),
      isProfiled: profiling,
      output: task.output,
      outputClient: task.outputClient === '' ? task.source : task.outputClient,
      keepsResult: task.keepsResult,
      serializer,
      fn,
      inputs,
      shared,
      refusal,
    }
  }
}

/** The error of a task that need not be tried. */
function refusalOf(
  task: Task,
  serializer: StoredObject,
  missing: readonly ObjectId[],
): Refusal | undefined {
  if (serializer.isPickle) {
    const text = { name: 'RuntimeError', message: FOREIGN_TEXT, stack: '' }
    return { payload: pickledRuntimeError(), text }
  }
  if (missing.length > 0) {
    const text = `the task needs objects that are not here: ${missing.map(idToHex).join(', ')}`
    return refusalFor(new MissingObjectError(text))
  }
  if (task.functionArgs.some(({ type }) => type === 'task')) {
    return refusalFor(new DeserializeError('an argument of the task is another task'))
  }
  return undefined
}

function refusalFor(error: Error): Refusal {
  return { payload: serializeFailure(error), text: errorTextOf(error) }
}

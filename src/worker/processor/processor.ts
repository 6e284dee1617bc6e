// Handles the frames of the agent: stores objects, queues tasks with their inputs, stops tasks.

import { unreachable } from '../../base/assert.js'
import { bytesToLatin1 } from '../../base/bytes.js'
import {
  DeserializeError,
  MissingObjectError,
  ProtocolError,
  type StorageFullError,
} from '../../base/errors.js'
import { idToHex, type ObjectId, objectIdOf, taskId } from '../../base/ids.js'
import { errorTextOf } from '../../base/text.js'
import { SerializerIds } from '../../core/worker/objects.js'
import { NO_UNITS, type Units } from '../../core/worker/queue/units.js'
import { timeLimitOf } from '../../core/worker/task/task.js'
import { proofMessage } from '../../runtime/object-files.js'
import { checkTraceContext } from '../../runtime/tracing.js'
import { nameWorker } from '../../serializer/serializer.js'
import {
  decode,
  type Message,
  type ObjectContent,
  type ObjectInstruction,
  type Task,
} from '../../wire/message.js'
import { decodeTaskFlags, DEFAULT_TASK_FLAGS } from '../../wire/metadata.js'
import { type AgentFrame, decodeAgentFrame, type HostFacts } from '../link/frames.js'
import type { FrameReceiver } from '../link/pipe.js'
import { serializerIdOf } from '../object-ids.js'
import {
  type MissingInput,
  PackedArguments,
  type Refusal,
  type RunnableTask,
  serializeFailure,
} from './call.js'
import { type ObjectStore, StoredObject } from './objects.js'
import type { TaskRunner } from './runner.js'

// The answer for a task of a Python client that is sent here: a pickled exception, because bytes
// that are not a pickle would crash its agent and leave its futures waiting
// (docs/protocol.md#values).

/** Its message. */
const FOREIGN_TEXT = 'this worker runs JavaScript functions only, not Python ones'

/** A pickle (protocol 0) of a `RuntimeError`, which Python can load without this package. */
function pickledRuntimeError(): Uint8Array {
  return Buffer.from(`cbuiltins\nRuntimeError\n(S'${FOREIGN_TEXT}'\ntR.`, 'latin1')
}

const NO_OBJECT = new StoredObject([])

/** What the process has to do, not its tasks. */
type Order =
  | Extract<AgentFrame, { readonly type: 'guard' | 'collect' | 'end' }>
  | { readonly type: 'tell'; readonly message: Message }

/** The logic of one processor process, without its pipes. */
export class Processor implements FrameReceiver {
  readonly #runner: TaskRunner
  readonly #objects: ObjectStore
  readonly #perform: (order: Order) => void
  readonly #serializerIds = new SerializerIds(serializerIdOf)
  #workersTimeoutMs = 0
  /** The units of tasks, by number. */
  readonly #units: Units[] = []

  /** `perform` carries out orders to the process. */
  constructor(
    runner: TaskRunner,
    objects: ObjectStore,
    perform: (order: Order) => void = () => {},
  ) {
    this.#runner = runner
    this.#objects = objects
    this.#perform = perform
  }

  /** Handles a control frame from the agent. Throws `ProtocolError` if it is invalid. */
  onControl(bytes: Buffer): void {
    const frame = decodeAgentFrame(bytes)
    switch (frame.type) {
      case 'host':
        return this.#onHost(frame.facts)
      case 'units':
        this.#units[frame.number] = frame.units
        return
      case 'stop':
        return this.#runner.stop(frame.id, frame.reason, frame.count)
      case 'guard':
      case 'collect':
      case 'end':
        return this.#perform(frame)
      case 'askStatus':
      case 'retract':
      case 'pulse':
      case 'askStack':
        throw new ProtocolError(`a ${frame.type} frame, which is for the guardian`)
      default:
        unreachable(frame)
    }
  }

  #onHost(facts: HostFacts): void {
    this.#workersTimeoutMs = facts.taskTimeoutMs
    this.#runner.setHost(facts)
    nameWorker(facts.worker)
  }

  /** Handles a message from the agent. Throws `ProtocolError` if it is invalid. */
  onMessage(bytes: Buffer, unitNumber?: number): void {
    const message = decode(bytes)
    switch (message.kind) {
      case 'task': {
        const task = this.#runnableOf(message, this.#unitsOf(unitNumber))
        if (message.packed.byteLength === 0) return this.#runner.add(task)
        return this.#runner.addSlice(task, new PackedArguments(message))
      }
      case 'objectResponse':
        return this.#onObjects(message.objectContent)
      case 'objectInstruction':
        return this.#onObjectInstruction(message)
      case 'objectFiles': {
        const proof = this.#objects.files.accept(message.directory)
        if (message.directory !== '') this.#tell(proofMessage(proof))
        break
      }
      default:
    }
  }

  #onObjects(content: ObjectContent): void {
    const ids = this.#objects.store(content)
    if (ids.length > 0) this.#tell({ kind: 'objectRequest', requestType: 'get', objectIds: ids })
  }

  #tell(message: Message): void {
    this.#perform({ type: 'tell', message })
  }

  #onObjectInstruction({ instructionType, objectContent }: ObjectInstruction): void {
    if (instructionType === 'clear') this.#objects.clear()
    else if (instructionType === 'delete') this.#objects.delete(objectContent.objectIds)
  }

  #unitsOf(unitNumber: number | undefined): Units {
    if (unitNumber === undefined) return NO_UNITS
    const units = this.#units[unitNumber]
    if (units === undefined) throw new ProtocolError(`a task with unknown units, ${unitNumber}`)
    return units
  }

  /** Looks objects up now: they may be deleted before the task starts. */
  #runnableOf(task: Task, units: Units): RunnableTask {
    const inputs: (StoredObject | Uint8Array)[] = []
    const missing: ObjectId[] = []
    let refused: StorageFullError | undefined
    let isOutdated = false
    const find = (id: ObjectId): StoredObject => {
      const found = this.#objects.get(id)
      if (found === undefined) missing.push(id)
      isOutdated ||= this.#objects.isLost(id)
      found?.expect(inputs)
      refused ??= found?.refusal
      return found ?? NO_OBJECT
    }
    const fn = find(task.funcObjectId)
    let shared: Set<number> | undefined
    for (const { type, data: bytes } of task.functionArgs) {
      const isObject = type === 'objectID' || type === 'sharedObjectID'
      if (type === 'sharedObjectID' || type === 'sharedInline' || type === 'task') {
        ;(shared ??= new Set()).add(inputs.length)
      }
      inputs.push(isObject ? find(objectIdOf(bytes)) : bytes)
    }
    const serializer = find(this.#serializerIds.of(task.source))
    const refusal = refused ? refusalFor(refused) : refusalOf(task, serializer, missing)
    const flags = task.metadata.byteLength === 5 ? decodeTaskFlags(task.metadata) : undefined
    const { priority, profiling } = flags ?? DEFAULT_TASK_FLAGS
    const { timeoutMs, isWorkersLimit } = timeLimitOf(task.timeoutMs, this.#workersTimeoutMs)
    return {
      id: task.taskId,
      source: task.source,
      name: task.name,
      priority,
      attempt: task.attempt,
      units,
      timeoutMs,
      isWorkersLimit,
      isProfiled: profiling,
      output: task.output,
      outputClient: task.outputClient === '' ? task.source : task.outputClient,
      traceContext: checkTraceContext(task.traceContext),
      keepsResult: task.keepsResult,
      serializer,
      fn,
      inputs,
      shared,
      after: missingInputOf(task, inputs),
      refusal,
      isOutdated,
      packed: undefined,
    }
  }
}

/** The input that is the result of another task; undefined: there is none. */
function missingInputOf(
  { functionArgs }: Task,
  inputs: (StoredObject | Uint8Array)[],
): MissingInput | undefined {
  const index = functionArgs.findIndex(({ type }) => type === 'task')
  const argument = functionArgs[index]
  if (argument === undefined) return undefined
  const id = taskId(bytesToLatin1(argument.data))
  return {
    id,
    fill: (value) => {
      inputs[index] = value
    },
  }
}

/** The error of a task that cannot run. */
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
    const text = `the task needs missing objects: ${missing.map(idToHex).join(', ')}`
    return refusalFor(new MissingObjectError(text))
  }
  if (task.functionArgs.filter(({ type }) => type === 'task').length > 1) {
    return refusalFor(new DeserializeError('several arguments of the task are other tasks'))
  }
  return undefined
}

function refusalFor(error: Error): Refusal {
  return { payload: serializeFailure(error), text: errorTextOf(error) }
}

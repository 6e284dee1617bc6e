// One run of a task in a simulated processor: its program, its inputs, its progress.

import type { InstantMs } from '#src/base/machine.js'
import { asBuffer } from '#src/base/bytes.js'
import type { Task, TaskArgument } from '#src/wire/message.js'
import { countOf, nthTaskId } from '#src/wire/run.js'
import { unpack } from '#src/wire/run.kit.js'
import type { RunRecord } from './journal.js'
import type { Program } from './program.js'
import { checkFunction } from './shipment.js'

/** The tasks of a Task. Their arguments are in `functionArgs`; `packed` stays as it is. */
export function tasksOf(message: Task): readonly Task[] {
  if (message.packed.byteLength === 0) return [message]
  return unpack(message.packed, countOf(message)).map((entry, n) => {
    const own = argumentsIn(entry, message.functionArgs)
    const attachments = message.functionArgs.filter((argument) => !own.includes(argument))
    const functionArgs = [...own, ...attachments]
    return { ...message, bytes: undefined, taskId: nthTaskId(message.taskId, n), functionArgs }
  })
}

/** The arguments in an entry; `objects`: those that it may refer to. */
function argumentsIn(entry: Uint8Array, objects: readonly TaskArgument[]): readonly TaskArgument[] {
  const bytes = asBuffer(entry)
  const found: TaskArgument[] = []
  for (let at = 0; at < bytes.length;) {
    const object = bytes[at] === OBJECT ? objects[bytes[at + 1] ?? 0] : undefined
    if (object !== undefined) {
      found.push(object)
      at += OBJECT_BYTES
      continue
    }
    const end = at + PREFIX_BYTES + bytes.readUInt32LE(at + 1)
    const type = bytes[at] === SHARED_VALUE ? 'sharedInline' : 'inline'
    found.push({ type, data: bytes.subarray(at + PREFIX_BYTES, end) })
    at = end
  }
  return found
}

/** The values in an entry, each written as any value. */
export function valuesIn(entry: Uint8Array = new Uint8Array()): readonly Uint8Array[] {
  return argumentsIn(entry, []).map(({ data }) => data)
}

/** The first byte of a value of any kind, and its length. */
const ANY_VALUE = 15
const SHARED_VALUE = 14
const OBJECT = 12
const OBJECT_BYTES = 2
const PREFIX_BYTES = 5

/** The entry of a result. */
export function anyValue(bytes: Uint8Array): Uint8Array {
  const entry = Buffer.alloc(PREFIX_BYTES + bytes.byteLength)
  entry[0] = ANY_VALUE
  entry.writeUInt32LE(bytes.byteLength, 1)
  entry.set(bytes, PREFIX_BYTES)
  return entry
}

/** Bytes, or undefined: the object is not there. */
export type RunInput = Uint8Array | undefined

/** Where a task puts a small result for the task that arrives right behind it. */
export interface ResultPlace {
  readonly id: string
  bytes: Uint8Array | undefined
}

/** The task whose result is an argument of a Task; undefined: there is none. */
export function linkIdOf({ functionArgs }: Task): string | undefined {
  const argument = functionArgs.find(({ type }) => type === 'task')
  return argument && textOf(argument.data)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

/** One run. */
export class ProcessorRun {
  readonly task: Task
  /** Its position among all tasks of the processor. */
  readonly number: number
  readonly priority: number
  readonly program: Program
  /** The values of its inputs. */
  inputTexts: readonly string[] = []
  /** Why it cannot run. */
  trouble: string | undefined
  /** Where its result is put for the task behind it. */
  readonly place: ResultPlace
  /** The processor has lost an object that it needs. */
  isOutdated = false
  /** That of the task whose result it needs. */
  #before: ResultPlace | undefined
  readonly #inputs: RunInput[]
  readonly childValues: Map<string, string> = new Map()
  record: RunRecord | undefined
  startedAt: InstantMs = 0
  childCount = 0
  isWaiting = false
  isOver = false
  isNoted = false
  /** Its outcome is not needed any more. */
  isZombie = false
  #nextChild = 0

  /** `inputs`: the serializer, the function, its arguments. */
  constructor(task: Task, number: number, priority: number, inputs: readonly RunInput[]) {
    this.task = task
    this.number = number
    this.priority = priority
    this.place = { id: task.taskId, bytes: undefined }
    this.#inputs = [...inputs]
    const [, , first] = inputs
    this.program = JSON.parse(first === undefined ? NO_PROGRAM : textOf(first)) as Program
    this.#read()
  }

  /** `before`: that of the task that arrived just before. */
  follow(before: ResultPlace | undefined): void {
    if (before !== undefined && before.id === linkIdOf(this.task)) this.#before = before
  }

  /** Takes the result that it needs, if any. False: it is not here. */
  takeInput(change: (bytes: Uint8Array) => Uint8Array): boolean {
    const index = this.task.functionArgs.findIndex(({ type }) => type === 'task')
    if (index < 0) return true
    const bytes = this.#before?.bytes
    if (bytes === undefined) return false
    this.#inputs[index + 2] = change(bytes)
    this.#read()
    return true
  }

  /** Reads its inputs. */
  #read(): void {
    const texts = this.#inputs.map((input) => input && textOf(input))
    const [, fn, , ...rest] = texts
    const missing = texts.indexOf(undefined)
    const { inputTexts, trouble } = checkFunction(this.program.fn, fn ?? '', rest as string[])
    this.inputTexts = inputTexts
    this.trouble = missing >= 0 ? `!MissingObject:input ${missing}` : trouble
  }

  /** The children to be submitted now. */
  nextChildren(): readonly Program[] {
    const { children, oneByOne } = this.program
    const begin = this.#nextChild
    this.#nextChild = oneByOne ? Math.min(begin + 1, children.length) : children.length
    return children.slice(begin, this.#nextChild)
  }
}

const NO_PROGRAM = JSON.stringify({ name: '?', fn: '?', ms: 0, children: [] })

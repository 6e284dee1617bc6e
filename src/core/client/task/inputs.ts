// The inputs of tasks: their function and their arguments. Accepts tasks, holds their inputs while
// they are needed, and releases them. docs/protocol.md#objects

import { assert } from '../../../base/assert.js'
import type { ObjectId } from '../../../base/ids.js'
import { argumentName } from '../../../wire/object-content.js'
import type { ArgumentSource, ClientCoreOptions, StoredValue, TaskSubmission } from '../events.js'
import type { GraphRecord } from '../graph/record.js'
import type { ClientObjectTable } from '../objects.js'
import {
  isNeeded,
  packedOf,
  ResultInput,
  type TaskInput,
  type TaskRecord,
  type ClientTaskTable,
} from './task.js'

/** The approximate size of a Task message without its arguments, in bytes. */
export const TASK_BYTES = 160

const NO_ARGS: readonly never[] = []

/** The inputs of the tasks of one client. */
export class TaskInputs<Owner> {
  readonly #options: ClientCoreOptions
  readonly #tasks: ClientTaskTable<Owner>
  readonly #objects: ClientObjectTable
  /** The size of arguments of unfinished tasks that are not in objects, in bytes. */
  #inlineBytes = 0

  constructor(
    options: ClientCoreOptions,
    tasks: ClientTaskTable<Owner>,
    objects: ClientObjectTable,
  ) {
    this.#options = options
    this.#tasks = tasks
    this.#objects = objects
  }

  /** The size of the arguments of unfinished tasks, in bytes. Shared ones count once. */
  get heldBytes(): number {
    return this.#inlineBytes + this.#objects.usedBytes
  }

  /** The first source that does not exist, or no longer. */
  missing(sources: readonly ArgumentSource[]): ArgumentSource | undefined {
    for (const source of sources) {
      if (source instanceof Uint8Array) continue
      if (source.type === 'shared' || source.type === 'value') continue
      const found =
        source.type === 'object' ? this.#objects.pinned(source.id) : this.#tasks.get(source.taskId)
      if (found === undefined) return source
    }
    return undefined
  }

  /**
   * The record of a new task, blocked or waiting, which holds its inputs. No source may be
   * `missing`.
   */
  take(submission: TaskSubmission<Owner>, graph?: GraphRecord<Owner>): TaskRecord<Owner> {
    const { args: sources, attachments, options, run } = submission
    if (run !== undefined) return this.#takeRun(submission, run)
    const plainBytes = plainBytesOf(sources)
    const isSmall = plainBytes >= 0 && plainBytes <= this.#options.inlineLimitBytes
    const given = isSmall ? (sources as readonly Uint8Array[]) : this.#inputsFrom(sources)
    const inlineBytes = isSmall ? plainBytes : inlineBytesOf(given)
    const task: TaskRecord<Owner> = {
      id: submission.taskId,
      count: 1,
      run: undefined,
      owner: submission.owner,
      options,
      function: this.#objects.use(submission.function, 'function'),
      args: this.#withAttachments(given, attachments),
      sharedArgs: isSmall ? undefined : sharedPositions(sources),
      inlineBytes,
      messageBytes: TASK_BYTES + Math.max(plainBytes, inlineBytes),
      state: 'waiting',
      unready: 0,
      hasBegun: false,
      firstSentTo: undefined,
      holdsInputs: true,
      place: undefined,
      result: undefined,
      asInput: undefined,
      graph,
    }
    this.#inlineBytes += inlineBytes
    if (plainBytes < 0) this.#link(task)
    return task
  }

  /** Cuts off the inputs of `rest`, which is otherwise like another task. */
  onCut(rest: TaskRecord<Owner>): void {
    if (rest.holdsInputs) this.#useObjects(rest)
    rest.messageBytes = TASK_BYTES + rest.inlineBytes
  }

  /** Turns the packed arguments of a single task into separate ones. */
  unpack(task: TaskRecord<Owner>): void {
    const packed = packedOf(task)
    const { serializedValues } = this.#options
    if (packed === undefined) return
    assert(serializedValues !== undefined && task.count === 1, 'arguments cannot be unpacked')
    task.run = undefined
    // The attachments of the function come last.
    this.#replaceArgs(task, [...serializedValues(packed), ...task.args])
  }

  /** Replaces the inputs of the task. No source may be `missing`. */
  exchange(
    task: TaskRecord<Owner>,
    submission: TaskSubmission<Owner>,
    letGo: (task: TaskRecord<Owner>) => void,
  ): void {
    const fresh = this.take(submission)
    letGo(task)
    task.function = fresh.function
    task.args = fresh.args
    task.sharedArgs = fresh.sharedArgs
    task.inlineBytes = fresh.inlineBytes
    task.messageBytes = fresh.messageBytes
    task.run = undefined
    task.unready = fresh.unready
    task.holdsInputs = true
    for (const argument of task.args) {
      if (argument instanceof ResultInput && argument.users.delete(fresh)) argument.users.add(task)
    }
  }

  /** Whether a result that the task needs is no longer available. */
  hasLostInput({ args }: TaskRecord<Owner>): boolean {
    return args.some((argument) => {
      if (!(argument instanceof ResultInput)) return false
      return argument.content === undefined && !this.#tasks.has(argument.task)
    })
  }

  /** Whether any object that the scheduler needs for the task is among these. */
  areAmong({ function: fn, args }: TaskRecord<Owner>, objects: ReadonlySet<ObjectId>): boolean {
    if (objects.has(fn.value.id)) return true
    return args.some((argument) => {
      if (argument instanceof Uint8Array) return false
      const isResult = argument instanceof ResultInput
      const id = isResult ? argument.task.result?.objectId : argument.value.id
      return id !== undefined && objects.has(id)
    })
  }

  /** The task must be sent again: holds its inputs, and counts the results that it lacks. */
  acquire(task: TaskRecord<Owner>): void {
    if (!task.holdsInputs) this.#holdAgain(task)
    if (!task.args.some((argument) => argument instanceof ResultInput)) return
    this.#link(task)
    if (task.unready === 0) this.settle(task)
  }

  /** All results that the task waited for have arrived: copies in those that came in messages. */
  settle(task: TaskRecord<Owner>): void {
    const shared = new Set(task.sharedArgs)
    const args = task.args.map((argument, index) => {
      if (!(argument instanceof ResultInput) || argument.content === undefined) return argument
      shared.add(index)
      return argument.content
    })
    if (shared.size > 0) task.sharedArgs = shared
    const isSmall = inlineBytesOf(args) <= this.#options.inlineLimitBytes
    this.#replaceArgs(task, isSmall ? args : this.#outsource(args, false))
    task.messageBytes = TASK_BYTES + task.inlineBytes
  }

  /** Turns all arguments into objects: the scheduler supports nothing else. */
  outsourceAll(task: TaskRecord<Owner>): void {
    this.#replaceArgs(task, this.#outsource(task.args, true))
  }

  /**
   * The task has ended, or only its result is needed. Its inputs stay in its record, but may be
   * deleted from the cluster. Adds tasks that are no longer needed to `unneeded`.
   */
  letGo(task: TaskRecord<Owner>, unneeded: TaskRecord<Owner>[]): void {
    if (!task.holdsInputs) return
    task.holdsInputs = false
    this.#inlineBytes -= task.inlineBytes
    this.#objects.release(task.function)
    for (const argument of task.args) {
      if (argument instanceof Uint8Array) continue
      if (argument instanceof ResultInput) this.#unlink(task, argument, unneeded)
      else this.#objects.release(argument)
    }
  }

  /** The number of uses of objects by the task. For tests. */
  usesOf({ holdsInputs, args }: TaskRecord<Owner>): number {
    if (!holdsInputs) return 0
    const isObject = (argument: TaskInput<Owner>): boolean =>
      !(argument instanceof Uint8Array) && !(argument instanceof ResultInput)
    return 1 + args.filter(isObject).length
  }

  #takeRun(
    { taskId: id, owner, function: fn, attachments, options }: TaskSubmission<Owner>,
    { count, packed }: NonNullable<TaskSubmission<Owner>['run']>,
  ): TaskRecord<Owner> {
    const inlineBytes = packed.byteLength
    this.#inlineBytes += inlineBytes
    return {
      id,
      count,
      run: { id, count, packed },
      owner,
      options,
      function: this.#objects.use(fn, 'function'),
      args: this.#withAttachments(NO_ARGS, attachments),
      sharedArgs: undefined,
      inlineBytes,
      messageBytes: TASK_BYTES + inlineBytes,
      state: 'waiting',
      unready: 0,
      hasBegun: false,
      firstSentTo: undefined,
      holdsInputs: true,
      place: undefined,
      result: undefined,
      asInput: undefined,
      graph: undefined,
    }
  }

  #inputsFrom(sources: readonly ArgumentSource[]): readonly TaskInput<Owner>[] {
    const inputs = sources.map((source) => this.#inputFrom(source))
    return this.#outsource(inputs, false)
  }

  #inputFrom(source: ArgumentSource): TaskInput<Owner> {
    if (source instanceof Uint8Array) return source
    if (source.type === 'shared') return source.content
    if (source.type === 'value') return this.#objects.use(source.value, 'argument')
    if (source.type === 'object') {
      const object = this.#objects.pinned(source.id)
      assert(object !== undefined, 'the object of an argument is not pinned')
      return this.#objects.use(object.value, 'argument')
    }
    const task = this.#tasks.get(source.taskId)
    assert(task !== undefined, 'the task of an argument does not exist')
    task.asInput ??= new ResultInput(task)
    return task.asInput
  }

  #withAttachments(
    args: readonly TaskInput<Owner>[],
    attachments: readonly StoredValue[],
  ): readonly TaskInput<Owner>[] {
    if (attachments.length === 0) return args
    return [...args, ...attachments.map((value) => this.#objects.use(value, 'attachment'))]
  }

  #link(task: TaskRecord<Owner>): void {
    const unready = new Set<ResultInput<Owner>>()
    for (const argument of task.args) {
      if (!(argument instanceof ResultInput)) continue
      argument.users.add(task)
      if (!argument.isReady) unready.add(argument)
    }
    task.unready = unready.size
  }

  #unlink(task: TaskRecord<Owner>, input: ResultInput<Owner>, unneeded: TaskRecord<Owner>[]): void {
    input.users.delete(task)
    const source = input.task
    if (source.owner !== undefined || isNeeded(source)) return
    if (this.#tasks.has(source)) unneeded.push(source)
  }

  #holdAgain(task: TaskRecord<Owner>): void {
    task.holdsInputs = true
    this.#inlineBytes += task.inlineBytes
    this.#useObjects(task)
  }

  #useObjects(task: TaskRecord<Owner>): void {
    const objects = this.#objects
    task.function = objects.use(task.function.value, 'function')
    if (task.args.length === 0) return
    task.args = task.args.map((argument) => {
      if (argument instanceof Uint8Array || argument instanceof ResultInput) return argument
      return objects.use(argument.value, argument.role)
    })
  }

  #replaceArgs(task: TaskRecord<Owner>, args: readonly TaskInput<Owner>[]): void {
    task.args = args
    this.#inlineBytes -= task.inlineBytes
    task.inlineBytes = inlineBytesOf(args)
    this.#inlineBytes += task.inlineBytes
  }

  /** Turns arguments that are bytes into objects: those over the limit, or all. */
  #outsource(args: readonly TaskInput<Owner>[], isForAll: boolean): TaskInput<Owner>[] {
    const limit = this.#options.inlineLimitBytes
    return args.map((argument) => {
      if (!(argument instanceof Uint8Array)) return argument
      if (!isForAll && argument.byteLength <= limit) return argument
      const id = this.#options.objectIdOf(argument)
      return this.#objects.use({ id, name: argumentName('', id), content: argument }, 'argument')
    })
  }
}

/** The total bytes of some arguments; -1 if one of them is not bytes. */
function plainBytesOf(sources: readonly ArgumentSource[]): number {
  let bytes = 0
  for (const source of sources) {
    if (!(source instanceof Uint8Array)) return -1
    bytes += source.byteLength
  }
  return bytes
}

/**
 * The positions of arguments that are shared by tasks, values of references among them; undefined =
 * none.
 */
function sharedPositions(sources: readonly ArgumentSource[]): ReadonlySet<number> | undefined {
  const found = new Set<number>()
  for (const [position, source] of sources.entries()) {
    const type = source instanceof Uint8Array ? 'value' : source.type
    if (type === 'shared' || type === 'object') found.add(position)
  }
  return found.size > 0 ? found : undefined
}

function inlineBytesOf<Owner>(args: readonly TaskInput<Owner>[]): number {
  let bytes = 0
  for (const argument of args) if (argument instanceof Uint8Array) bytes += argument.byteLength
  return bytes
}

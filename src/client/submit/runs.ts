// The submits of one turn become runs of tasks: consecutive ones with the same function and
// options, whose arguments are values. docs/protocol.md#runs

import type { TaskId } from '../../base/ids.js'
import type { TaskOptions } from '../../core/client/events.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import { memorySize } from '../../serializer/bytes/message.js'
import { PackedWriter } from '../../serializer/value/packed/writer.js'
import { MAX_RUN_TASKS, placeInBlock } from '../../wire/run.js'
import type { ClientConnection } from '../connection.js'
import type { RunOwner, RunReport, TaskOwner } from '../future/home.js'
import { RunProfiles } from '../future/profile.js'
import type { FutureState } from '../future/state.js'
import { isLifted, type SerializedArgument } from './arguments.js'
import type { FunctionObject } from './function-objects.js'
import { areSameOptions } from './task-options.js'

/** The size of the arguments of one run, in bytes, unless the last task exceeds it. */
const RUN_BYTES = 64 * 1024

/** Tasks that will be submitted at the end of this turn, together. */
export interface HeldTasks {
  readonly count: number
  /** Submits them now. */
  send(): void
  /** Their owners: they will not be submitted. */
  take(): readonly TaskOwner[]
}

/** What the tasks of a run have in common. */
interface RunKind {
  readonly function: FunctionObject
  readonly options: TaskOptions
}

/** The futures of a run. */
class FutureRun implements RunOwner {
  readonly kind: RunKind
  readonly scope: TaskScope | undefined
  readonly firstId: TaskId
  readonly #firstPlace: number
  /** Those that have not ended: the others are not kept alive. */
  readonly #states: (FutureState | undefined)[] = []
  #profiles: RunProfiles | undefined
  /** The place of the first task that the profiles are about. */
  #profilesFrom = 0

  constructor(kind: RunKind, first: FutureState) {
    this.kind = kind
    this.scope = first.scope
    this.firstId = first.taskId
    this.#firstPlace = placeInBlock(first.taskId)
  }

  add(state: FutureState): void {
    this.#states.push(state)
  }

  /** Those that have not ended. */
  get states(): readonly FutureState[] {
    return this.#states.filter((state) => state !== undefined)
  }

  ownerOf(id: TaskId): TaskOwner {
    return this.#states[placeInBlock(id) - this.#firstPlace] as FutureState
  }

  beginValues(first: number, count: number, { metadata, worker }: RunReport): void {
    this.#profilesFrom = first
    this.#profiles =
      metadata.byteLength === 0 ? undefined : new RunProfiles(metadata, count, worker)
  }

  succeedFrom(firstPlace: number, values: readonly unknown[]): void {
    for (let place = firstPlace; place < firstPlace + values.length; place += 1) {
      const index = place - this.#firstPlace
      const state = this.#states[index] as FutureState
      this.#states[index] = undefined
      state.succeedInRun(values[place - firstPlace], this.#profiles, place - this.#profilesFrom)
    }
  }

  endValues(): void {
    this.#profiles = undefined
  }
}

/** The runs of one client. */
export class SubmitRuns implements HeldTasks {
  readonly #connection: ClientConnection
  /** Undefined while it is in use: a getter in an argument may submit as well. */
  #writer: PackedWriter | undefined
  #run: FutureRun | undefined
  /** The argument of the last task that did not fit. */
  #serialized: SerializedArgument | undefined
  /** The number of ids that had been taken with the last task of the run. */
  #idCount = 0
  readonly #sendNow = (): void => this.send()

  constructor(connection: ClientConnection) {
    this.#connection = connection
    this.#writer = new PackedWriter(connection.serializer.codec)
    connection.held = this
  }

  get count(): number {
    return this.#run === undefined ? 0 : (this.#writer?.count ?? 0)
  }

  /**
   * Adds a task, whose id was the last of `idCount` that were taken, to a run that is sent at the
   * end of the turn. False if it must be submitted alone, and at once.
   */
  add(state: FutureState, args: readonly unknown[], kind: RunKind, idCount: number): boolean {
    const writer = this.#writer
    this.#serialized = undefined
    if (writer === undefined) return false
    if (!this.#continues(state, kind, idCount)) this.send()
    this.#writer = undefined
    const isPacked = this.#pack(writer, args)
    this.#writer = writer
    if (!isPacked) {
      this.send()
      return false
    }
    if (this.#run === undefined) {
      this.#run = new FutureRun(kind, state)
      queueMicrotask(this.#sendNow)
    }
    this.#run.add(state)
    this.#idCount = idCount
    if (writer.byteLength >= RUN_BYTES || writer.count === MAX_RUN_TASKS) this.send()
    return true
  }

  /** The argument of a task that could not be added, if it has been serialized. Told once. */
  takeSerialized(): SerializedArgument | undefined {
    const serialized = this.#serialized
    this.#serialized = undefined
    return serialized
  }

  send(): void {
    const run = this.#run
    const writer = this.#writer
    if (run === undefined || writer === undefined) return
    this.#run = undefined
    const { count } = writer
    const packed = writer.finish()
    const { kind, firstId: taskId, states } = run
    const { function: stored, attachments } = kind.function
    // One task needs nothing in between.
    const owner = count === 1 ? (states[0] as FutureState) : run
    const { options } = kind
    const tasks = { count, packed }
    const task = { taskId, function: stored, attachments, args: [], options, owner, run: tasks }
    this.#connection.submitHeld(task)
  }

  take(): readonly TaskOwner[] {
    const states = this.#run?.states ?? []
    this.#run = undefined
    if (states.length > 0) this.#writer?.finish()
    return states
  }

  /** Whether a task can be the next one of the run. */
  #continues(state: FutureState, kind: RunKind, idCount: number): boolean {
    const run = this.#run
    return (
      run !== undefined &&
      run.kind.function.function === kind.function.function &&
      areSameOptions(run.kind.options, kind.options) &&
      run.scope === state.scope &&
      idCount === this.#idCount + 1 &&
      placeInBlock(state.taskId) > 0
    )
  }

  #pack(writer: PackedWriter, args: readonly unknown[]): boolean {
    const limit = this.#connection.settings.inlineLimitBytes
    writer.beginEntry()
    try {
      const isPacked = args.every((value) => {
        if (isLifted(value) || memorySize(value) > limit) return false
        const bytes = writer.value(value, limit)
        if (bytes !== undefined) this.#serialized = { value, bytes }
        return bytes === undefined
      })
      if (isPacked && writer.entryBytes <= limit) {
        writer.endEntry()
        return true
      }
    } catch {
      // Tried again alone: the error must name the argument.
    }
    writer.dropEntry()
    return false
  }
}

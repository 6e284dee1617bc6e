// Results of consecutive tasks in one message, for as long as they fit together.

import { endianness } from 'node:os'
import type { TaskId } from '../../base/ids.js'
import { withPathPrefix } from '../../serializer/refusal.js'
import type { TaskCodec } from '../../serializer/task-codec.js'
import { PackedWriter } from '../../serializer/value/packed/writer.js'
import type { TaskResult } from '../../wire/message.js'
import {
  MAX_RUN_TASKS,
  mayBeginRun,
  nthTaskId,
  sliceProfiles,
  slicePacked,
} from '../../wire/run.js'
import type { PackedArguments, PackedEntry } from './call.js'
import type { ResultBoard } from './result-board.js'

/** The parts of a packed TaskResult. */
export type PackedPart = Pick<TaskResult, 'taskId' | 'attempt' | 'count' | 'packed' | 'metadata'>

/** How a result is written. */
export interface ResultPlace {
  readonly codec: TaskCodec
  readonly isProfiled: boolean
  readonly limitBytes: number
}

/** The results of consecutive tasks, which may have arrived in several parts. */
interface OpenResults {
  /** The first task. */
  readonly id: TaskId
  readonly attempt: number
  readonly keepsResult: boolean
  readonly codec: TaskCodec
  readonly writer: PackedWriter
  readonly isProfiled: boolean
  /** What the last task has arrived with, and the index of the next one there. */
  run: PackedArguments
  next: number
  /** The number of complete results. */
  count: number
}

/** Whether a task, by its index, is the one behind the last of these, and like it. */
function follows(open: OpenResults, run: PackedArguments, index: number): boolean {
  const { id, count, attempt, keepsResult } = open
  if (run.attempt !== attempt || run.keepsResult !== keepsResult) return false
  return mayBeginRun(id, count + 1) && nthTaskId(id, count) === nthTaskId(run.id, index)
}

/** Entries of this size leave together, in bytes. */
const FULL_BYTES = 64 * 1024

/** Writes the results of consecutive tasks into one message, for as long as they fit together. */
export class PackedResults {
  readonly #add: (part: PackedPart) => void
  readonly #onOther: () => void
  readonly #writers = new WeakMap<TaskCodec, PackedWriter>()
  /** The same for results that are written by the serializer alone. */
  readonly #serializers = new WeakMap<TaskCodec, PackedWriter>()
  readonly #seconds = new Float32Array(MAX_RUN_TASKS)
  readonly #board: ResultBoard
  readonly #profiles: Uint8Array[] = []
  #open: OpenResults | undefined

  /** `add`: sends complete results; `onOther`: called before those of other tasks. */
  constructor(board: ResultBoard, add: (part: PackedPart) => void, onOther: () => void) {
    this.#board = board
    this.#add = add
    this.#onOther = onOther
  }

  /** How many there are. */
  get count(): number {
    return this.#open?.count ?? 0
  }

  /**
   * Writes the result of a task; `end` must follow. Returns its serialized bytes instead if there
   * are more than `limit` of them. Throws `SerializeError` with a path from `result`.
   */
  write(entry: PackedEntry, place: ResultPlace, value: unknown): Uint8Array | undefined {
    const { writer } = this.#openFor(entry, place)
    writer.beginEntry()
    try {
      const large = writer.value(value, place.limitBytes)
      if (large === undefined) writer.endEntry()
      else writer.dropEntry()
      return large
    } catch (error) {
      writer.dropEntry()
      throw withPathPrefix(error, ['result'])
    }
  }

  /** The task whose result was written last has ended. `profile`: if it is profiled. */
  end(tookMs: number, profile: Uint8Array | undefined): void {
    const open = this.#open as OpenResults
    const seconds = tookMs / 1000
    if (profile === undefined) this.#seconds[open.count] = seconds
    else this.#profiles.push(profile)
    open.count += 1
    open.next += 1
    if (profile === undefined) this.#board.add(open.count, open.writer, seconds)
    if (open.writer.byteLength >= FULL_BYTES) this.close()
  }

  /** Something else has to reach the agent before further results. */
  hold(): void {
    this.#board.stop()
  }

  /** Sends the results, but for those that the guardian has sent. */
  close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || open.count === 0) return
    const { id, attempt, writer, count } = open
    // User code ends the process while its result is written.
    if (writer.isOpen) writer.dropEntry()
    const taken = this.#board.close()
    const packed = writer.finish()
    const metadata = this.#metadata(open)
    if (taken === count) return
    this.#add({
      taskId: nthTaskId(id, taken),
      attempt,
      count: count - taken,
      packed: taken === 0 ? packed : slicePacked(packed, count, taken, count),
      metadata: sliceProfiles(metadata, count, taken, count),
    })
  }

  #metadata({ isProfiled, count }: OpenResults): Uint8Array {
    if (isProfiled) return Buffer.concat(this.#profiles.splice(0))
    const bytes = Buffer.from(this.#seconds.slice(0, count).buffer)
    return endianness() === 'LE' ? bytes.swap32() : bytes
  }

  #openFor({ run, index }: PackedEntry, { codec, isProfiled }: ResultPlace): OpenResults {
    const open = this.#open
    if (open?.run === run && open.next === index && open.codec === codec) return open
    if (open !== undefined && follows(open, run, index)) {
      if (open.codec === codec && open.isProfiled === isProfiled) {
        open.run = run
        open.next = index
        return open
      }
    }
    if (open !== undefined) this.#onOther()
    const writers = run.keepsResult ? this.#serializers : this.#writers
    let writer = writers.get(codec)
    if (writer === undefined) {
      const target = { serialize: (value: unknown) => codec.serialize(value) }
      const { memory } = this.#board
      writers.set(codec, (writer = new PackedWriter(run.keepsResult ? target : codec, memory)))
    }
    const id = nthTaskId(run.id, index)
    const { attempt, keepsResult } = run
    this.#board.open(id, attempt)
    const counts = { run, next: index, count: 0 }
    return (this.#open = { id, attempt, keepsResult, codec, writer, isProfiled, ...counts })
  }
}

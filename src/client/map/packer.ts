// Packs the inputs of a map, as they are when they are pulled, into runs of tasks.
// docs/protocol.md#runs

import { memorySize } from '../../serializer/bytes/message.js'
import { PackedWriter } from '../../serializer/value/packed/writer.js'
import type { ClientConnection } from '../connection.js'
import type { TaskIds } from '../ids.js'
import { isLifted, type SerializedArgument } from '../submit/arguments.js'

/** The size of the arguments of one run, in bytes, unless the last task exceeds it. */
const RUN_BYTES = 64 * 1024

/** The most bytes of a number in a run. */
const MAX_NUMBER_BYTES = 9

/** The input was added to the run. */
export const PACKED: unique symbol = Symbol('packed')

/** The parts of a map that are needed here. */
interface PackerSetup {
  readonly connection: ClientConnection
  readonly ids: TaskIds
  /** Whether each input is a list of arguments. */
  readonly isSpread: boolean
}

/** The next run of a map. */
export class MapPacker {
  readonly #writer: PackedWriter
  readonly #ids: TaskIds
  readonly #isSpread: boolean
  /** The most bytes of one task. */
  readonly #limit: number
  /** The most tasks of the run. */
  #most = 0
  #firstIndex = 0
  /** The argument of the last task that did not fit. */
  #serialized: SerializedArgument | undefined

  constructor({ connection, ids, isSpread }: PackerSetup) {
    this.#writer = new PackedWriter(connection.serializer.codec)
    this.#ids = ids
    this.#isSpread = isSpread
    this.#limit = connection.settings.inlineLimitBytes
  }

  /** The number of tasks in the run. */
  get count(): number {
    return this.#writer.count
  }

  /** The index of the input of its first task. */
  get firstIndex(): number {
    return this.#firstIndex
  }

  get isFull(): boolean {
    return this.#writer.count >= this.#most || this.#writer.byteLength >= RUN_BYTES
  }

  /** The arguments of the run, packed. The next one begins. */
  finish(): Buffer {
    return this.#writer.finish()
  }

  /**
   * Adds the task of an input to the run, which must not be full. If the task must be submitted
   * alone, returns its large argument, if that has been serialized.
   */
  add(input: unknown, index: number): typeof PACKED | SerializedArgument | undefined {
    if (this.#isSpread && !Array.isArray(input)) return undefined
    const writer = this.#writer
    if (writer.count === 0) {
      this.#most = this.#ids.leftInBlock
      this.#firstIndex = index
    }
    if (typeof input === 'number' && this.#limit >= MAX_NUMBER_BYTES && writer.numberEntry(input)) {
      return PACKED
    }
    writer.beginEntry()
    this.#serialized = undefined
    let fits = false
    try {
      fits = this.#isSpread ? this.#addAll(input as readonly unknown[]) : this.#addValue(input)
    } catch {
      // Tried again alone: the error must name the place in the input.
    }
    if (fits && writer.entryBytes <= this.#limit) {
      writer.endEntry()
      return PACKED
    }
    writer.dropEntry()
    return this.#serialized
  }

  #addAll(values: readonly unknown[]): boolean {
    for (const value of values) if (!this.#addValue(value)) return false
    return true
  }

  /** Adds a value to the entry, unless its task cannot be in a run. */
  #addValue(value: unknown): boolean {
    if (isLifted(value) || memorySize(value) > this.#limit) return false
    const bytes = this.#writer.value(value, this.#limit)
    if (bytes !== undefined) this.#serialized = { value, bytes }
    return bytes === undefined
  }
}

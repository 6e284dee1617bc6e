// The arguments of a map's tasks, from its inputs. Large memory that many of them have is compared
// with what was sent only once in a pass, as long as no code of the user can have changed it.

import { argumentError, blameCaller, type CallSite, moveToSite } from '../../runtime/call-site.js'
import type { ArgumentSource } from '../../core/client/events.js'
import { memorySize, plainMemoryOf } from '../../serializer/bytes/message.js'
import { engineShapes } from '../../serializer/value/shape.js'
import { type ArgumentSources, inputError, type SerializedArgument } from './arguments.js'
import type { SentMemory } from './objects.js'

/** How the inputs of a map are read. */
interface InputsSetup {
  readonly inputs: unknown
  /** Whether each input is a list of arguments. */
  readonly isSpread: boolean
  readonly sources: ArgumentSources
  readonly site: CallSite
}

/** The inputs of one map. */
export class InputSources {
  readonly #setup: InputsSetup
  /** What was made of the memory in the last inputs: it has not changed since. */
  readonly #unchanged = new Map<unknown, SentMemory>()
  /** From the last input to the end of this one, only the engine's own code runs. */
  #quietIndex = -1

  constructor(setup: InputsSetup) {
    this.#setup = setup
  }

  /** Throws the errors of `ArgumentSources.ofAll`. */
  of(
    input: unknown,
    index: number,
    serialized: SerializedArgument | undefined,
  ): readonly ArgumentSource[] {
    if (index !== this.#quietIndex) this.#unchanged.clear()
    const isQuiet = index === this.#quietIndex || this.#isQuiet(index)
    this.#quietIndex = -1
    const sources = this.#sourcesOf(input, index, serialized, isQuiet ? this.#unchanged : undefined)
    if (isQuiet && this.#isQuiet(index + 1)) this.#quietIndex = index + 1
    return sources
  }

  /** The user's program continues: it may change anything. */
  endPass(): void {
    this.#quietIndex = -1
    this.#unchanged.clear()
  }

  #sourcesOf(
    input: unknown,
    index: number,
    serialized: SerializedArgument | undefined,
    unchanged: Map<unknown, SentMemory> | undefined,
  ): readonly ArgumentSource[] {
    const { isSpread, sources, site } = this.#setup
    if (isSpread && !Array.isArray(input)) {
      const error = argumentError(`starmap: input ${index} must be an array of arguments`)
      moveToSite(error, site)
      throw error
    }
    try {
      if (isSpread) return sources.ofAll(input as unknown[], serialized, unchanged)
      return [serialized?.bytes ?? sources.of(input, unchanged)]
    } catch (error) {
      throw blameCaller(inputError(error, `input ${index}`), site)
    }
  }

  /**
   * Whether no code of the user runs when this input is taken from an array and serialized: there
   * is no getter, proxy, iterator, serializer, or object that may have one.
   */
  #isQuiet(index: number): boolean {
    const { inputs, isSpread, sources } = this.#setup
    if (!sources.isQuiet || !isOrdinary(inputs) || !Object.hasOwn(inputs, index)) return false
    const input = inputs[index]
    if (!isSpread) return isQuiet(input)
    return isOrdinary(input) && input.every(isQuiet)
  }
}

function isOrdinary(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && engineShapes.arrayForm(value) !== undefined
}

function isQuiet(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function'
  return memorySize(value) > 0 && plainMemoryOf(value) !== undefined
}

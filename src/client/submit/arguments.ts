// Converts arguments of tasks to the form that the core needs: values as bytes, references as
// objects, futures as results of other tasks.

import { MissingObjectError, SerializeError } from '../../base/errors.js'
import type { ArgumentSource } from '../../core/client/events.js'
import { withPathPrefix } from '../../serializer/refusal.js'
import { defaultCodec } from '../../serializer/task-codec.js'
import { argumentName } from '../../wire/object-content.js'
import type { ClientConnection } from '../connection.js'
import type { FutureState } from '../future/state.js'
import { Future } from '../future/future.js'
import { ObjectReference, type ObjectReferences, type SentMemory } from './objects.js'

/**
 * An argument: the value itself, or a future or reference for it. For a future that has been
 * awaited, its value is passed as it is now, like any other value.
 */
export type Liftable<T> = T | Future<T> | ObjectReference<T>

/**
 * An argument is a future that failed or was cancelled: the task ends in the same way. Never shown.
 */
export class FailedInput extends Error {
  readonly state: FutureState

  constructor(state: FutureState) {
    super('the input future failed or was cancelled')
    this.state = state
  }
}

/** Whether an argument is more than a value: a future, or a reference. */
export function isLifted(argument: unknown): boolean {
  if (typeof argument !== 'object') return false
  return argument instanceof Future || argument instanceof ObjectReference
}

/** An error in a part of the arguments, with the path to that part. */
export function inputError(error: unknown, part: string): unknown {
  if (error instanceof FailedInput || error instanceof MissingObjectError) return error
  return withPathPrefix(error, [part])
}

/** A large argument that has just been serialized. */
export interface SerializedArgument {
  readonly value: unknown
  readonly bytes: Uint8Array
}

/** Converts the arguments of one client's tasks. */
export class ArgumentSources {
  readonly #connection: ClientConnection
  readonly #references: ObjectReferences

  constructor(connection: ClientConnection, references: ObjectReferences) {
    this.#connection = connection
    this.#references = references
  }

  /** Whether only our own code runs when memory is serialized. */
  get isQuiet(): boolean {
    return this.#connection.serializer.codec === defaultCodec
  }

  /**
   * The arguments of a task. Throws `FailedInput`, `MissingObjectError` for a reference that was
   * released, and `SerializeError` whose path begins with the position of the argument. One of them
   * may be `serialized` already. `unchanged`: see `LargeMemories.serialize`.
   */
  ofAll(
    args: readonly unknown[],
    serialized?: SerializedArgument,
    unchanged?: Map<unknown, SentMemory>,
  ): ArgumentSource[] {
    const sources: ArgumentSource[] = []
    for (const argument of args) {
      const isKnown = serialized !== undefined && argument === serialized.value
      try {
        sources.push(isKnown ? serialized.bytes : this.of(argument, unchanged))
      } catch (error) {
        throw inputError(error, `argument ${sources.length + 1}`)
      }
    }
    return sources
  }

  /** One argument; throws like `ofAll`, with a path that begins inside the argument. */
  of(argument: unknown, unchanged?: Map<unknown, SentMemory>): ArgumentSource {
    if (typeof argument === 'object') {
      if (argument instanceof Future) return this.#ofFuture(Future.stateOf(argument))
      if (argument instanceof ObjectReference) return this.#ofReference(argument)
    }
    const { serializer, objectIds } = this.#connection
    const content = this.#references.memories.serialize(argument, serializer.codec, unchanged)
    if (content instanceof Uint8Array) return content
    const id = objectIds.givenTo(content)
    return { type: 'value', value: { id, name: argumentName('', id), content } }
  }

  #ofReference(reference: ObjectReference<unknown>): ArgumentSource {
    const { keeper, objectId } = ObjectReference.setupOf(reference)
    if (keeper !== this.#references) {
      const advice = 'send the value with this client as well, or share it: { name, shared: true }'
      throw new SerializeError(`the reference belongs to another client; ${advice}`)
    }
    if (keeper.has(reference)) return { type: 'object', id: objectId }
    throw new MissingObjectError(`the object was released or cleared: ${reference.toString()}`)
  }

  #ofFuture(state: FutureState): ArgumentSource {
    if (!state.isOf(this.#connection)) {
      throw new SerializeError('the future belongs to another client; await it, and pass its value')
    }
    state.markObserved()
    if (this.#connection.has(state.taskId)) return { type: 'task', taskId: state.taskId }
    const payload = this.#connection.payloadOf(state.taskId)
    if (payload !== undefined) return { type: 'shared', content: payload }
    const { outcome } = state
    if (outcome === undefined || !outcome.isSuccess) throw new FailedInput(state)
    // Like the value of a pending future, it is shared by all tasks.
    const content = this.#connection.serializer.codec.serialize(outcome.value)
    return { type: 'shared', content }
  }
}

// The function in a stored object. Each task gets one of its own, so that none sees what another
// did to what the function captured; but one that nobody can change is read once for all of them.

import { DeserializeError } from '../base/errors.js'
import type { AttachmentBytes } from '../serializer/default-serializer.js'
import { textOf } from '../serializer/path.js'
import { pendingImportOf } from '../serializer/pending-read.js'
import type { TaskCodec } from '../serializer/task-codec.js'

/** A function that came from a client. */
export type TaskFunction = (...parameters: unknown[]) => unknown

/** Something that is stored: a function, or an attachment of one. */
export type StoredBytes = AttachmentBytes

interface Reading {
  readonly codec: TaskCodec
  readonly tokens: readonly object[]
  readonly outcome:
    | { readonly fn: TaskFunction; readonly isSteady: boolean }
    | { readonly failure: DeserializeError }
}

/** One function, with its last reading if that is good for further tasks. */
export class StoredFunction {
  readonly #object: StoredBytes
  #counted: { readonly codec: TaskCodec; readonly count: number } | undefined
  #reading: Reading | undefined

  constructor(object: StoredBytes) {
    this.#object = object
  }

  /** How many attachments the function has. Throws `DeserializeError`. */
  attachmentCount(codec: TaskCodec): number {
    if (this.#counted?.codec !== codec) {
      this.#counted = { codec, count: codec.attachmentCount(this.#object.bytes) }
    }
    return this.#counted.count
  }

  /**
   * The function, for one task: the same one only if nobody can change it, and the codec and the
   * attachments are the same. Throws `DeserializeError`, always the same, if it cannot be read, and
   * `PendingImport` if it cannot be read yet.
   */
  of(codec: TaskCodec, attachments: readonly StoredBytes[]): TaskFunction {
    const known = this.#reading
    const outcome =
      known !== undefined && isUpToDate(known, codec, attachments)
        ? known.outcome
        : read(this.#object, codec, attachments)
    if ('failure' in outcome || outcome.isSteady) {
      this.#reading = { codec, tokens: attachments.map(({ token }) => token), outcome }
    }
    if ('failure' in outcome) throw outcome.failure
    return outcome.fn
  }
}

function isUpToDate(
  { codec: lastCodec, tokens }: Reading,
  codec: TaskCodec,
  attachments: readonly StoredBytes[],
): boolean {
  if (lastCodec !== codec || tokens.length !== attachments.length) return false
  for (let index = 0; index < tokens.length; index += 1) {
    if (tokens[index] !== attachments[index]?.token) return false
  }
  return true
}

function read(
  object: StoredBytes,
  codec: TaskCodec,
  attachments: readonly StoredBytes[],
): Reading['outcome'] {
  try {
    const { value, isSteady } = codec.deserializeFunction(object.bytes, attachments)
    if (typeof value !== 'function') throw new DeserializeError('the object is not a function')
    return { fn: value as TaskFunction, isSteady }
  } catch (error) {
    const pending = pendingImportOf(error)
    if (pending !== undefined) throw pending
    if (error instanceof DeserializeError) return { failure: error }
    const text = `the function cannot be read: ${textOf(error)}`
    return { failure: new DeserializeError(text, { cause: error }) }
  }
}

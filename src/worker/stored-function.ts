// The function in a stored object, once it was read. Reading is dear, and what a function keeps in
// its captured variables should last; but it must be read again where it could be another one now.

import { DeserializeError } from '../base/errors.js'
import { textOf } from '../serializer/path.js'
import { pendingImportOf } from '../serializer/pending-read.js'
import type { TaskCodec } from '../serializer/task-codec.js'

/** A function that came from a client. */
export type TaskFunction = (...parameters: unknown[]) => unknown

/** Something that is stored: a function, or an attachment of one. */
export interface StoredBytes {
  readonly bytes: Uint8Array
  /** Tells it from everything else that was ever stored, without keeping the bytes alive. */
  readonly token: object
}

interface Reading {
  readonly codec: TaskCodec
  readonly tokens: readonly object[]
  readonly outcome: { readonly fn: TaskFunction } | { readonly failure: DeserializeError }
}

/** The last reading of one function. */
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
   * The function, the same for as long as the codec and the attachments are the same and the codec
   * calls it current. Throws `DeserializeError`, always the same, if it cannot be read, and
   * `PendingImport` if it cannot be read yet.
   */
  of(codec: TaskCodec, attachments: readonly StoredBytes[]): TaskFunction {
    let reading = this.#reading
    if (reading === undefined || !isUpToDate(reading, codec, attachments)) {
      const outcome = read(this.#object, codec, attachments)
      reading = { codec, tokens: attachments.map(({ token }) => token), outcome }
      this.#reading = reading
    }
    if ('failure' in reading.outcome) throw reading.outcome.failure
    return reading.outcome.fn
  }
}

function isUpToDate(
  { codec: lastCodec, tokens, outcome }: Reading,
  codec: TaskCodec,
  attachments: readonly StoredBytes[],
): boolean {
  if (lastCodec !== codec || tokens.length !== attachments.length) return false
  for (let index = 0; index < tokens.length; index += 1) {
    if (tokens[index] !== attachments[index]?.token) return false
  }
  return 'failure' in outcome || codec.isCurrent(outcome.fn)
}

function read(
  object: StoredBytes,
  codec: TaskCodec,
  attachments: readonly StoredBytes[],
): Reading['outcome'] {
  try {
    const pieces = attachments.map(({ bytes }) => bytes)
    const value = codec.deserializeFunction(object.bytes, pieces)
    if (typeof value !== 'function') throw new DeserializeError('the object is not a function')
    return { fn: value as TaskFunction }
  } catch (error) {
    const pending = pendingImportOf(error)
    if (pending !== undefined) throw pending
    if (error instanceof DeserializeError) return { failure: error }
    const text = `the function cannot be read: ${textOf(error)}`
    return { failure: new DeserializeError(text, { cause: error }) }
  }
}

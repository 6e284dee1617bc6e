// The serializer of a client: how it is used here, and what the workers get to know of it. Made
// once, with the client: the workers get the serializer as it is at that moment.

import { NO_BYTES } from '../base/bytes.js'
import { SerializeError } from '../base/errors.js'
import type { Serializer } from '../serializer/serializer.js'
import { codecOf, serializerContent, type TaskCodec } from '../serializer/task-codec.js'

/** What a client needs to know of its serializer. */
export interface ClientSerializer {
  readonly codec: TaskCodec
  /** The content of the serializer object. */
  readonly content: Uint8Array
  /** Throws `SerializeError` if the serializer cannot travel: then no task can be submitted. */
  readonly check: () => void
}

/** Serializes the serializer. Does not throw: what is wrong with it is told to each submit. */
export function clientSerializer(serializer: Serializer): ClientSerializer {
  const codec = codecOf(serializer)
  try {
    return { codec, content: serializerContent(serializer), check: () => {} }
  } catch (error) {
    return { codec, content: NO_BYTES, check: () => refuse(error) }
  }
}

/** Each future gets an error of its own. */
function refuse(error: unknown): never {
  if (!(error instanceof SerializeError)) throw error
  throw new SerializeError(error.message, { path: error.path, cause: error.cause })
}

// What all messages of a serializer are written with.

import type { ClassCodec, ClassCodecs } from './class/class-codecs.js'
import type { Identities, KnownThings } from './class/identities.js'
import type { CodeEncoder } from './code-codec.js'
import type { FunctionAnalyst } from './function/function-parts.js'
import type { NativeNames } from './native-names.js'
import type { ShippedFunctions } from './shipped-functions.js'
import type { EncodedInstance } from './unit-context.js'
import type { Strictness } from './value-sink.js'

/** Shared by all messages. */
export interface WriterTools {
  readonly analyst: FunctionAnalyst
  readonly natives: NativeNames
  readonly identities: Identities
  /** What is known where a message is written. */
  known(): KnownThings
  readonly codes: CodeEncoder
  readonly codecs: ClassCodecs
  /** What was once found in the units of two anchors, and is an anchor since. */
  readonly shared: WeakSet<object>
  /** Functions that came from elsewhere: nobody needs to find out what they are made of. */
  readonly shipped: ShippedFunctions
  /** The bytes of an instance of a registered class. Throws `SerializeError`. */
  encode(object: object, codec: ClassCodec, strictness: Strictness): EncodedInstance
  /** The bytes of a codec; undefined for one that is being written, or cannot be. */
  encodeCodec(codec: ClassCodec): Uint8Array | undefined
}

/** Captured values that are messages of their own. */
export interface Attachments {
  readonly size: number
  /** In the order of their numbers. */
  readonly values: readonly unknown[]
  /** The number of the attachment that the value is, or undefined. */
  of(value: unknown): number | undefined
}

/** How one message is written. */
export interface MessageOptions {
  readonly strictness: Strictness
  /** Captured values that are messages of their own. */
  readonly attachments?: Attachments
}

// What all messages of a serializer are read with, and what the units of one message share.

import type { ClassCodec, ClassCodecs } from './class/class-codecs.js'
import type { KnownThings } from './class/identities.js'
import type { FunctionFactories } from './function/function-factory.js'
import type { ModuleLoader } from './module/reference.js'
import type { NativeNames } from './native-names.js'
import type { ShippedFunctions } from './shipped-functions.js'

/** Shared by all messages. */
export interface ReaderTools {
  readonly natives: NativeNames
  readonly factories: FunctionFactories
  readonly shipped: ShippedFunctions
  readonly codecs: ClassCodecs
  readonly loader: ModuleLoader
  /** The codec of a registered class, from its message. Throws `DeserializeError`. */
  readCodec(bytes: Uint8Array, known: KnownThings): ClassCodec
  /** A message inside this one. Throws `DeserializeError`. */
  readNested(bytes: Uint8Array): unknown
}

/** Shared by the units of a message. */
export interface ReaderContext {
  readonly tools: ReaderTools
  /** Classes and the like that have arrived where this message is read: in a task, or a process. */
  readonly known: KnownThings
  /** The Node that wrote it. */
  readonly senderMajor: number
  /** The anchor with this identity. Throws `DeserializeError`. */
  anchor(id: string): object
  /** The value of an attachment. Throws `DeserializeError`. */
  attachment(number: number): unknown
}

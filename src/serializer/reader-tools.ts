// What all messages of a serializer are read with, and what the units of one message share.

import type { AnchorRegistry } from './class/anchor-registry.js'
import type { ClassCodec, ClassCodecs } from './class/class-codecs.js'
import type { Identities } from './class/identities.js'
import type { FunctionFactories } from './function/function-factory.js'
import type { ModuleLoader } from './module/reference.js'
import type { NativeNames } from './native-names.js'
import type { ShippedFunctions } from './shipped-functions.js'

/** Shared by all messages. */
export interface ReaderTools {
  readonly natives: NativeNames
  readonly identities: Identities
  readonly factories: FunctionFactories
  readonly shipped: ShippedFunctions
  readonly anchors: AnchorRegistry
  readonly codecs: ClassCodecs
  readonly loader: ModuleLoader
  /** The codec of a registered class, from its message. Throws `DeserializeError`. */
  readCodec(bytes: Uint8Array): ClassCodec
  /** A message inside this one. Throws `DeserializeError`. */
  readNested(bytes: Uint8Array): unknown
}

/** Shared by the units of a message. */
export interface ReaderContext {
  readonly tools: ReaderTools
  /** The Node that wrote it. */
  readonly senderMajor: number
  /** The anchor with this identity. Throws `DeserializeError`. */
  anchor(id: string): object
  /** The value of an attachment. Throws `DeserializeError`. */
  attachment(number: number): unknown
}

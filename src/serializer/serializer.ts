// The seam between the engine, which moves bytes, and what the bytes mean. The engine calls it for
// a function, for each argument and for each result; errors travel by error-codec.ts instead.

/** Turns values into bytes and back. Instances are called from one thread, never concurrently. */
export interface Serializer {
  /** The value as bytes, which the caller owns afterwards. Throws `SerializeError`. */
  serialize(value: unknown): Uint8Array
  /** The value again. The bytes are not kept. Throws `DeserializeError`. */
  deserialize(bytes: Uint8Array): unknown
}

// The limits of one message, in one place. Those for reading protect this process from a peer;
// those for writing are what the format can express. docs/protocol.md#limits lists them for other
// implementations.

/** The longest byte string (Data or Text): the format counts its bytes in 29 bits. */
export const MAX_DATA_BYTES: number = 2 ** 29 - 1

/** The longest id or text that is accepted, in bytes: in practice they are below a few hundred. */
export const MAX_TEXT_BYTES: number = 2 ** 24

/** The longest list, and the most words that the elements of a list of structs may take. */
export const MAX_LIST_LENGTH: number = 2 ** 29 - 1

/** The farthest reach of a pointer within a segment, in words: a signed 30-bit number. */
export const MAX_POINTER_WORDS: number = 2 ** 29 - 1

/**
 * The longest message that `encode` puts into one array, in bytes: the limit of an array in Node.js
 * 20 and of a pointer. `encodeFrame` counts only the bytes it copies.
 */
export const MAX_CONTIGUOUS_BYTES: number = 2 ** 32 - 8

/**
 * The most segments of a received message. Writers in other languages open one for every few KiB;
 * the segment table costs the reader four times what it cost the sender.
 */
export const MAX_SEGMENTS: number = 2 ** 16

/**
 * How many times its own length, plus `FREE_BYTES`, reading one message may visit. A normal message
 * is visited once; one whose pointers all lead to the same place would otherwise take unbounded
 * memory.
 */
export const MAX_AMPLIFICATION = 8

/** The constant part of that bound, in bytes: for small messages from peers with other schemas. */
export const FREE_BYTES: number = 8 * 1024

/**
 * The minimum size charged for a byte string, or a struct in a list: in memory each becomes an
 * object, however little of the message it takes.
 */
export const MIN_OBJECT_BYTES = 32

/**
 * The deepest nesting of structs and lists. No run-time check is needed: readers follow the schema,
 * and the generator refuses schemas that are recursive or nest deeper than this.
 */
export const MAX_DEPTH = 64

/** `encodeFrame` references byte strings of at least this length and copies shorter ones. */
export const MIN_REFERENCED_BYTES: number = 16 * 1024

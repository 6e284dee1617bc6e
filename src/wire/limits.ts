// The bounds of one message, in one place. Those on reading protect this process from a peer; those
// on writing are what the format can express. docs/protocol.md#limits lists them for other
// implementations.

/** Longest byte string (Data or Text): the format counts its bytes in 29 bits. */
export const MAX_DATA_BYTES: number = 2 ** 29 - 1

/** Longest id or text that is accepted, in bytes: those in use are shorter than a few hundred. */
export const MAX_TEXT_BYTES: number = 2 ** 24

/** Longest list, and the most words that the elements of a list of structs may take. */
export const MAX_LIST_LENGTH: number = 2 ** 29 - 1

/** Farthest that a pointer reaches within a segment, in words: a signed number of 30 bits. */
export const MAX_POINTER_WORDS: number = 2 ** 29 - 1

/**
 * Longest message that `encode` puts into one array, in bytes: what an array can have in Node.js
 * 20, and what a pointer can reach. `encodeFrame` counts only what it copies.
 */
export const MAX_CONTIGUOUS_BYTES: number = 2 ** 32 - 8

/**
 * Most segments that a received message may have. Writers in other languages open one for every few
 * KiB; the table of segments costs the reader four times what it cost the sender.
 */
export const MAX_SEGMENTS: number = 2 ** 16

/**
 * How much reading one message may visit: so many times its own length, and `FREE_BYTES`. An honest
 * message is visited once; one whose pointers all lead to the same place would otherwise grow
 * without bound in memory.
 */
export const MAX_AMPLIFICATION = 8

/** The constant part of that bound, in bytes: for small messages from peers with other schemas. */
export const FREE_BYTES: number = 8 * 1024

/**
 * As how many bytes a byte string, and a struct in a list, count at least: in memory each becomes
 * an object, however little of the message it takes.
 */
export const MIN_OBJECT_BYTES = 32

/**
 * Deepest nesting of structs and lists. No check at run time is needed: readers follow the schema,
 * and the generator refuses schemas that are recursive or nest deeper than this.
 */
export const MAX_DEPTH = 64

/** Byte strings from this length on are referenced by `encodeFrame`, shorter ones are copied. */
export const MIN_REFERENCED_BYTES: number = 16 * 1024

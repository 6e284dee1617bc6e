// The first byte of every serialized value, and of every value inside one. Both tables are append
// only: a byte keeps its meaning for ever, and a new layout of something gets a new byte, so that a
// reader either understands what it has or knows that it does not.

// The first byte.
/** `undefined`. */
export const MESSAGE_UNDEFINED = 0x01
/** `null`. */
export const MESSAGE_NULL = 0x02
/** `true`. */
export const MESSAGE_TRUE = 0x03
/** `false`. */
export const MESSAGE_FALSE = 0x04
/** Then 4 bytes, little-endian like all numbers here. */
export const MESSAGE_INT32 = 0x05
/** Then 8 bytes. */
export const MESSAGE_FLOAT64 = 0x06
/** Then one byte per character up to the end. */
export const MESSAGE_LATIN1 = 0x07
/** Then two bytes per UTF-16 unit up to the end. */
export const MESSAGE_UTF16 = 0x08
/** Then the content up to the end. */
export const MESSAGE_UINT8_ARRAY = 0x09
/** Then the content up to the end. */
export const MESSAGE_ARRAY_BUFFER = 0x0a
/** Then the content up to the end. */
export const MESSAGE_BUFFER = 0x0b
/** Then the shipped form of one function (function-codec.ts). */
export const MESSAGE_FUNCTION = 0x0c
/** Then a binary table, the root, and the contents of all that it reaches (graph-writer.ts). */
export const MESSAGE_GRAPH = 0x0d

// Values inside a graph. A byte from SMALL_INTEGER on is an integer from 0 to 127 by itself.
/** `undefined`. */
export const VALUE_UNDEFINED = 0x01
/** `null`. */
export const VALUE_NULL = 0x02
/** `true`. */
export const VALUE_TRUE = 0x03
/** `false`. */
export const VALUE_FALSE = 0x04
/** Then a zigzag varint. */
export const VALUE_INTEGER = 0x05
/** Then 8 bytes. */
export const VALUE_FLOAT64 = 0x06
/** Then a text. */
export const VALUE_TEXT = 0x07
/** Then sign (0 or 1) and a text of hex digits. */
export const VALUE_BIGINT = 0x08
/** Then the number of the object among those met so far. */
export const VALUE_REFERENCE = 0x09
// Objects whose content follows later, in the order in which they were met.
/** The content: count, then key and value pairs. */
export const VALUE_OBJECT = 0x10
/** The content: count, then values. */
export const VALUE_ARRAY = 0x11
/** Then the length. The content: count, then key and value pairs. */
export const VALUE_SPARSE_ARRAY = 0x12
/** The content: count, then pairs of values. */
export const VALUE_MAP = 0x13
/** The content: count, then values. */
export const VALUE_SET = 0x14
/** Then the class. The content: count, then key, 1 if enumerable, value. */
export const VALUE_ERROR = 0x15
/** Then message and name. The content as for an error. */
export const VALUE_DOM_EXCEPTION = 0x16
// Objects that are complete at once.
/** Then the time as float64. */
export const VALUE_DATE = 0x20
/** Then source and flags. */
export const VALUE_REGEXP = 0x21
/** Then the primitive, as a value. */
export const VALUE_BOXED = 0x22
/** The next entry of the binary table. */
export const VALUE_BINARY = 0x23
/** Then the shipped form of one function. */
export const VALUE_FUNCTION = 0x24
/** Then the address as a text. */
export const VALUE_URL = 0x25
/** Then the query as a text. */
export const VALUE_URL_SEARCH_PARAMS = 0x26
/** Then the length and that many float64: an array of numbers, not all of them integers. */
export const VALUE_NUMBER_ARRAY = 0x27

/** Plus the integer. */
export const SMALL_INTEGER = 0x80

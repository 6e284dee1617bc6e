// The first byte of every serialized value, and of every value inside one. From the first release
// on both tables are append only: a byte keeps its meaning for ever, and a new layout of something
// gets a new byte, so that a reader either understands what it has or knows that it does not.

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
/** Then a binary table, the root, and the contents of all that it reaches (value/writer.ts). */
export const MESSAGE_GRAPH = 0x0d
/** Then what needs code or identity to be made again (serializer/value/message.ts). */
export const MESSAGE_SHIPMENT = 0x0e

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
/** The content: a record (serializer/value/shape.ts). */
export const VALUE_RECORD = 0x10
/** The content: count, then values. */
export const VALUE_ARRAY = 0x11
/** Then the length. The content: a record. */
export const VALUE_SPARSE_ARRAY = 0x12
/** The content: count, then pairs of values. */
export const VALUE_MAP = 0x13
/** The content: count, then values. */
export const VALUE_SET = 0x14
/** Then the class. The content: count, then key, 1 if enumerable, value. */
export const VALUE_ERROR = 0x15
/** Then message and name. The content as for an error. */
export const VALUE_DOM_EXCEPTION = 0x16
/** An object without a prototype. The content: a record. */
export const VALUE_NULL_RECORD = 0x17
/** Then the length. The content: a record. */
export const VALUE_ARGUMENTS = 0x18
/** A captured variable that changes. The content: its value. */
export const VALUE_CELL = 0x19
/** Then flags, the class if it has one, and the object inside (serializer/value/kind.ts). */
export const VALUE_WRAPPED = 0x1a
/** A function or class with its code (serializer/function/writer.ts). */
export const VALUE_CLOSURE = 0x1b
/** Then target, `this`, the count of arguments and those. The content: a record. */
export const VALUE_BOUND = 0x1c
/** A captured constant that is made where it is used. The content: the function that does. */
export const VALUE_MADE = 0x1d
/**
 * Then a class, MEMBER_STATIC plus MEMBER_GET or MEMBER_SET, and a name: a method or accessor that
 * the text of the class defines (class/originals.ts).
 */
export const VALUE_MEMBER = 0x1e
// Objects that are complete at once.
/** Then the time as float64. */
export const VALUE_DATE = 0x20
/** Then source and flags. */
export const VALUE_REGEXP = 0x21
/** Then the primitive, as a value. */
export const VALUE_BOXED = 0x22
/** The next entry of the binary table. */
export const VALUE_BINARY = 0x23
/** Then the name of a class and its arguments, as JSON (serializer/value/remade-native.ts). */
export const VALUE_REMADE = 0x24
/** Then the address as a text. */
export const VALUE_URL = 0x25
/** Then the query as a text. */
export const VALUE_URL_SEARCH_PARAMS = 0x26
/** Then the length and that many float64: an array of numbers, not all of them integers. */
export const VALUE_NUMBER_ARRAY = 0x27
/** Then the name of what every process has: a function, class or object (module/native.ts). */
export const VALUE_NATIVE = 0x28
/** Then a reference: what is imported, to be one thing in the message (leaf.ts). */
export const VALUE_EXPORT_FUNCTION = 0x29
/** Then 0 for `import` or 1 for `require`, and the URL of the file. */
export const VALUE_RUNTIME = 0x2a
/** Then the number of an anchor among those that the unit uses (class/anchors.ts). */
export const VALUE_ANCHOR = 0x2b
/** Then identity, and 1 for a WeakSet: a compiler's stand-in for a private name. */
export const VALUE_STORE = 0x2c
/** Then a class: its `prototype`. */
export const VALUE_PROTOTYPE = 0x2d
/** Then the bytes of a codec or 0 and its number, and the bytes that it made (class/codecs.ts). */
export const VALUE_CODED = 0x2e
/** Then the number of the attachment: an object that is a message of its own. */
export const VALUE_ATTACHMENT = 0x2f
// Values that are no objects and have no number among them.
/** Then the number of the attachment: a primitive that is a message of its own. */
export const VALUE_ATTACHED_PRIMITIVE = 0x30
/** Then a reference: whatever is imported. */
export const VALUE_EXPORT = 0x31
/** Then what tells it from others (leaf.ts). */
export const VALUE_SYMBOL = 0x32
/** Then the number of the symbol among those met so far. */
export const VALUE_SYMBOL_REFERENCE = 0x33
/** Then the bytes of the codec of a registered class, and the class. */
export const VALUE_REGISTERED = 0x34
// Instead of a value in a record, where the property is more than that.
/** Then attributes, getter, setter. */
export const PROPERTY_ACCESSOR = 0x40
/** Then attributes and the value. */
export const PROPERTY_ATTRIBUTES = 0x41

/** Plus the integer. */
export const SMALL_INTEGER = 0x80

// How a property of an error differs from one that the engine gives it: bits of the byte behind its
// key.

/** It is enumerable. */
export const ERROR_ENUMERABLE = 1
/** It cannot be configured. */
export const ERROR_NOT_CONFIGURABLE = 2
/** It cannot be written. */
export const ERROR_NOT_WRITABLE = 4
/** Getter and setter follow instead of a value. */
export const ERROR_ACCESSOR = 8

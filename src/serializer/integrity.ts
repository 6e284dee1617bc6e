// Whether an object can still be changed.

/** Nothing can be added. */
export const INTEGRITY_NOT_EXTENSIBLE = 1
/** Nothing can be added or removed. */
export const INTEGRITY_SEALED = 2
/** Nothing can be changed. */
export const INTEGRITY_FROZEN = 3

/** 0 for an object as most are, else how far it is closed. */
export function integrityOf(object: object): number {
  if (Object.isExtensible(object)) return 0
  if (Object.isFrozen(object) && !hasOpenLength(object)) return INTEGRITY_FROZEN
  return Object.isSealed(object) ? INTEGRITY_SEALED : INTEGRITY_NOT_EXTENSIBLE
}

/** Of an empty array the engine says that it is frozen, whatever its length may become. */
function hasOpenLength(object: object): boolean {
  if (!Array.isArray(object) || object.length > 0) return false
  return Object.getOwnPropertyDescriptor(object, 'length')?.writable === true
}

/** Closes an object as far as it was. */
export function applyIntegrity(object: object, integrity: number): void {
  if (integrity === INTEGRITY_FROZEN) Object.freeze(object)
  else if (integrity === INTEGRITY_SEALED) Object.seal(object)
  else if (integrity === INTEGRITY_NOT_EXTENSIBLE) Object.preventExtensions(object)
}

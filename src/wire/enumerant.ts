// Enumerants are numbers on the wire and names in memory; a list of the names in order of their
// numbers turns one into the other.

import { ProtocolError } from '../base/errors.js'

/** The name with this number. Throws `ProtocolError` that names the `field` it came from. */
export function nameOf<Name extends string>(
  names: readonly Name[],
  code: number,
  field: string,
): Name {
  const name = names[code]
  if (name === undefined) {
    throw new ProtocolError(`${field}: unknown value ${code}, known are 0 to ${names.length - 1}`)
  }
  return name
}

/** The number of a name. Throws `ProtocolError` that names the `field` it is for. */
export function codeOf<Name extends string>(
  names: readonly Name[],
  name: Name,
  field: string,
): number {
  // Faster than `indexOf` for lists this short.
  for (let code = 0; code < names.length; code += 1) if (names[code] === name) return code
  throw new ProtocolError(`${field}: unknown value ${String(name)}`)
}

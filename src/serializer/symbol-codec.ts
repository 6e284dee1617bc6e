// Symbols: well-known ones by name, registered ones by key, all others by identity, so that one
// that comes again, or comes back, is the same.

import { DeserializeError } from '../base/errors.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import type { Identities, KnownThings } from './class/identities.js'

const KIND_WELL_KNOWN = 0
const KIND_REGISTERED = 1
const KIND_OWN = 2
const KIND_OWN_WITHOUT_TEXT = 3

const WELL_KNOWN: ReadonlyMap<symbol, string> = new Map(
  Object.getOwnPropertyNames(Symbol)
    .map((name) => [(Symbol as unknown as Record<string, unknown>)[name], name] as const)
    .filter((entry): entry is [symbol, string] => typeof entry[0] === 'symbol'),
)

/** Appends what tells the symbol from all others. */
export function writeSymbol(writer: ByteWriter, symbol: symbol, identities: Identities): void {
  const name = WELL_KNOWN.get(symbol)
  const key = Symbol.keyFor(symbol)
  if (name !== undefined) {
    writer.byte(KIND_WELL_KNOWN)
    writer.text(name)
  } else if (key !== undefined) {
    writer.byte(KIND_REGISTERED)
    writer.text(key)
  } else {
    const { description } = symbol
    writer.byte(description === undefined ? KIND_OWN_WITHOUT_TEXT : KIND_OWN)
    writer.text(identities.idOf(symbol))
    if (description !== undefined) writer.text(description)
  }
}

/** The symbol. Throws `DeserializeError`. */
export function readSymbol(reader: ByteReader, known: KnownThings): symbol {
  const kind = reader.byte()
  const text = reader.text()
  switch (kind) {
    case KIND_WELL_KNOWN:
      return wellKnown(text)
    case KIND_REGISTERED:
      return Symbol.for(text)
    case KIND_OWN:
      return ownSymbol(text, reader.text(), known)
    case KIND_OWN_WITHOUT_TEXT:
      return ownSymbol(text, undefined, known)
    default:
      throw new DeserializeError('the value has a kind of symbol that this version does not know')
  }
}

function wellKnown(name: string): symbol {
  for (const [symbol, known] of WELL_KNOWN) if (known === name) return symbol
  throw new DeserializeError(`Node ${process.versions.node} has no Symbol.${name}`)
}

function ownSymbol(id: string, description: string | undefined, known: KnownThings): symbol {
  const found = known.find(id)
  if (typeof found === 'symbol') return found
  const symbol = Symbol(description)
  known.adopt(id, symbol)
  return symbol
}

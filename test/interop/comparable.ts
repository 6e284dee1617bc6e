// Decoded messages compared by content: byte strings as hex, whatever kind of array they are in, and
// without the frame that a message was decoded from.

import type { Message } from '#src/wire/message.js'

/** The message in a form for `deepEqual`. */
export function comparable(message: Message): unknown {
  return simplify({ ...message, bytes: undefined })
}

function simplify(value: unknown): unknown {
  if (value instanceof Uint8Array) return { hex: Buffer.from(value).toString('hex') }
  if (Array.isArray(value)) return value.map(simplify)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, property]) => property !== undefined)
  return Object.fromEntries(entries.map(([key, property]) => [key, simplify(property)]))
}

// Bytes to strings and back. Ids and identities are held in memory as strings with one character
// per byte (latin1): they compare, hash and print quickly, and can be keys of a `Map`. Only this
// file converts between the two forms.

/**
 * Node's `Buffer` has this faster sibling of `toString('latin1', …)`, which its types leave out.
 */
interface Latin1Buffer extends Buffer {
  latin1Slice(start: number, end: number): string
  latin1Write(text: string, offset: number, length: number): number
}

/** Empty bytes. Shared: an empty array has no content that could be changed. */
export const NO_BYTES: Uint8Array = new Uint8Array(0)

/** The same memory as a `Buffer`. Free if it is one already. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** `bytes[start..end)` as a string of one character per byte. */
export function latin1Slice(bytes: Buffer, start: number, end: number): string {
  return (bytes as Latin1Buffer).latin1Slice(start, end)
}

/**
 * Writes one byte per character of `text` at `offset`. The caller has checked that there is room.
 */
export function latin1Write(bytes: Buffer, text: string, offset: number): void {
  ;(bytes as Latin1Buffer).latin1Write(text, offset, text.length)
}

/** A latin1 string as fresh bytes. */
export function latin1ToBytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Bytes as a latin1 string. */
export function bytesToLatin1(bytes: Uint8Array): string {
  return latin1Slice(asBuffer(bytes), 0, bytes.byteLength)
}

/** A latin1 string as lower-case hex, two digits per character. */
export function latin1ToHex(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex')
}

/**
 * A copy in its own memory (small ones share pooled 8 KiB slabs), so that keeping it keeps nothing
 * else alive: a view of a socket's read buffer would keep up to 64 KiB.
 */
export function copyOf(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafe(bytes.byteLength)
  copy.set(bytes)
  return copy
}

/** The total size of the pieces, in bytes. */
export function totalBytes(pieces: readonly Uint8Array[]): number {
  let total = 0
  for (const piece of pieces) total += piece.byteLength
  return total
}

/** The pieces as one array; a single piece is returned itself. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces
  if (first === undefined) return NO_BYTES
  return pieces.length === 1 ? first : Buffer.concat(pieces)
}

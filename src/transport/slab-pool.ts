// Memory in which small frames are put together for one write. A connection borrows a slab when it
// has something to send and gives it back once that is written, so idle connections hold none.

/** Frames are written as soon as this much waits, in bytes. */
export const FLUSH_BYTES = 65_536
/** Pieces of a frame from this size on are written from where they are, in bytes. */
export const LARGE_PIECE_BYTES = 16_384

/** Most connections send little at a time. */
const SMALL_SLAB_BYTES = 4096
/** While less than `FLUSH_BYTES` are in it, a small piece and its header always fit. */
const LARGE_SLAB_BYTES: number = FLUSH_BYTES + LARGE_PIECE_BYTES + 64
/** What is kept for later, at most: 64 slabs of each kind are 5 MiB. */
const KEPT_SLABS = 64

/** The slabs of all connections of one socket. */
export class SlabPool {
  readonly #small: Buffer[] = []
  readonly #large: Buffer[] = []

  /**
   * A slab with at least `bytes` of room, which must be at most `LARGE_PIECE_BYTES` and a header.
   */
  take(bytes: number): Buffer {
    return bytes <= SMALL_SLAB_BYTES
      ? (this.#small.pop() ?? Buffer.allocUnsafeSlow(SMALL_SLAB_BYTES))
      : (this.#large.pop() ?? Buffer.allocUnsafeSlow(LARGE_SLAB_BYTES))
  }

  /** A slab of the larger kind. */
  takeLarge(): Buffer {
    return this.take(LARGE_SLAB_BYTES)
  }

  /** Takes a slab back. Nothing may read or write it any more. */
  giveBack(slab: Buffer): void {
    const kept = slab.length === SMALL_SLAB_BYTES ? this.#small : this.#large
    if (kept.length < KEPT_SLABS) kept.push(slab)
  }
}

// Keeps one open page up to date with server-sent events: at most one per second and 50 KB per
// second. A page that does not read what it gets is dropped; browsers connect again on their own.

import { Buffer } from 'node:buffer'
import { DeltaMaker, type Visible } from './delta.js'

/** At most this many bytes per second. */
const BYTES_PER_S = 50_000
/** Limits on unread data, in bytes and milliseconds; a page that exceeds one is dropped. */
const MAX_UNREAD_BYTES = 262_144
const MAX_UNREAD_MS = 15_000

/** Where the messages go. */
export interface FeedTarget {
  /** What has not been sent to the operating system, in bytes. */
  readonly writableLength: number
  write(text: string): boolean
  destroy(): void
}

/** One open page. Times are milliseconds of any clock. */
export class PageFeed {
  readonly #target: FeedTarget
  readonly #look: () => Visible
  readonly #maker = new DeltaMaker()
  #dueAt = Number.NEGATIVE_INFINITY
  #unreadSince: number | undefined

  constructor(target: FeedTarget, look: () => Visible) {
    this.#target = target
    this.#look = look
  }

  /** Called about once per second. */
  tick(nowMs: number): void {
    const { writableLength } = this.#target
    if (writableLength > 0) {
      this.#unreadSince ??= nowMs
      const isSlow = nowMs - this.#unreadSince >= MAX_UNREAD_MS
      if (isSlow || writableLength > MAX_UNREAD_BYTES) this.#target.destroy()
      return
    }
    this.#unreadSince = undefined
    if (nowMs < this.#dueAt) return
    const text = this.#maker.next(this.#look())
    if (text === undefined) return
    const message = `data: ${text}\n\n`
    this.#dueAt = nowMs + (Buffer.byteLength(message) / BYTES_PER_S) * 1_000
    this.#target.write(message)
  }
}

// Which of the values that a function captured become messages of their own: those that are large.

import type { Attachments } from '../writer-tools.js'

/** A captured value that takes more is a message of its own, in bytes. */
export const MAX_INLINE_BYTES = 65_536

/** The attachments of one function, in the order in which they were met. */
export class AttachmentTable implements Attachments {
  readonly #numbers = new Map<unknown, number>()
  readonly #excluded: Set<unknown>
  readonly #used = new Set<unknown>()

  /** `values`: those that it begins with. `excluded`: those that it must not have. */
  constructor(values: Iterable<unknown>, excluded: Set<unknown>) {
    this.#excluded = excluded
    for (const value of values) if (!excluded.has(value)) this.add(value)
  }

  get size(): number {
    return this.#numbers.size
  }

  /** In the order of their numbers. */
  get values(): readonly unknown[] {
    return [...this.#numbers.keys()]
  }

  /** Those that some function captured. */
  get used(): ReadonlySet<unknown> {
    return this.#used
  }

  add(value: unknown): void {
    this.#numbers.set(value, this.#numbers.size)
  }

  of(value: unknown): number | undefined {
    let number = this.#numbers.get(value)
    if (number === undefined && isSurelyLarge(value) && !this.#excluded.has(value)) {
      number = this.#numbers.size
      this.add(value)
    }
    if (number !== undefined) this.#used.add(value)
    return number
  }
}

/** Each unit, element and entry takes a byte at least. */
function isSurelyLarge(value: unknown): boolean {
  if (typeof value === 'string') return value.length > MAX_INLINE_BYTES
  if (typeof value !== 'object' || value === null) return false
  if (ArrayBuffer.isView(value)) return value.byteLength > MAX_INLINE_BYTES
  return Array.isArray(value) && value.length > MAX_INLINE_BYTES
}

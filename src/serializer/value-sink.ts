// What those who write one kind of thing need of the unit that they write into.

import type { ByteWriter } from './byte-writer.js'
import type { UsedModule, CellKey } from './function/function-parts.js'
import type { ExportReference } from './module/reference.js'
import type { AnyFunction } from './native-names.js'
import type { Step } from './path.js'
import type { RecordKeys } from './record-shape.js'
import type { Refusal } from './refusal.js'
import type { FunctionCode } from './source/function-site.js'

/**
 * What to do with a part of the value that cannot travel or be read: fail, or put a short text in
 * its place. The value itself is never replaced.
 */
export type Strictness = 'strict' | 'lenient'

/** What a unit says to its message. */
interface Noting {
  noteSpecial(object: object): void
}

/** A unit while it is written. All may end the writing by throwing. */
export interface ValueSink {
  readonly bytes: ByteWriter
  /** The unit of an anchor, which says the same in every message (anchor.ts). */
  readonly isAnchor: boolean
  readonly strictness: Strictness
  readonly context: Noting
  /** Says what is read next, which may throw. */
  at(step: Step): void
  /** Appends any value; `step` leads to it from what is being written. */
  value(value: unknown, step: Step): void
  /** Appends a function that is a class, whatever its text is. */
  classValue(fn: AnyFunction, step: Step): void
  /** Appends the value of a captured variable. */
  captured(value: unknown, step: Step): void
  /** Appends a captured variable that changes. */
  cell(key: CellKey, value: unknown, step: Step): void
  /** Appends a module with what is used of it. */
  members(used: UsedModule, step: Step): void
  /** Appends a private store. */
  store(store: WeakMap<object, unknown> | WeakSet<object>): void
  /** Appends what is imported where it arrives. */
  reference(reference: ExportReference): void
  /** Appends a primitive. */
  primitive(value: unknown): void
  /**
   * Appends the properties of an object, which is closed as far as that afterwards (integrity.ts).
   */
  record(object: object, keys: RecordKeys, integrity: number): void
  /** The number of a code that the unit has, or undefined after giving it the next one. */
  codeNumber(code: FunctionCode): number | undefined
  /** Appends a short text, or ends the writing. */
  refuse(refusal: Refusal, step: Step): void
}

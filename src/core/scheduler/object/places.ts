// Content that is not in the memory of the scheduler: in files, or on object storage servers. Each
// place is given up when the last object that has its content there is gone.

import { asBuffer } from '../../../base/bytes.js'
import type { Turn } from '../../../base/machine.js'
import type { ObjectContentType } from '../../../wire/message.js'
import { fileOf, storedContentOf } from '../../../wire/object-content.js'
import type { SchedulerAction } from '../events.js'

/** Whether content of this type is elsewhere, and its only chunk names the place. */
export function isElsewhere(type: ObjectContentType): boolean {
  return type === 'file' || type === 'stored'
}

/** The places, and how many objects use each: several, if an error is repeated. */
export class ContentPlaces {
  readonly #turn: Turn<SchedulerAction>
  readonly #counts = new Map<string, number>()

  constructor(turn: Turn<SchedulerAction>) {
    this.#turn = turn
  }

  /** Whether an object has its content there. */
  has(type: ObjectContentType, chunks: readonly Uint8Array[]): boolean {
    return isElsewhere(type) && this.#counts.has(placeOf(chunks))
  }

  /** Another object has its content there. Returns how many do now. */
  keep(type: ObjectContentType, chunks: readonly Uint8Array[]): number {
    if (!isElsewhere(type)) return 0
    const place = placeOf(chunks)
    const count = (this.#counts.get(place) ?? 0) + 1
    this.#counts.set(place, count)
    return count
  }

  /** An object does not have its content there any more. */
  leave(type: ObjectContentType, chunks: readonly Uint8Array[]): void {
    if (!isElsewhere(type)) return
    const place = placeOf(chunks)
    const others = (this.#counts.get(place) ?? 1) - 1
    if (others > 0) this.#counts.set(place, others)
    else {
      this.#counts.delete(place)
      giveUpPlace(this.#turn, type, chunks)
    }
  }

  /** Content that was not stored, unless it is that of an object. */
  drop(type: ObjectContentType, chunks: readonly Uint8Array[]): void {
    // Content in memory may be too long for a key.
    if (isElsewhere(type) && !this.#counts.has(placeOf(chunks))) this.leave(type, chunks)
  }
}

/** The content at this place is not needed any more. */
export function giveUpPlace(
  turn: Turn<SchedulerAction>,
  type: ObjectContentType,
  chunks: readonly Uint8Array[],
): void {
  const file = type === 'file' ? fileOf(chunks) : undefined
  if (file !== undefined) turn.act({ type: 'removeFile', path: file.path })
  const content = type === 'stored' ? storedContentOf(chunks) : undefined
  if (content !== undefined) turn.act({ type: 'removeStored', content })
}

function placeOf([chunk]: readonly Uint8Array[]): string {
  return chunk === undefined ? '' : asBuffer(chunk).toString('latin1')
}

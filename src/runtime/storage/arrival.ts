// Content that goes where it is needed while it arrives from an object storage server: into a file,
// which is then written at the same time, or into memory that was used before. By itself, the
// transport would collect it in fresh memory.

import type { ObjectId } from '../../base/ids.js'
import type { IncomingMessage } from '../../transport/options.js'
import type { FrameSink } from '../../transport/zmtp/frame.js'
import { decodeBeginning, type ObjectResponse } from '../../wire/message.js'
import type { Part } from '../../wire/object-content.js'

/** Content of which some bytes have arrived. No method throws. */
export interface ArrivingContent {
  /** Adds bytes, which are overwritten after the call. */
  write(bytes: Uint8Array): void
  /** All bytes are there. Returns where; undefined: that failed, and nothing is left. */
  finish(): Part | undefined
  /** The rest will not come. */
  drop(): void
}

/** Where content goes that arrives. */
export interface ArrivalStore {
  /** Makes room for content of this length and with this first byte; undefined: in fresh memory. */
  open(byteLength: number, first: number): ArrivingContent | undefined
  /** Content, from here or from elsewhere, is not needed. */
  drop(part: Part): void
}

/** What was requested. */
export interface Wanted {
  readonly byteLength: number
  readonly store: ArrivalStore
}

/** The content of one object. */
interface Arrival {
  readonly id: ObjectId
  readonly content: ArrivingContent
}

/** What stands for content that could not be kept: a file that is not there. */
const LOST: Part = { type: 'file', chunks: [] }

/** What arrives over one connection. */
export class Arrivals {
  readonly #wanted: (id: ObjectId) => Wanted | undefined
  /** By what is delivered in the place of the response. */
  readonly #arrivals = new Map<IncomingMessage, Arrival>()

  constructor(wanted: (id: ObjectId) => Wanted | undefined) {
    this.#wanted = wanted
  }

  /** See `OnLongFrame`. */
  begin(head: Buffer, size: number): FrameSink | undefined {
    const { id, at } = objectAlone(head, size) ?? {}
    const wanted = id && this.#wanted(id)
    if (id === undefined || at === undefined || wanted === undefined) return undefined
    const { byteLength, store } = wanted
    // Nothing comes after it but zeros that fill the last word.
    const excess = size - at - byteLength
    if (excess < 0 || excess >= 8) return undefined
    const content = store.open(byteLength, head[at] ?? 0)
    if (content === undefined) return undefined
    this.#arrivals.set(head, { id, content })
    let left = byteLength
    const write = (bytes: Buffer): void => {
      if (!this.#arrivals.has(head)) return
      content.write(left < bytes.byteLength ? bytes.subarray(0, left) : bytes)
      left = Math.max(0, left - bytes.byteLength)
    }
    write(head.subarray(at))
    return write
  }

  /** An object that has arrived, if this is what is delivered in its place. */
  finish(message: IncomingMessage): { readonly id: ObjectId; readonly part: Part } | undefined {
    const arrival = this.#arrivals.get(message)
    if (arrival === undefined) return undefined
    this.#arrivals.delete(message)
    return { id: arrival.id, part: arrival.content.finish() ?? LOST }
  }

  /** The connection has ended. */
  clear(): void {
    for (const { content } of this.#arrivals.values()) content.drop()
    this.#arrivals.clear()
  }
}

/** The object of a response with no other, and where in the message its only chunk begins. */
function objectAlone(
  head: Buffer,
  size: number,
): { readonly id: ObjectId; readonly at: number } | undefined {
  const response = responseIn(head, size)
  if (response?.responseType !== 'content') return undefined
  const { objectIds, objectTypes, objectBytes } = response.objectContent
  const [id, ...others] = objectIds
  const [chunk, ...chunks] = objectBytes[0] ?? []
  if (id === undefined || chunk === undefined) return undefined
  if (others.length > 0 || chunks.length > 0 || objectTypes[0] !== 'object') return undefined
  const at = chunk.byteOffset - head.byteOffset
  return { id, at }
}

function responseIn(head: Buffer, size: number): ObjectResponse | undefined {
  try {
    const message = decodeBeginning(head, size - head.byteLength)
    return message.kind === 'objectResponse' ? message : undefined
  } catch {
    // It is refused once all of it is there.
    return undefined
  }
}

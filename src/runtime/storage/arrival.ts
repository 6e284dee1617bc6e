// Content that is written into a file while it arrives from an object storage server: the network
// and the file then work at the same time, and the content takes no memory here.

import type { ObjectId } from '../../base/ids.js'
import type { IncomingMessage } from '../../transport/options.js'
import type { FrameSink } from '../../transport/zmtp/frame.js'
import { decodeBeginning, type ObjectResponse } from '../../wire/message.js'
import type { Part } from '../object-files.js'

/** A file that is being written. No method throws. */
export interface ArrivingFile {
  /** Adds bytes, which are overwritten after the call. */
  write(bytes: Uint8Array): void
  /** The chunk that names the file, which is complete; undefined: that failed, and it is gone. */
  finish(): Uint8Array | undefined
  /** Removes the file, which is not complete. */
  drop(): void
}

/** Files for content that arrives. */
export interface ArrivingFiles {
  /** Starts a file for content of this length; undefined: the content is to be in memory. */
  open(byteLength: number): ArrivingFile | undefined
  /** The content of a file that was finished is not needed. */
  remove(chunk: Uint8Array): void
}

/** What was requested, to be in a file. */
export interface Wanted {
  readonly byteLength: number
  readonly files: ArrivingFiles
}

/** The content of one object, of which some bytes are in the file. */
interface Arrival {
  readonly id: ObjectId
  readonly file: ArrivingFile
}

/** What arrives over one connection. */
export class Arrivals {
  readonly #wanted: (id: ObjectId) => Wanted | undefined
  /** By what is delivered in their place. */
  readonly #arrivals = new Map<IncomingMessage, Arrival>()

  constructor(wanted: (id: ObjectId) => Wanted | undefined) {
    this.#wanted = wanted
  }

  /** See `OnLongFrame`. */
  begin(head: Buffer, size: number): FrameSink | undefined {
    const content = objectAlone(head, size)
    const wanted = content && this.#wanted(content.id)
    if (content === undefined || wanted === undefined) return undefined
    const { byteLength, files } = wanted
    // Nothing comes after it but zeros that fill the last word.
    const excess = size - content.at - byteLength
    const file = excess >= 0 && excess < 8 ? files.open(byteLength) : undefined
    if (file === undefined) return undefined
    this.#arrivals.set(head, { id: content.id, file })
    let left = byteLength
    const write = (bytes: Buffer): void => {
      file.write(left < bytes.byteLength ? bytes.subarray(0, left) : bytes)
      left = Math.max(0, left - bytes.byteLength)
    }
    write(head.subarray(content.at))
    return write
  }

  /** An object that has arrived, if this is what is delivered in its place. */
  finish(message: IncomingMessage): { readonly id: ObjectId; readonly part: Part } | undefined {
    const arrival = this.#arrivals.get(message)
    if (arrival === undefined) return undefined
    this.#arrivals.delete(message)
    const chunk = arrival.file.finish()
    // A file that is not there is requested again, in memory.
    return { id: arrival.id, part: { type: 'file', chunks: chunk === undefined ? [] : [chunk] } }
  }

  /** The connection has ended. */
  clear(): void {
    for (const { file } of this.#arrivals.values()) file.drop()
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

// Puts together what one task prints in many small pieces, as a program does that prints line by
// line: one message for all that was read together.

import { joinBytes } from '../base/bytes.js'
import type { TaskOutput } from '../wire/message.js'

/** A batch of so many bytes is told. */
const MAX_BYTES = 64 * 1024

/** Collects output. What follows of something else must not overtake it: `flush` comes before. */
export class OutputBatch {
  readonly #tell: (output: TaskOutput) => void
  #first: TaskOutput | undefined
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(tell: (output: TaskOutput) => void) {
    this.#tell = tell
  }

  /** Adds some, which is told with the next `flush` at the latest. */
  add(output: TaskOutput): void {
    const first = this.#first
    const isSame = first?.taskId === output.taskId && first.stream === output.stream
    if (!isSame || first.client !== output.client || this.#bytes >= MAX_BYTES) this.flush()
    this.#first ??= output
    this.#pieces.push(output.content)
    this.#bytes += output.content.byteLength
  }

  /** Tells what there is. */
  flush(): void {
    const first = this.#first
    if (first === undefined) return
    const pieces = this.#pieces
    this.#first = undefined
    this.#pieces = []
    this.#bytes = 0
    if (pieces.length === 1) this.#tell(first)
    else this.#tell({ ...first, bytes: undefined, content: joinBytes(pieces) })
  }
}

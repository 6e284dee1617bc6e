// From offsets in a text to lines and columns as V8 counts them, and back.

import type { TextPlace } from './function-site.js'

const LINE_END = /\r\n?|[\n\u2028\u2029]/g

/** The lines of one text. */
export class LineIndex {
  readonly #starts: readonly number[]

  constructor(text: string) {
    const starts = [0]
    for (const { index, 0: end } of text.matchAll(LINE_END)) starts.push(index + end.length)
    this.#starts = starts
  }

  /** The line of an offset, from 0. */
  lineOf(offset: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The column of an offset, from 0. */
  columnOf(offset: number): number {
    return offset - (this.#starts[this.lineOf(offset)] ?? 0)
  }

  /** Both of an offset. */
  placeOf(offset: number): TextPlace {
    return { line: this.lineOf(offset), column: this.columnOf(offset) }
  }

  /** The offset of a line and column, both from 0. */
  offsetOf(line: number, column: number): number {
    return (this.#starts[line] ?? 0) + column
  }
}

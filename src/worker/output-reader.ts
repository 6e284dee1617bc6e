// Reads what user code prints, a little in each turn of the event loop: a task that prints without
// end is held up by its full pipe, and holds up neither heartbeats nor other workers' tasks.

import type { Readable } from 'node:stream'
import { LineSplitter } from './line-splitter.js'

/** Bytes that are cut into lines in one turn. */
const SLICE_BYTES = 4096

/** Calls `onLine` for each line of the stream, to its end. Errors of the stream end it silently. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  const splitter = new LineSplitter(onLine)
  let isReading = false
  let hasClosed = false

  function readFrom(chunk: Buffer, at: number): void {
    const end = at + SLICE_BYTES
    splitter.write(chunk.subarray(at, end))
    if (end < chunk.byteLength) {
      setImmediate(readFrom, chunk, end)
      return
    }
    isReading = false
    if (hasClosed) splitter.end()
    else stream.resume()
  }

  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    isReading = true
    stream.pause()
    readFrom(chunk, 0)
  })
  stream.on('close', () => {
    hasClosed = true
    if (!isReading) splitter.end()
  })
}

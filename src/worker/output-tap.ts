// What tasks print, taken from the standard streams of a processor before it reaches their pipes:
// only here it is known which task runs. It leaves in the same pipe as results, at once, so it
// comes before the result of its task, and comes however the process ends.

import { NO_BYTES } from '../base/bytes.js'
import { identity, taskId, type Identity, type TaskId } from '../base/ids.js'
import type { OutputPlace, OutputStream, TaskOutput } from '../wire/message.js'

/** Longer pieces are cut, in bytes: none keeps others back for long. */
const MAX_PIECE_BYTES = 64 * 1024

/** Whose output it is. */
export interface Speaker {
  readonly id: TaskId
  readonly name: string
  readonly output: OutputPlace
  readonly outputClient: Identity
}

/** Where tasks run. */
export interface Stage {
  /** The task that prints now; undefined where that is not known. */
  readonly speaker: Speaker | undefined
  /** Tasks have run here whose output does not go to one place. */
  readonly isMixed: boolean
}

/** The part of `process.stdout` that matters here: what every stream calls to write. */
export interface PrintStream {
  _write(chunk: Uint8Array | string, encoding: BufferEncoding, done: () => void): void
  /** Without it several chunks are written one by one. */
  _writev?: unknown
}

const NO_TASK = taskId('')
const NOBODY = identity('')

/** Has all that is written to `stream` go to `tell`, unless it is for the log of the worker. */
export function tapOutput(
  stream: PrintStream,
  name: OutputStream,
  { stage, tell }: { readonly stage: Stage; readonly tell: (output: TaskOutput) => void },
): void {
  const write = stream._write.bind(stream)
  stream._writev = undefined
  stream._write = (chunk, encoding, done) => {
    const target = targetOf(stage, name)
    if (target === 'pipe') return write(chunk, encoding, done)
    if (target !== 'nowhere') {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
      for (let at = 0; at < bytes.byteLength; at += MAX_PIECE_BYTES) {
        tell({ ...target, stream: name, content: bytes.subarray(at, at + MAX_PIECE_BYTES) })
      }
    }
    done()
  }
}

/** What is taken is told to whom: the client, or (without one) the agent alone. */
function targetOf(
  { speaker, isMixed }: Stage,
  stream: OutputStream,
): Omit<TaskOutput, 'stream' | 'content'> | 'pipe' | 'nowhere' {
  if (speaker === undefined || speaker.output === 'log') {
    // What comes out of the pipe may be taken for that of another task.
    return isMixed ? outputOf(NO_TASK, NOBODY, '') : 'pipe'
  }
  const { id, name, output, outputClient } = speaker
  if (output === 'forward') return outputOf(id, outputClient, name)
  // The last lines belong to the error if the process dies.
  return stream === 'stderr' ? outputOf(id, NOBODY, name) : 'nowhere'
}

function outputOf(
  id: TaskId,
  client: Identity,
  name: string,
): Omit<TaskOutput, 'stream' | 'content'> & { readonly content: Uint8Array } {
  const rest = { content: NO_BYTES, droppedBytes: 0, isLast: false }
  return { kind: 'taskOutput', taskId: id, client, name, ...rest }
}

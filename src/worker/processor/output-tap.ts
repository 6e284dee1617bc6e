// What tasks print, taken from the standard streams of a processor before it reaches their pipes:
// only here it is known which task runs. It leaves in the same pipe as results, at once, so it
// comes before the result of its task, and comes however the process ends.

import { identity, taskId, type Identity, type TaskId } from '../../base/ids.js'
import type { OutputPlace, OutputStream, TaskOutput } from '../../wire/message.js'

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

const NOBODY = identity('')
const UNKNOWN = { taskId: taskId(''), name: '', client: NOBODY } as const
const NO_OUTPUT = { kind: 'taskOutput', isLast: false } as const

/** Has all that a task writes to `stream` go to `tell`; what is nobody's goes to the pipe. */
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
        const content = bytes.subarray(at, at + MAX_PIECE_BYTES)
        const droppedBytes = target.isDropped ? content.byteLength : 0
        tell({ ...NO_OUTPUT, ...target.of, droppedBytes, stream: name, content })
      }
    }
    done()
  }
}

/** Whose a piece of output is, and for whom. */
interface Target {
  readonly of: Pick<TaskOutput, 'taskId' | 'name' | 'client'>
  /** Nobody wants to read it: it only belongs to the error if the process dies. */
  readonly isDropped: boolean
}

/** Without a client it is for the agent alone, which puts it into its log. */
function targetOf({ speaker, isMixed }: Stage, stream: OutputStream): Target | 'pipe' | 'nowhere' {
  if (speaker === undefined) {
    // What comes out of the pipe may be taken for that of another task.
    return isMixed ? { of: UNKNOWN, isDropped: false } : 'pipe'
  }
  const { id: taskId, name, output, outputClient } = speaker
  if (output === 'off' && stream === 'stdout') return 'nowhere'
  const client = output === 'forward' ? outputClient : NOBODY
  return { of: { taskId, name, client }, isDropped: output === 'off' }
}

// Captures the output of tasks from the standard streams of a processor before it reaches their
// pipes: only here it is known which task is running. It is written immediately to the pipe that
// carries results, so it arrives before the result of its task, and however the process exits.

import { identity, taskId, type Identity, type TaskId } from '../../base/ids.js'
import type { OutputPlace, OutputStream, TaskOutput } from '../../wire/message.js'

/** Longer pieces are cut, in bytes, so that none delays others for long. */
const MAX_PIECE_BYTES = 64 * 1024

/** The task that prints. */
export interface Speaker {
  readonly id: TaskId
  readonly name: string
  readonly output: OutputPlace
  readonly outputClient: Identity
}

/** Where the output of the tasks of a processor goes, which may be to different places. */
export class OutputPlaces {
  /** The task that was started last, without its content, which would stay in memory. */
  #last: Speaker | undefined
  #areMixed = false

  /** Whether there were several places. */
  get areMixed(): boolean {
    return this.#areMixed
  }

  /** A task whose output goes to the only place; undefined: there are several, or none. */
  get only(): Speaker | undefined {
    return this.#areMixed ? undefined : this.#last
  }

  /** A task starts. */
  note({ id, output, outputClient }: Omit<Speaker, 'name'>): void {
    const last = this.#last
    if (last?.output === output && last.outputClient === outputClient) return
    this.#areMixed ||= last !== undefined
    this.#last = { id, name: '', output, outputClient }
  }
}

/** Where tasks run. */
export interface Stage {
  /** The task that prints now; undefined if unknown. */
  readonly speaker: Speaker | undefined
  /** Whether tasks have run here whose output goes to different places. */
  readonly isMixed: boolean
}

/** The part of `process.stdout` that matters here: what every write goes through. */
export interface PrintStream {
  _write(chunk: Uint8Array | string, encoding: BufferEncoding, done: () => void): void
  /** Without it, several chunks are written one by one. */
  _writev?: unknown
}

const NO_PEER = identity('')
const UNKNOWN = { taskId: taskId(''), name: '', client: NO_PEER } as const
const NO_OUTPUT = { kind: 'taskOutput', isLast: false } as const

/** Redirects what tasks write to `stream` to `tell`; other output goes to the pipe. */
export function tapOutput(
  stream: PrintStream,
  name: OutputStream,
  { stage, tell }: { readonly stage: Stage; readonly tell: (output: TaskOutput) => void },
): void {
  const write = stream._write.bind(stream)
  stream._writev = undefined
  stream._write = (chunk, encoding, done) => {
    const target = targetOf(stage)
    if (target === 'pipe') return write(chunk, encoding, done)
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    for (let at = 0; at < bytes.byteLength; at += MAX_PIECE_BYTES) {
      const content = bytes.subarray(at, at + MAX_PIECE_BYTES)
      const droppedBytes = target.isDropped ? content.byteLength : 0
      tell({ ...NO_OUTPUT, ...target.of, droppedBytes, stream: name, content })
    }
    done()
  }
}

/** The task and the destination of a piece of output. */
interface Target {
  readonly of: Pick<TaskOutput, 'taskId' | 'name' | 'client'>
  /**
   * It is not forwarded: only operators see it, and the error of its task if the process dies.
   */
  readonly isDropped: boolean
}

/** Without a client, the output is for the agent's log. */
function targetOf({ speaker, isMixed }: Stage): Target | 'pipe' {
  if (speaker === undefined) {
    // Output in the pipe might be attributed to another task.
    return isMixed ? { of: UNKNOWN, isDropped: false } : 'pipe'
  }
  const { id: taskId, name, output, outputClient } = speaker
  const client = output === 'forward' ? outputClient : NO_PEER
  return { of: { taskId, name, client }, isDropped: output === 'off' }
}

// What running a task has cost, as users see it.

import { ProtocolError } from '../../base/errors.js'
import { decodeProfileResult } from '../../wire/metadata.js'

/** What running a task has cost. */
export interface TaskProfile {
  /** From handing the task to its process to its result, in milliseconds. */
  readonly durationMs: number
  /** User and system time, in milliseconds. Measured with `profiling`, and for tasks over 1 ms. */
  readonly cpuTimeMs?: number
  /** Memory beyond what the process had before, in bytes. Measured with `profiling` only. */
  readonly peakMemoryBytes?: number
  /** The name of the worker that ran it; empty if that does not say so, as those of Python. */
  readonly worker: string
}

/** The profile in a TaskResult's metadata (docs/protocol.md#profile-result); undefined if none. */
export function taskProfile(metadata: Uint8Array, worker: string): TaskProfile | undefined {
  if (metadata.byteLength === 0) return undefined
  try {
    const found = decodeProfileResult(metadata)
    if (found === undefined) return undefined
    const { durationSeconds, cpuSeconds, peakMemoryBytes } = found
    const durationMs = toMilliseconds(durationSeconds)
    // Zero means that nobody has looked, as for most tasks that are short.
    if (cpuSeconds === 0 && peakMemoryBytes === 0) return { durationMs, worker }
    return {
      durationMs,
      cpuTimeMs: toMilliseconds(cpuSeconds),
      ...(peakMemoryBytes > 0 && { peakMemoryBytes }),
      worker,
    }
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

/** To whole microseconds: the digits behind are noise of 32-bit floats. */
function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e3
}

// How far a task is, as it tells itself.

/** `done` of `total`, in whatever unit the task counts; a `total` of 0 stands for unknown. */
export interface TaskProgress {
  readonly done: number
  readonly total: number
}

/** Told how far a task is. */
export type ProgressListener = (done: number, total: number) => void

/** What one task has told, and who listens. */
export class ProgressReport {
  readonly #listeners = new Set<{ readonly listener: ProgressListener }>()
  #last: TaskProgress | undefined

  /** What it has told last. */
  get last(): TaskProgress | undefined {
    return this.#last
  }

  /** Tells `listener`, a function, until the returned function is called. */
  listen(listener: ProgressListener): () => void {
    if (typeof listener !== 'function') throw new TypeError('expected a function')
    const entry = { listener }
    this.#listeners.add(entry)
    return () => {
      this.#listeners.delete(entry)
    }
  }

  /** The task has told something. What a listener throws is uncaught, as for events. */
  tell(progress: TaskProgress): void {
    this.#last = progress
    for (const { listener } of this.#listeners) {
      queueMicrotask(() => listener(progress.done, progress.total))
    }
  }
}

// The cost of running a task, as users see it.

import { argumentError } from '../../runtime/call-site.js'
import { copyOf } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import type { Identity } from '../../base/ids.js'
import { decodeProfileResult } from '../../wire/metadata.js'
import { sliceProfiles } from '../../wire/run.js'

/** The cost of running a task. */
export interface TaskProfile {
  /** From passing the task to its process until its result, in milliseconds. */
  readonly durationMs: number
  /**
   * User and system time, in milliseconds. Reported with `profiling`, and for tasks over 1 ms. The
   * duration, for a shorter task that travelled together with others.
   */
  readonly cpuTimeMs?: number
  /**
   * Memory beyond that of the process before, in bytes. Measured with `profiling` only. 1, for a
   * task under 1 ms that travelled together with others.
   */
  readonly peakMemoryBytes?: number
  /** The name of the worker that ran it; empty if it is not reported, as by Python workers. */
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
    // Zero means not measured, as for most short tasks.
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

/** To whole microseconds: further digits are noise of 32-bit floats. */
function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e3
}

/** The profiles of tasks of a run, which are read when somebody asks for one. */
export class RunProfiles {
  readonly worker: Identity
  /** When they arrived. */
  readonly endedAtMs: number = Date.now()
  readonly #metadata: Uint8Array
  readonly #count: number

  /** `metadata` is copied. */
  constructor(metadata: Uint8Array, count: number, worker: Identity) {
    this.#metadata = copyOf(metadata)
    this.#count = count
    this.worker = worker
  }

  /** The profile of one task, as in a TaskResult. */
  of(index: number): Uint8Array {
    return sliceProfiles(this.#metadata, this.#count, index, index + 1)
  }
}

// The progress of a task, as it reports it.

/** `done` of `total`, in any unit that the task counts. */
export interface TaskProgress {
  /** How much is done. */
  readonly done: number
  /** 0: unknown. */
  readonly total: number
}

/** Receives the progress of a task. */
export type ProgressListener = (done: number, total: number) => void

/** The reported progress of one task, and its listeners. */
export class ProgressReport {
  readonly #listeners = new Set<{ readonly listener: ProgressListener }>()
  #last: TaskProgress | undefined

  /** The last report. */
  get last(): TaskProgress | undefined {
    return this.#last
  }

  /** Calls `listener`, a function, for each report until the returned function is called. */
  listen(listener: ProgressListener): () => void {
    if (typeof listener !== 'function') throw argumentError('expected a function')
    const entry = { listener }
    this.#listeners.add(entry)
    return () => {
      this.#listeners.delete(entry)
    }
  }

  /** The task has reported progress. Errors of a listener are uncaught, as for events. */
  tell(progress: TaskProgress): void {
    this.#last = progress
    for (const { listener } of this.#listeners) {
      queueMicrotask(() => listener(progress.done, progress.total))
    }
  }
}

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

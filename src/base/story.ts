// What happened to a task lately, for the message of an assertion that fails. One ring for a whole
// machine: a story per task would cost memory for every task that waits.

/** One transition of one task. */
interface Chapter {
  id: string
  from: string
  cause: string
  to: string
}

/** Remembers the last transitions of all tasks of a machine. */
export class Story {
  readonly #ring: Chapter[]
  #next = 0

  /** Keeps the last `capacity` transitions. */
  constructor(capacity = 512) {
    this.#ring = Array.from({ length: capacity }, () => ({ id: '', from: '', cause: '', to: '' }))
  }

  /** Notes a transition. Allocates nothing. */
  record(id: string, from: string, cause: string, to: string): void {
    const chapter = this.#ring[this.#next] as Chapter
    chapter.id = id
    chapter.from = from
    chapter.cause = cause
    chapter.to = to
    this.#next = (this.#next + 1) % this.#ring.length
  }

  /** The remembered transitions of one task, oldest first: `inactive -assigned-> running, …`. */
  of(id: string): string {
    const inOrder = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)]
    const chapters = inOrder.filter((chapter) => chapter.id === id && chapter.from !== '')
    const lines = chapters.map(({ from, cause, to }) => `${from} -${cause}-> ${to}`)
    return lines.length === 0 ? '(nothing remembered)' : lines.join(', ')
  }
}

// Whether each future settles once and correctly: with the value of a naive evaluation, or with an
// error that is explained by something in this world.

import { timeLimitOf } from '#src/core/worker/task/task.js'
import { type ClientHost, showOutcome } from './client-host.js'
import { explain, type Limits } from './explanation.js'
import type { Future, FutureOutcome } from './future.js'
import type { Journal } from './journal.js'
import { evaluate, type Program, type RightOutcome } from './program.js'
import { Violation } from './violation.js'

/** The known facts about one task of an application. */
interface Entry {
  readonly program: Program
  readonly needs: readonly string[]
  readonly graph: string | undefined
  readonly right: RightOutcome
  outcome: FutureOutcome | undefined
  isCancelled: boolean
}

/** The known facts about an application. */
interface Book {
  readonly entries: Map<string, Entry>
  readonly pins: Map<string, string>
  hasCleared: boolean
  hasClosed: boolean
  isDead: boolean
}

/** Checks all futures of a world. */
export class OutcomeChecker {
  readonly #books = new Map<string, Book>()
  /** Who has shared an object by a name. */
  readonly #sharers = new Map<string, string>()
  /** Shared objects that their clients have released. */
  readonly #released = new Set<string>()
  readonly #journal: Journal
  readonly #now: () => number
  readonly #limits: Limits
  #ended = 0

  constructor(journal: Journal, now: () => number, limits: Limits) {
    this.#limits = limits
    this.#journal = journal
    this.#now = now
  }

  /** The number of settled futures. */
  get ended(): number {
    return this.#ended
  }

  /** The world has ended: no more futures settle. */
  forget(): void {
    this.#books.clear()
  }

  onSubmit(
    host: string,
    program: Program,
    needs: readonly string[],
    graph: string | undefined,
  ): void {
    const book = this.#bookOf(host)
    const right = this.#rightOf(book, program, needs)
    const entry = { program, needs, graph, right, outcome: undefined, isCancelled: false }
    book.entries.set(program.name, entry)
  }

  onPin(host: string, name: string, text: string): void {
    this.#bookOf(host).pins.set(name, text)
  }

  onShare(host: string, name: string): void {
    this.#sharers.set(name, host)
  }

  onUnpin(host: string, name: string): void {
    if (this.#sharers.get(name) === host) this.#released.add(name)
  }

  onCancel(host: string, name: string): void {
    const entry = this.#bookOf(host).entries.get(name)
    if (entry === undefined) return
    entry.isCancelled = true
    const { entries } = this.#bookOf(host)
    const isNeeded = [...entries.values()].some(({ needs }) => needs.includes(name))
    // A node of a graph continues while others need it; one that is not needed may end freely.
    if (entry.outcome === undefined && !isNeeded && entry.graph === undefined) {
      this.#journal.cancel(name)
    }
  }

  onClear(host: string): void {
    this.#bookOf(host).hasCleared = true
  }

  onClose(host: string): void {
    this.#bookOf(host).hasClosed = true
  }

  onClientDeath(host: string): void {
    this.#bookOf(host).isDead = true
  }

  /** A future has settled. Throws `Violation` if the outcome is wrong. */
  onEnd(host: string, client: ClientHost, future: Future, outcome: FutureOutcome): void {
    const book = this.#bookOf(host)
    const { name } = future
    const entry = book.entries.get(name)
    if (entry === undefined) throw new Violation('outcome', `${name} was never submitted`)
    const shown = showOutcome(outcome)
    if (entry.outcome !== undefined) {
      const first = showOutcome(entry.outcome)
      throw new Violation('outcome', `${name} ended twice: ${first}, then ${shown}`)
    }
    entry.outcome = outcome
    this.#ended += 1
    if (outcome.type === 'value') {
      const isRight = entry.right.type === 'value' && entry.right.text === outcome.text
      if (isRight) return this.#checkTime(entry)
      const wanted = JSON.stringify(entry.right).slice(0, 200)
      throw new Violation('outcome', `${name} has a wrong value: ${shown}; right: ${wanted}`)
    }
    const silenceMs = this.#now() - client.lastHeard
    const why = explain(outcome, {
      journal: this.#journal,
      suspects: this.#familyOf(book, name),
      hasCleared: book.hasCleared,
      hasClosed: book.hasClosed,
      mayLackShared: this.#familyOf(book, name).some(({ needs }) => this.#mayLack(needs)),
      silenceMs,
      timeoutMs: client.settings.timeoutMs,
      limits: this.#limits,
    })
    if (why !== undefined) return
    throw new Violation('outcome', `nothing explains that ${name} ended with ${shown}`)
  }

  /** A task with a time limit must not succeed long after it. */
  #checkTime({ program }: Entry): void {
    const { ms } = program
    const { timeoutMs } = timeLimitOf(program.timeoutMs, this.#limits.taskTimeoutMs)
    if (timeoutMs === 0 || this.#journal.hasFrozen || ms < timeoutMs + 8_000) return
    throw new Violation('outcome', `${program.name} ran for ${ms} ms in spite of its limit`)
  }

  /** Whether one of these is a shared object that its client may not have sent again. */
  #mayLack(needs: readonly string[]): boolean {
    return needs.some((need) => {
      const sharer = this.#sharers.get(need)
      if (sharer === undefined) return false
      const { hasCleared, hasClosed, isDead } = this.#bookOf(sharer)
      return hasCleared || hasClosed || isDead || this.#released.has(need)
    })
  }

  /** The task, and all its direct and indirect inputs. */
  #familyOf(book: Book, name: string): readonly Entry[] {
    const found = new Map<string, Entry>()
    const list = [name]
    for (let next = list.pop(); next !== undefined; next = list.pop()) {
      const entry = book.entries.get(next)
      if (entry === undefined || found.has(next)) continue
      found.set(next, entry)
      list.push(...entry.needs)
    }
    return [...found.values()]
  }

  #rightOf(book: Book, program: Program, needs: readonly string[]): RightOutcome {
    const inputs: string[] = []
    for (const need of needs) {
      const right: RightOutcome | undefined = book.entries.get(need)?.right
      if (right !== undefined && right.type !== 'value') return right
      inputs.push(right?.text ?? book.pins.get(need) ?? '?')
    }
    return evaluate(program, inputs)
  }

  #bookOf(host: string): Book {
    let book = this.#books.get(host)
    if (book === undefined) {
      const none = { hasCleared: false, hasClosed: false, isDead: false }
      book = { entries: new Map(), pins: new Map(), ...none }
      this.#books.set(host, book)
    }
    return book
  }
}

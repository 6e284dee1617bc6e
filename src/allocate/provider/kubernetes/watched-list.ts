// The objects of one kind that a provider looks for. A list is asked of the server once; then a
// watch keeps it up to date. Once that has ended, for whatever reason, the next read asks for a
// list again: any doubt costs one request, and a server that cannot be watched is polled.

import type { Logger } from '../../../base/logger.js'
import { messageOf } from '../../../base/text.js'
import { ApiError, type KubernetesApi } from './api.js'
import { applyEvent, linesOf, type Named } from './watch-event.js'

/** The server ends a watch after this long, and the objects are listed again, to be safe. */
const WATCH_SECONDS = 300
/** A server sends a bookmark about once a minute: a watch that is silent for longer is dead. */
const SILENCE_MS = 90_000
/** A watch that lasted this long did its work, however it ended: proxies cut idle connections. */
const GOOD_MS = 20_000
/** The pause after the second watch in a row that failed; it doubles. */
const FIRST_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 300_000
/** How long the event of an object that was created may take. */
const EVENT_MS = 2_000

/** What to watch. */
interface WatchedSetup {
  readonly api: Pick<KubernetesApi, 'list' | 'watch'>
  readonly path: string
  readonly labelSelector: string
  /** For the log: `jobs`. */
  readonly kind: string
  readonly logger: Logger
  /** Called when an object has changed or gone, or may have. */
  readonly onChange: () => void
}

/** A list of objects that asks the server only if no watch keeps it up to date. */
export class WatchedList<Item extends Named> {
  readonly #setup: WatchedSetup
  /** By their names; complete while the watch is live. */
  #objects = new Map<string, Item>()
  /** Ends the watch. Undefined: there is none. */
  #watch: AbortController | undefined
  /** Whether the server has accepted the watch. */
  #isLive = false
  /** Objects that were created, and of which nothing has been heard yet. */
  readonly #expected = new Set<string>()
  /** Ends the wait for these. */
  #wake: () => void = () => {}
  /** Watches in a row that failed. */
  #failures = 0
  /** What the log says about them. */
  #logged = ''
  #watchesAgainAt = 0
  #isClosed = false

  constructor(setup: WatchedSetup) {
    this.#setup = setup
  }

  /** An object is about to be created: later lists wait for it. */
  expect(name: string): void {
    this.#expected.add(name)
  }

  /** It was not created. */
  forget(name: string): void {
    this.#expected.delete(name)
  }

  /** All objects, among them those that were created before. Rejects as `KubernetesApi.list`. */
  async read(): Promise<readonly Item[]> {
    if (this.#isLive && this.#expected.size > 0) await this.#arrival()
    if (this.#isLive && this.#expected.size === 0) return [...this.#objects.values()]
    // It is slow, or does not show what was created. It must not go back behind the new list.
    this.#watch?.abort()
    this.#watch = undefined
    this.#isLive = false
    const { api, path, labelSelector } = this.#setup
    const { items, version } = await api.list<Item>(path, { labelSelector })
    this.#expected.clear()
    const mayWatch = !this.#isClosed && performance.now() >= this.#watchesAgainAt
    if (mayWatch && version !== '') {
      this.#objects = new Map(items.map((item) => [item.metadata?.name ?? '', item]))
      void this.#follow(version)
    }
    return items
  }

  /** Ends the watch, for good. */
  close(): void {
    this.#isClosed = true
    this.#watch?.abort()
    this.#wake()
  }

  /** Waits for the events of what was created, or the end of the watch. */
  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, EVENT_MS)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Watches from a version on. Never rejects. */
  async #follow(version: string): Promise<void> {
    const { api, path, labelSelector, onChange } = this.#setup
    const watch = new AbortController()
    this.#watch = watch
    const timer = setTimeout(() => watch.abort(), SILENCE_MS)
    const begunAt = performance.now()
    const query = { labelSelector, resourceVersion: version, timeoutSeconds: `${WATCH_SECONDS}` }
    let problem: unknown = 'the server ended it early'
    try {
      const chunks = await api.watch(path, query, watch.signal)
      watch.signal.throwIfAborted()
      this.#isLive = true
      for await (const line of linesOf(chunks)) {
        if (watch.signal.aborted) break
        timer.refresh()
        const name = applyEvent(this.#objects, line)
        if (name === undefined) continue
        this.#expected.delete(name)
        if (this.#expected.size === 0) this.#wake()
        onChange()
      }
    } catch (error) {
      problem = error
    }
    clearTimeout(timer)
    // Ends the connection, too.
    watch.abort()
    if (!this.#isClosed) this.#onEnd(problem, performance.now() - begunAt)
    if (this.#watch !== watch) return
    this.#watch = undefined
    this.#isLive = false
    this.#wake()
    if (!this.#isClosed) onChange()
  }

  #onEnd(problem: unknown, lastedMs: number): void {
    const { kind, logger } = this.#setup
    const isForbidden = problem instanceof ApiError && problem.status === 403
    this.#failures = lastedMs >= GOOD_MS ? 0 : this.#failures + 1
    if (this.#failures === 0) this.#logged = ''
    logger.debug('a watch has ended', { kind, problem: messageOf(problem) })
    // One end may happen at any time, for example if the version of the list has expired.
    if (!isForbidden && this.#failures < 2) return
    const pauseMs = isForbidden ? MAX_PAUSE_MS : FIRST_PAUSE_MS * 2 ** (this.#failures - 2)
    this.#watchesAgainAt = performance.now() + Math.min(pauseMs, MAX_PAUSE_MS)
    const what = isForbidden ? `the right to watch ${kind} is missing` : `${kind} cannot be watched`
    if (what === this.#logged) return
    this.#logged = what
    logger.warn(`${what}: they are listed at each interval instead`, {
      problem: messageOf(problem),
    })
  }
}
